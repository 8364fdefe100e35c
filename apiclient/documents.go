package apiclient

import (
	"context"
	"errors"
	"net/url"
	"time"

	"github.com/archivefs/archivefs/archive"
)

// Documents lists the documents of a folder (specification, endpoint 2). Documents
// without an id cannot be asked for; they are left out with a warning. The options'
// CreatedAfter is sent as a date in Config.Location.
func (c *Client) Documents(ctx context.Context, folder archive.ID, options archive.ListOptions) ([]archive.Document, error) {
	if err := requireID(OpDocumentList, folder); err != nil {
		return nil, err
	}
	var documents []archive.Document
	err := c.stream(ctx, get(OpDocumentList, "/document/list", c.listQuery(folder, options)), func(r *jsonReader) error {
		list := documentList{location: c.location}
		if err := list.read(r); err != nil {
			return err
		}
		if list.skipped > 0 {
			c.log.WithField("operation", string(OpDocumentList)).WithField("folder", folder).WithField("documents", list.skipped).
				Warn("documents without an id are left out")
		}
		documents = list.documents
		return nil
	})
	if err != nil {
		return nil, err
	}
	return documents, nil
}

// listQuery returns the parameters of a document list; excluded-matadata-keys is the
// specification's spelling.
func (c *Client) listQuery(folder archive.ID, options archive.ListOptions) url.Values {
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
		query.Set("filter-date-created-after", options.CreatedAfter.In(c.location).Format(time.DateOnly))
	}
	if options.Recursive {
		query.Set("subfolders-recursive", "true")
	}
	return query
}

// documentWire is an element of a document list.
type documentWire struct {
	ID         scalar `json:"id"`
	Name       scalar `json:"name"`
	NumPages   scalar `json:"num-pages"`
	Created    scalar `json:"creation-date"`
	Archived   scalar `json:"archiving-date"`
	FolderID   scalar `json:"folder-id"`
	Keywords   words  `json:"keywords"`
	Metadata   pairs  `json:"external-metadata"`
	AutoExport scalar `json:"autoexport-status"`
	// Other spellings of the same; names match in any case, so that these are four.
	AutoExportDashed scalar `json:"auto-export-status"`
	AutoExportCamel  scalar `json:"autoExportStatus"`
	ContentLength    scalar `json:"content-length"`
	ContentType      scalar `json:"content-type"`
}

// document returns the wire's document in the words of the domain; false when it has
// no id.
func (w *documentWire) document(loc *time.Location) (archive.Document, bool) {
	d := archive.Document{
		ID:          w.ID.id(),
		Name:        w.Name.text,
		Pages:       w.NumPages.count(),
		Created:     parseDate(w.Created.text, loc),
		Archived:    parseDate(w.Archived.text, loc),
		Folder:      w.FolderID.id(),
		Keywords:    w.Keywords,
		Metadata:    w.Metadata,
		Size:        w.ContentLength.size(),
		ContentType: w.ContentType.text,
	}
	for _, status := range []scalar{w.AutoExport, w.AutoExportDashed, w.AutoExportCamel} {
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

// documentList gathers a list's documents.
type documentList struct {
	location  *time.Location
	documents []archive.Document
	skipped   int
	shared    shared
}

// read reads an array of documents, a single one, or null. An answer of which nothing
// can be used is an error: it must not look like an empty folder.
func (l *documentList) read(r *jsonReader) error {
	switch r.first {
	case '[':
		if _, err := r.token(); err != nil {
			return err
		}
		for r.more() {
			if err := l.element(r); err != nil {
				return err
			}
		}
		if _, err := r.token(); err != nil {
			return err
		}
	case '{':
		if err := l.element(r); err != nil {
			return err
		}
	case 'n':
		return r.skip()
	default:
		if err := r.skip(); err != nil {
			return err
		}
		return errNoList
	}
	if len(l.documents) == 0 && l.skipped > 0 {
		return errNoDocuments
	}
	return nil
}

func (l *documentList) element(r *jsonReader) error {
	var wire documentWire
	if err := r.value(&wire); err != nil {
		return err
	}
	if d, ok := wire.document(l.location); ok {
		l.shared.document(&d)
		l.documents = append(l.documents, d)
	} else {
		l.skipped++
	}
	return nil
}
