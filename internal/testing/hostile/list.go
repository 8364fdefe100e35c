package hostile

import (
	"maps"
	"net/http"
	"slices"
	"strconv"
	"time"
)

// documentList is endpoint 2. A date filter keeps what was created after that date's
// first instant.
func documentList(st *store, c *call) answer {
	folder := st.folder(c.number("folder-id"))
	if folder == nil {
		return c.refuse(http.StatusNotFound, "there is no such folder")
	}
	var after time.Time
	if c.has("filter-date-created-after") && !c.cfg.List.Unfiltered {
		after, _ = time.Parse(time.DateOnly, c.text("filter-date-created-after")) // checked by its type
	}
	docs := []any{}
	for _, d := range st.in(folder.ID, c.flag("subfolders-recursive") && !c.cfg.List.NotRecursive) {
		switch {
		case d.hidden > 0:
			d.hidden--
		case !after.IsZero() && !d.Created.After(after):
		default:
			docs = append(docs, c.listed(d))
		}
	}
	if len(docs) == 0 && c.cfg.List.EmptyNull {
		return c.json(nil)
	}
	return c.json(docs)
}

// listed writes a document as an element of a list.
func (c *call) listed(d *Document) object {
	shape := c.cfg.List
	o := object{"id": d.ID, "name": d.Name, "num-pages": d.Pages}
	shape.Dates.put(o, "creation-date", d.Created, DateT)
	switch {
	case !d.Archived.IsZero():
		shape.Dates.put(o, "archiving-date", d.Archived, DateT)
		o["archiving-user-id"] = int64(1)
	case shape.NeverArchived == Null:
		o["archiving-date"], o["archiving-user-id"] = nil, nil
	}
	shape.FolderID.put(o, "folder-id", d.Folder)
	shape.Keywords.put(o, d.Keywords)
	if c.flag("with-autoexport-status") {
		name := shape.AutoExport
		if name == "" {
			name = "autoexport-status"
		}
		o[name] = d.AutoExport
		if shape.AutoExportText {
			o[name] = strconv.FormatBool(d.AutoExport)
		}
	}
	if shape.Sizes {
		o["content-length"] = int64(len(d.Content)) + shape.SizeSkew
		o["content-type"] = d.ContentType
		if d.ContentType == "" {
			o["content-type"] = "application/octet-stream"
		}
	}
	c.listMetadata(o, d)
	return o
}

// listMetadata writes the metadata that the request wants.
func (c *call) listMetadata(o object, d *Document) {
	included := splitWords(c.text("included-metadata-keys"))
	excluded := splitWords(c.text("excluded-matadata-keys"))
	entries, byKey := loose{}, map[string]any{}
	for _, key := range slices.Sorted(maps.Keys(d.Metadata)) {
		if len(included) > 0 && !slices.Contains(included, key) || slices.Contains(excluded, key) {
			continue
		}
		value := c.cfg.value(d.Metadata[key])
		entries = append(entries, object{"key": key, "value": value})
		byKey[key] = value
	}
	switch c.cfg.List.Metadata {
	case MetadataArray:
		o["external-metadata"] = entries
	case MetadataObject:
		o["external-metadata"] = byKey
	case MetadataNull:
		o["external-metadata"] = nil
	}
}
