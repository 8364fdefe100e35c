package fs

import (
	"context"
	"strconv"
	"strings"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/cache"
)

// maxAbouts bounds the documents of which it is remembered what the service said.
const maxAbouts = 256

// about is what is known of a document that was asked for by its id.
type about struct {
	doc      archive.Document
	pages    []archive.ID // those of them that have an id
	mandator string
	// archived says that it lies in a folder of the archive that is known here, so that its
	// content never changes; waits, that it lies in an inbox, as far as can be told.
	archived, waits bool
}

// aboutDocument asks for a document by its id. What a listing has told of it counts more:
// that knows lengths and dates which document data leave out.
func (f *FileSystem) aboutDocument(ctx context.Context, id archive.ID) (about, error) {
	got, err := f.abouts.Get(ctx, id, func(ctx context.Context) (about, error) {
		data, err := f.service.Archive.Data(ctx, id)
		if f.service.Answered(err) != nil {
			return about{}, err
		}
		return newAbout(&data), nil
	})
	if err != nil {
		return about{}, err
	}
	a := got.Value
	if d := f.staging.folder(folderRef{id: a.doc.Folder}); d != nil {
		a.archived = d.kind.archives()
		a.waits = !a.archived
		if doc := d.document(id); doc != nil {
			a.doc = *doc
		}
	}
	return a, nil
}

func newAbout(data *archive.DocumentData) about {
	a := about{
		doc: archive.Document{
			ID: data.ID, Name: data.Name, Pages: data.NumPages, Created: data.Created, Folder: data.Folder,
			Keywords: data.Keywords, Metadata: data.Metadata, Size: archive.SizeUnknown,
		},
		mandator: data.Mandator, waits: data.Mandator == "",
	}
	for _, p := range data.Pages {
		if p.ID != 0 {
			a.pages = append(a.pages, p.ID)
		}
	}
	return a
}

// forgetRendered drops what was told and rendered of a document's former bytes.
func (f *FileSystem) forgetRendered(id archive.ID) {
	for _, as := range []archive.Representation{archive.PDF, archive.Data, archive.Text} {
		f.content.Remove(cache.Key{Document: id, Representation: as})
	}
	known, _ := f.abouts.Peek(id)
	for _, page := range known.Value.pages {
		f.content.Remove(cache.Key{Document: page, Representation: archive.Preview})
	}
	f.abouts.Invalidate(id)
}

// parseID reads the id that is the name of a document here; false for any other name.
func parseID(name string) (archive.ID, bool) {
	id, err := strconv.ParseInt(name, 10, 64)
	return archive.ID(id), err == nil && id > 0 && strconv.FormatInt(id, 10) == name
}

// controlPath is a path below the control directory.
func controlPath(names ...string) string {
	return controlName + "/" + strings.Join(names, "/")
}
