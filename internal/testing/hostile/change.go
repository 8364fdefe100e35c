package hostile

import (
	"encoding/json"
	"maps"
	"net/http"
)

// documentArchive is endpoint 6: a new document in the target folder, under the given
// name or the current one, with the given keywords added.
func documentArchive(st *store, c *call) answer {
	d := st.documents[c.id]
	switch {
	case d == nil:
		return c.refuse(http.StatusNotFound, "there is no such document")
	case !st.inInbox(d):
		return c.refuse(http.StatusBadRequest, "the document is archived already")
	}
	target, refused := findTarget(st, c)
	switch {
	case target == nil:
		return refused
	case target.Inbox:
		return c.refuse(http.StatusBadRequest, "the target is an inbox")
	}
	archived := d.clone()
	archived.Folder, archived.Archived = target.ID, c.now()
	archived.hidden = max(c.hide, c.cfg.Upload.VisibleAfter)
	if name := c.text("target-document-name"); name != "" {
		archived.Name = name
	}
	archived.addKeywords(splitWords(c.text("keywords")))
	if c.cfg.ArchiveKeepsID {
		*d = archived
		return c.done(empty(http.StatusOK))
	}
	delete(st.documents, d.ID)
	st.add(archived)
	return c.done(empty(http.StatusOK))
}

// autoExportSet is endpoint 7.
func autoExportSet(st *store, c *call) answer {
	d := st.documents[c.number("document-id")]
	if d == nil {
		return c.refuse(http.StatusNotFound, "there is no such document")
	}
	d.AutoExport = c.flag("autoexport-status")
	return c.done(empty(http.StatusOK))
}

// rename gives any document a new name.
func rename(st *store, c *call) answer {
	d, name := st.documents[c.id], c.text("new-name")
	switch {
	case d == nil:
		return c.refuse(http.StatusNotFound, "there is no such document")
	case name == "":
		return c.refuse(http.StatusBadRequest, "new-name is empty")
	}
	d.Name = name
	return c.done(empty(http.StatusOK))
}

// metadata answers the metadata of a document.
func metadata(st *store, c *call) answer {
	d := st.documents[c.id]
	if d == nil {
		return c.refuse(http.StatusNotFound, "there is no such document")
	}
	entries := map[string]any{}
	for key, value := range d.Metadata {
		entries[key] = c.cfg.value(value)
	}
	return c.json(entries)
}

// setMetadata sets the metadata named in the body and leaves the rest.
func setMetadata(st *store, c *call) answer {
	var entries map[string]string
	d := st.documents[c.id]
	switch {
	case d == nil:
		return c.refuse(http.StatusNotFound, "there is no such document")
	case json.Unmarshal(c.body, &entries) != nil || entries == nil:
		return c.refuse(http.StatusBadRequest, "the body is no object of strings")
	}
	if d.Metadata == nil {
		d.Metadata = map[string]string{}
	}
	maps.Copy(d.Metadata, entries)
	return c.done(empty(http.StatusOK))
}

// setKeywords replaces the keywords of a document.
func setKeywords(st *store, c *call) answer {
	var words []string
	d := st.documents[c.id]
	switch {
	case d == nil:
		return c.refuse(http.StatusNotFound, "there is no such document")
	case json.Unmarshal(c.body, &words) != nil || words == nil:
		return c.refuse(http.StatusBadRequest, "the body is no array of strings")
	}
	d.Keywords = nil
	d.addKeywords(words)
	return c.done(empty(http.StatusOK))
}

// replace gives an inbox document a new content; keywords are added.
func replace(st *store, c *call) answer {
	d := st.documents[c.id]
	switch {
	case d == nil:
		return c.refuse(http.StatusNotFound, "there is no such document")
	case !st.inInbox(d):
		return c.refuse(http.StatusForbidden, "an archived document cannot be replaced")
	}
	d.Content, d.PDF = c.file, nil
	d.addKeywords(splitWords(c.text("keywords")))
	return c.done(empty(http.StatusOK))
}

// remove deletes an inbox document that is in no workflow.
func remove(st *store, c *call) answer {
	d := st.documents[c.id]
	switch {
	case d == nil:
		return c.refuse(http.StatusNotFound, "there is no such document")
	case !st.inInbox(d):
		return c.refuse(http.StatusForbidden, "an archived document cannot be deleted")
	case len(d.Workflows) > 0:
		return c.refuse(http.StatusForbidden, "the document is in a workflow")
	}
	delete(st.documents, d.ID)
	return c.done(empty(http.StatusOK))
}
