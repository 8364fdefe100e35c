package server

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	"github.com/archivefs/archivefs/internal/server/store"
)

// listing is how a document list is asked for.
type listing struct {
	include, exclude []string // metadata keys; empty for all, for none
	autoExport       bool
	hideSizes        bool
}

// documentList answers GET /document/list (specification, endpoint 2), by ascending id.
// The documents are sent as they are read.
func (s *Server) documentList(w *response, r *http.Request) error {
	p := query(r)
	q := store.Query{
		Folder:    p.requiredID("folder-id"),
		Recursive: p.flag("subfolders-recursive"),
		From:      p.after("filter-date-created-after", s.options.Location),
	}
	how := listing{
		include:    p.list("included-metadata-keys"),
		exclude:    p.list("excluded-matadata-keys"), // spelled so in the specification
		autoExport: p.flag("with-autoexport-status"),
		hideSizes:  s.options.HideSizes,
	}
	if err := p.err(); err != nil {
		return err
	}
	if _, err := s.catalog.Folder(r.Context(), q.Folder); err != nil {
		return blame("folder-id", err)
	}
	w.Header().Set("Content-Type", "application/json")
	return s.stream(w, r, q, how)
}

// stream writes the list. The response begins with the first full buffer, so an early
// failure can still be answered as a problem.
func (s *Server) stream(w *response, r *http.Request, q store.Query, how listing) error {
	out := bufio.NewWriterSize(w, streamBuffer)
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	before := "["
	err := s.catalog.List(r.Context(), q, func(d store.Listed) error {
		if _, err := out.WriteString(before); err != nil {
			return fmt.Errorf("send document list: %w", err)
		}
		before = ","
		element, err := s.listed(d, how)
		if err != nil {
			return err
		}
		if err := encoder.Encode(element); err != nil {
			return fmt.Errorf("send document list: %w", err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if before == "[" {
		_, _ = out.WriteString(before) // kept by the buffer; Flush tells
	}
	_, _ = out.WriteString("]")
	if err := out.Flush(); err != nil {
		return fmt.Errorf("send document list: %w", err)
	}
	return nil
}

// listed turns a document into its wire form.
func (s *Server) listed(d store.Listed, how listing) (*wireDocument, error) {
	metadata, err := how.metadata(d.Metadata)
	if err != nil {
		return nil, err
	}
	element := &wireDocument{
		ID: d.ID, Name: d.Name, Pages: d.Pages, Folder: d.Folder, Keywords: d.Keywords, Metadata: metadata,
		Created: d.Created.In(s.options.Location).Format(wireTime),
	}
	if !d.Archived.IsZero() {
		archived := d.Archived.In(s.options.Location).Format(wireTime)
		element.Archived = &archived
	}
	if how.autoExport {
		element.AutoExport = &d.AutoExport
	}
	if !how.hideSizes {
		element.ContentLength, element.ContentType = &d.Size, &d.ContentType
	}
	return element, nil
}

// metadata drops the entries that were not asked for; without a choice what is stored is
// passed on.
func (l listing) metadata(stored json.RawMessage) (json.RawMessage, error) {
	if len(l.include) == 0 && len(l.exclude) == 0 {
		return stored, nil
	}
	var pairs []wireKeyValue
	if err := json.Unmarshal(stored, &pairs); err != nil {
		return nil, fmt.Errorf("read metadata: %w", err)
	}
	chosen := slices.DeleteFunc(pairs, func(pair wireKeyValue) bool {
		return len(l.include) > 0 && !slices.Contains(l.include, pair.Key) || slices.Contains(l.exclude, pair.Key)
	})
	encoded, err := json.Marshal(chosen)
	if err != nil {
		return nil, fmt.Errorf("encode metadata: %w", err)
	}
	return encoded, nil
}
