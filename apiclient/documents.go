package apiclient

import (
	"cmp"
	"context"
	"errors"
	"net/url"
	"slices"
	"time"

	"github.com/archivefs/archivefs/archive"
)

// OpDocumentList lists the documents of a folder.
var OpDocumentList = Operation{"document/list", "list documents", listing}

// Documents lists the documents of a folder by ascending id (specification, endpoint 2).
// Documents without an id are left out with a warning. The options' CreatedAfter is sent as a
// date in Config.Location.
func (c *Client) Documents(ctx context.Context, folder archive.ID, options archive.ListOptions) ([]archive.Document, error) {
	var documents []archive.Document
	err := c.EachDocument(ctx, folder, options, func() func(*archive.Document) {
		documents = nil
		return func(d *archive.Document) { documents = append(documents, *d) }
	})
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(documents, func(a, b archive.Document) int { return cmp.Compare(a.ID, b.ID) })
	return documents, nil
}

// EachDocument is Documents for lists too long to hold in memory: the function that begin
// returns is called with each document as it arrives, in the service's order. begin is called for
// each repetition of the request, and the documents of earlier attempts are void.
func (c *Client) EachDocument(ctx context.Context, folder archive.ID, options archive.ListOptions, begin func() func(*archive.Document)) error {
	r := get(OpDocumentList, "/document/list", listQuery(folder, options, c.location)).requireID(folder)
	return c.service.stream(ctx, r, func(r *jsonReader) error {
		list := documentList{location: c.location, take: begin()}
		err := list.read(r)
		if err == nil {
			warnSkipped(c.log.WithField("folder", folder), OpDocumentList, "documents", list.skipped)
		}
		return err
	})
}

// listQuery returns the parameters of a document list. The specification spells
// excluded-matadata-keys so.
func listQuery(folder archive.ID, options archive.ListOptions, location *time.Location) url.Values {
	query := url.Values{"folder-id": {folder.String()}}
	if keys := EscapeList(options.IncludeMetadata); keys != "" {
		query.Set("included-metadata-keys", keys)
	}
	if keys := EscapeList(options.ExcludeMetadata); keys != "" {
		query.Set("excluded-matadata-keys", keys)
	}
	if options.WithAutoExport {
		query.Set("with-autoexport-status", "true")
	}
	if !options.CreatedAfter.IsZero() {
		query.Set("filter-date-created-after", options.CreatedAfter.In(location).Format(time.DateOnly))
	}
	if options.Recursive {
		query.Set("subfolders-recursive", "true")
	}
	return query
}

type documentWire struct {
	id, name, numPages, created, archived, folderID scalar
	keywords                                        words
	metadata                                        pairs
	// autoExport has three spellings; the first one with a value counts.
	autoExport                 [3]scalar
	contentLength, contentType scalar
}

func (w *documentWire) member(r *jsonReader, name []byte) error {
	switch string(name) {
	case "id":
		return r.scalar(&w.id)
	case "name":
		return r.scalar(&w.name)
	case "num-pages":
		return r.scalar(&w.numPages)
	case "creation-date":
		return r.scalar(&w.created)
	case "archiving-date":
		return r.scalar(&w.archived)
	case "folder-id":
		return r.scalar(&w.folderID)
	case "keywords":
		return r.words(&w.keywords)
	case "external-metadata":
		return r.pairs(&w.metadata)
	case "autoexport-status":
		return r.scalar(&w.autoExport[0])
	case "auto-export-status":
		return r.scalar(&w.autoExport[1])
	case "autoexportstatus":
		return r.scalar(&w.autoExport[2])
	case "content-length":
		return r.scalar(&w.contentLength)
	case "content-type":
		return r.scalar(&w.contentType)
	}
	return r.skip()
}

// document returns the document; false if it has no id.
func (w *documentWire) document(loc *time.Location) (archive.Document, bool) {
	d := archive.Document{
		ID:          w.id.id(),
		Name:        w.name.text,
		Pages:       w.numPages.count(),
		Created:     parseDate(w.created.text, loc),
		Archived:    parseDate(w.archived.text, loc),
		Folder:      w.folderID.id(),
		Keywords:    w.keywords,
		Metadata:    w.metadata,
		Size:        w.contentLength.size(),
		ContentType: w.contentType.text,
	}
	for _, status := range w.autoExport {
		if d.AutoExport == archive.FlagUnknown {
			d.AutoExport = status.flag()
		}
	}
	return d, d.ID != 0
}

var (
	errNoList      = errors.New("the answer is no list of documents")
	errNoDocuments = errors.New("no element of the list has the id of a document")
)

type documentList struct {
	location *time.Location
	take     func(*archive.Document)
	taken    int
	skipped  int
	shared   shared
	// wire and document are the current element. They are fields to be allocated once.
	wire     documentWire
	document archive.Document
}

// read reads an array of documents, or a single one. Null, and a list without a single usable
// document, are errors, because they must not look like an empty folder.
func (l *documentList) read(r *jsonReader) error {
	var err error
	switch r.kind() {
	case '[':
		err = r.elements(func() error { return l.element(r) })
	case '{':
		err = l.element(r)
	default:
		if err = r.skip(); err == nil {
			err = errNoList
		}
	}
	if err == nil && l.taken == 0 && l.skipped > 0 {
		err = errNoDocuments
	}
	return err
}

// element reads one element. One that is no object is skipped as if it had no id.
func (l *documentList) element(r *jsonReader) error {
	if r.kind() != '{' {
		l.skipped++
		return r.skip()
	}
	l.wire = documentWire{}
	if err := r.members(func(name []byte) error { return l.wire.member(r, name) }); err != nil {
		return err
	}
	var ok bool
	if l.document, ok = l.wire.document(l.location); ok {
		l.shared.document(&l.document)
		l.take(&l.document)
		l.taken++
	} else {
		l.skipped++
	}
	return nil
}

// maxShared bounds the texts that the documents of an answer share. Texts that differ in every
// document would fill the map for nothing.
const maxShared = 1024

// shared holds texts that the documents of an answer have in common, so that each is in memory
// once.
type shared map[string]string

// document replaces texts of d by shared ones.
func (s *shared) document(d *archive.Document) {
	d.ContentType = s.text(d.ContentType)
	for i := range d.Keywords {
		d.Keywords[i] = s.text(d.Keywords[i])
	}
	for i := range d.Metadata {
		d.Metadata[i].Key = s.text(d.Metadata[i].Key)
	}
}

func (s *shared) text(text string) string {
	if text == "" {
		return ""
	}
	if known, ok := (*s)[text]; ok {
		return known
	}
	if *s == nil {
		*s = shared{}
	}
	if len(*s) < maxShared {
		(*s)[text] = text
	}
	return text
}
