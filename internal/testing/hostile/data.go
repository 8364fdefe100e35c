package hostile

import (
	"net/http"
	"strings"
)

// documentData is endpoint 8.
func documentData(st *store, c *call) answer {
	d := st.documents[c.id]
	if d == nil {
		return c.refuse(http.StatusNotFound, "there is no such document")
	}
	return c.json(extended(st, c, d))
}

// extended writes all that is said about a document.
func extended(st *store, c *call, d *Document) object {
	shape := c.cfg.Data
	o := object{
		"id": d.ID, "name": d.Name, "numPages": d.Pages,
		"creatorId": int64(1), "creatorName": "Administrator",
		"classification": append([]string{}, d.Types...), "workflows": workflows(d),
	}
	shape.Dates.put(o, "creationDate", d.Created, DateBlank)
	shape.FolderID.put(o, "folderId", d.Folder)
	shape.Keywords.put(o, d.Keywords)
	shape.Pages.put(o, "pages", pages(d))
	shape.External.put(o, "external", c.external(d))
	place(st, o, d)
	return o
}

// place writes where d lies: the mandator, and the path below it.
func place(st *store, o object, d *Document) {
	trail := st.trail(d.Folder)
	if len(trail) == 0 {
		return
	}
	path := "/"
	if trail[0].Inbox {
		path = "INBOX/" + trail[0].Name + "/"
	} else {
		o["mandator"] = trail[0].Name
	}
	var names strings.Builder
	for _, f := range trail[1:] {
		names.WriteString(f.Name + "/")
	}
	o["folderPath"] = path + names.String()
}

// external writes what other systems know of d.
func (c *call) external(d *Document) object {
	metadata := map[string]any{}
	for key, value := range d.Metadata {
		metadata[key] = c.cfg.value(value)
	}
	o := object{"metadata": metadata}
	if !c.cfg.Data.HideExternalID && d.ExternalID != "" {
		o["externalId"] = c.cfg.value(d.ExternalID)
	}
	return o
}

// pagesApart spaces the ids of pages: those of a document begin with its own times this.
const pagesApart = 1000

// pages writes the pages, the annotations on the first.
func pages(d *Document) loose {
	all := loose{}
	for i := range d.Pages {
		page := object{"id": d.ID*pagesApart + int64(i), "hit": false, "notes": loose{}, "stamps": loose{}}
		if i == 0 {
			page["notes"], page["stamps"] = annotations(d.Notes, "text"), annotations(d.Stamps, "title")
		}
		all = append(all, page)
	}
	return all
}

func annotations(texts []string, field string) loose {
	all := loose{}
	for _, text := range texts {
		all = append(all, object{
			field: text, "date": "2017-10-17 05:03:25", "creatorId": int64(1), "creatorName": "Administrator",
		})
	}
	return all
}

func workflows(d *Document) loose {
	all := loose{}
	for _, name := range d.Workflows {
		all = append(all, object{
			"name": name, "startDate": "2017-10-17 05:03:25", "finishDate": nil, "currentState": "open",
		})
	}
	return all
}
