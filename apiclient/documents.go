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

// Documents lists the documents of a folder (specification, endpoint 2). Documents
// without an id cannot be asked for; they are left out with a warning. The others come by
// ascending id. The options' CreatedAfter is sent as a date in Config.Location.
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

// EachDocument is Documents for lists that are too long to be held: what begin returns is
// given one document after the other, in the order of the service, as they arrive. begin is
// called anew for each repetition of the request; what was given before is void then.
func (c *Client) EachDocument(ctx context.Context, folder archive.ID, options archive.ListOptions, begin func() func(*archive.Document)) error {
	if err := requireID(OpDocumentList, folder); err != nil {
		return err
	}
	return c.service.stream(ctx, get(OpDocumentList, "/document/list", listQuery(folder, options, c.location)), func(r *jsonReader) error {
		list := documentList{location: c.location, take: begin()}
		if err := list.read(r); err != nil {
			return err
		}
		if list.skipped > 0 {
			c.log.WithField("operation", string(OpDocumentList)).WithField("folder", folder).WithField("documents", list.skipped).
				Warn("documents without an id are left out")
		}
		return nil
	})
}

// listQuery returns the parameters of a document list; excluded-matadata-keys is the
// specification's spelling.
func listQuery(folder archive.ID, options archive.ListOptions, location *time.Location) url.Values {
	query := url.Values{"folder-id": {decimal(folder)}}
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

// documentWire is an element of a document list.
type documentWire struct {
	id, name, numPages, created, archived, folderID scalar
	keywords                                        words
	metadata                                        pairs
	// autoExport has three spellings, of which the first counts that tells it.
	autoExport                 [3]scalar
	contentLength, contentType scalar
}

// member reads one member.
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

// document returns the wire's document in the words of the domain; false when it has
// no id.
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

// documentList hands on a list's documents.
type documentList struct {
	location *time.Location
	take     func(*archive.Document)
	taken    int
	skipped  int
	shared   shared
	// wire and document are the one at hand, here so that they are made once.
	wire     documentWire
	document archive.Document
}

// read reads an array of documents, a single one, or null. An answer of which nothing
// can be used is an error: it must not look like an empty folder.
func (l *documentList) read(r *jsonReader) error {
	var err error
	switch r.kind() {
	case '[':
		err = r.elements(func() error { return l.element(r) })
	case '{':
		err = l.element(r)
	case 'n':
		return r.skip()
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

// element reads one element. What is no object counts as one without an id.
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

// maxShared bounds how many texts one answer has kept once: those that differ in every
// document are not worth it.
const maxShared = 1024

// shared keeps texts that many documents of an answer have in common once.
type shared map[string]string

// document has a document share its texts with those before it.
func (s *shared) document(d *archive.Document) {
	d.ContentType = s.text(d.ContentType)
	for i := range d.Keywords {
		d.Keywords[i] = s.text(d.Keywords[i])
	}
	for i := range d.Metadata {
		d.Metadata[i].Key = s.text(d.Metadata[i].Key)
	}
}

// text is the same text, kept once.
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
