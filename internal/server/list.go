package server

import (
	"bufio"
	"fmt"
	"time"

	"github.com/archivefs/archivefs/internal/server/store"
)

// listHandlers list documents.
type listHandlers struct {
	location  *time.Location
	hideSizes bool
}

// documentList answers GET /document/list (specification, endpoint 2), by ascending id.
// The documents are sent as they are read.
func (h listHandlers) documentList(w *response, r *request) error {
	p := query(r)
	q := store.Query{
		Folder:    p.requiredID("folder-id"),
		Recursive: p.flag("subfolders-recursive"),
		From:      p.after("filter-date-created-after", h.location),
	}
	how := listing{
		include:    p.list("included-metadata-keys"),
		exclude:    p.list("excluded-matadata-keys"), // spelled so in the specification
		autoExport: p.flag("with-autoexport-status"),
		hideSizes:  h.hideSizes,
		location:   h.location,
	}
	if err := p.err(); err != nil {
		return err
	}
	if _, err := r.catalog.Folder(r.Context(), q.Folder); err != nil {
		return blame("folder-id", err)
	}
	w.Header().Set("Content-Type", "application/json")
	return stream(w, r, q, how)
}

// stream writes the list. The response begins with the first full buffer, so an early
// failure can still be answered as a problem.
func stream(w *response, r *request, q store.Query, how listing) error {
	out := bufio.NewWriterSize(w, streamBuffer)
	before := byte('[')
	var element []byte
	err := r.catalog.List(r.Context(), q, func(d store.Listed) (err error) {
		if element, err = how.element(append(element[:0], before), d); err != nil {
			return err
		}
		before = ','
		if _, err := out.Write(element); err != nil {
			return fmt.Errorf("send document list: %w", err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if before == '[' {
		_ = out.WriteByte(before) // kept by the buffer; Flush tells
	}
	_ = out.WriteByte(']')
	if err := out.Flush(); err != nil {
		return fmt.Errorf("send document list: %w", err)
	}
	return nil
}
