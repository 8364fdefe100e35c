package hostile

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
)

func searchParams() []param {
	params := []param{
		opt("pagination-size", integer), opt("pagination-page", integer), opt("from-date", date), opt("to-date", date),
		opt("location-folder-id", integer), opt("recursive", boolean), opt("include-trash", boolean),
	}
	for _, name := range []string{
		"fulltext-all", "fulltext-one", "fulltext-none", "keyword-terms", "document-name-terms", "folder-name-terms", "location",
		"document-type", "external-id", "external-metadata", "note-terms", "stamps-inclusive", "stamps-exclusive",
	} {
		params = append(params, opt(name, text))
	}
	return params
}

// search finds documents by ascending id. It knows the full text (of names and texts), names,
// keywords, types, days and folders.
func search(st *store, c *call) answer {
	folder := st.folder(c.number("location-folder-id"))
	if c.has("location-folder-id") && folder == nil {
		return c.refuse(http.StatusNotFound, "there is no such folder")
	}
	size, page := 10, int(c.number("pagination-page"))
	if c.has("pagination-size") {
		size = int(c.number("pagination-size"))
	}
	if size < 1 || size > 100 || page < 0 {
		return c.refuse(http.StatusBadRequest, "no such page")
	}
	if limit := c.cfg.Search.PageLimit; limit > 0 {
		size = min(size, limit)
	}
	if c.cfg.Search.FirstPage {
		page = 0
	}
	var found []*Document
	for _, id := range slices.Sorted(maps.Keys(st.documents)) {
		if d := st.documents[id]; c.finds(d) && (folder == nil || st.below(d, folder)) {
			found = append(found, d)
		}
	}
	o := object{"totalHitDocuments": int64(len(found))}
	if c.cfg.Search.NoTotal {
		delete(o, "totalHitDocuments")
	}
	from := min(page*size, len(found))
	documents := loose{}
	for _, d := range found[from:min(from+size, len(found))] {
		documents = append(documents, extended(st, c, d))
	}
	o["documents"] = documents
	if len(found) == 0 && c.cfg.Search.EmptyNull {
		o["documents"] = nil
	}
	return c.json(o)
}

// finds reports whether d is what a search looks for.
func (c *call) finds(d *Document) bool {
	holds := func(text, terms string) bool {
		for word := range strings.FieldsSeq(strings.ReplaceAll(terms, `"`, " ")) {
			if !strings.Contains(strings.ToLower(text), strings.ToLower(word)) {
				return false
			}
		}
		return true
	}
	for _, keyword := range splitWords(c.text("keyword-terms")) {
		if !slices.ContainsFunc(d.Keywords, func(k string) bool { return strings.Contains(strings.ToLower(k), strings.ToLower(keyword)) }) {
			return false
		}
	}
	day := d.Created.Format(time.DateOnly)
	return holds(d.Name+" "+d.Text, c.text("fulltext-all")) && holds(d.Name, c.text("document-name-terms")) &&
		(!c.has("document-type") || slices.Contains(d.Types, c.text("document-type"))) &&
		day >= c.text("from-date") && (!c.has("to-date") || day <= c.text("to-date"))
}

// documentText answers the recognised text.
func documentText(st *store, c *call) answer {
	d := st.documents[c.id]
	if d == nil || d.Text == "" {
		return c.refuse(http.StatusNotFound, "there is no text")
	}
	return answer{status: http.StatusOK, header: http.Header{"Content-Type": {"text/plain;charset=UTF-8"}}, body: []byte(d.Text)}
}

// pagePreview answers the picture of a page.
func pagePreview(st *store, c *call) answer {
	d := st.documents[c.id/pagesApart]
	if d == nil || len(d.Preview) == 0 || c.id%pagesApart >= int64(d.Pages) {
		return c.refuse(http.StatusNotFound, "there is no preview")
	}
	return answer{status: http.StatusOK, header: http.Header{"Content-Type": {"image/jpeg"}}, body: d.Preview}
}
