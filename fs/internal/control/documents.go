package control

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/cache"
	"github.com/archivefs/archivefs/fs/internal/errno"
	"github.com/archivefs/archivefs/fs/internal/inode"
)

// maxAbouts bounds the documents whose data are remembered.
const maxAbouts = 256

// about is what is known of a document that was asked for by its id.
type about struct {
	doc      archive.Document
	pages    []archive.ID // those of them that have an id
	mandator string
	// archived says that the document lies in a known folder of the archive, so that its content
	// never changes; inbox, that it lies in an inbox, as far as can be told.
	archived, inbox bool
}

// about asks for a document by its id. Its listing counts more: that has lengths and dates
// which document data leave out.
func (t *Tree) about(ctx context.Context, id archive.ID) (about, error) {
	got, err := t.abouts.Get(ctx, id, func(ctx context.Context) (about, error) {
		data, err := t.mount.Data(ctx, id)
		if err != nil {
			return about{}, err
		}
		return newAbout(&data), nil
	})
	if err != nil {
		return about{}, err
	}
	a := got.Value
	if doc, archived, known := t.mount.Listed(a.doc.Folder, id); known {
		a.archived, a.inbox = archived, !archived
		if doc != nil {
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
		mandator: data.Mandator, inbox: data.Mandator == "",
	}
	for _, p := range data.Pages {
		if p.ID != 0 {
			a.pages = append(a.pages, p.ID)
		}
	}
	return a
}

// DataChanged has the service asked again for a document's data.
func (t *Tree) DataChanged(id archive.ID) { t.abouts.Invalidate(id) }

// BytesChanged drops the data of a document, and what was rendered from its former bytes.
func (t *Tree) BytesChanged(id archive.ID) {
	for _, r := range renditions {
		if r.as != archive.Original {
			t.mount.Evict(cache.Key{Document: id, Representation: r.as})
		}
	}
	known, _ := t.abouts.Peek(id)
	for _, page := range known.Value.pages {
		t.mount.Evict(cache.Key{Document: page, Representation: archive.Preview})
	}
	t.DataChanged(id)
}

// parseID reads the id that is the name of a document; false for any other name.
func parseID(name string) (archive.ID, bool) {
	id, err := strconv.ParseInt(name, 10, 64)
	return archive.ID(id), err == nil && id > 0 && idName(archive.ID(id)) == name
}

func idName(id archive.ID) string { return strconv.FormatInt(int64(id), 10) }

// Rendition is what one file holds of a document.
type Rendition struct {
	Key  cache.Key
	Path string // from the top of the mount
	// Archived says that the document is one of the archive, so that its content never changes;
	// Inbox, that it lies in an inbox, as far as can be told.
	Archived, Inbox bool
}

// renditions are the files of a document, and what they hold.
var renditions = [...]struct { //nolint:gochecknoglobals // a table
	name string
	as   archive.Representation
}{
	{"original", archive.Original},
	{"document.pdf", archive.PDF},
	{"data.json", archive.Data},
	{"text.txt", archive.Text},
}

const pagesName = "pages"

// pageName is the name of the page of that index.
func pageName(index int) string { return fmt.Sprintf("%04d.jpg", index+1) }

// rendition is the file at a path.
func (t *Tree) rendition(a *about, path string, key cache.Key) Measured {
	return t.mount.Rendition(Rendition{Key: key, Path: path, Archived: a.archived, Inbox: a.inbox}, &a.doc)
}

// documents has a directory for each document, by its id. It lists nothing: an archive has more
// documents than anybody wants listed here.
func (t *Tree) documents() *Dir {
	return &Dir{Ino: inode.Documents, Lookup: func(ctx context.Context, name string) (Node, error) {
		id, ok := parseID(name)
		if !ok {
			return nil, syscall.ENOENT
		}
		path := below(documentsName, name)
		if _, err := t.about(ctx, id); err != nil {
			return nil, failed("lookup", path, err)
		}
		return t.document(id, path), nil
	}}
}

// document has what the service has of one document.
func (t *Tree) document(id archive.ID, path string) *Dir {
	lookup := func(ctx context.Context, name string) (Node, error) {
		a, err := t.about(ctx, id)
		if err != nil {
			return nil, failed("lookup", path, err)
		}
		if name == pagesName {
			pages := path + "/" + name
			if err := t.hasPages(ctx, &a, pages); err != nil {
				return nil, failed("lookup", pages, err)
			}
			return t.pages(id, pages), nil
		}
		for _, r := range renditions {
			if r.name == name {
				f := t.rendition(&a, path+"/"+name, cache.Key{Document: id, Representation: r.as})
				if err := f.Measure(ctx); err != nil {
					return nil, failed("lookup", path+"/"+name, err)
				}
				return f, nil
			}
		}
		return nil, syscall.ENOENT
	}
	// A listing looks for each file. It also has the files for which that fails: whoever opens
	// one gets the error.
	list := func(ctx context.Context) ([]Entry, error) {
		var list []Entry
		for _, r := range renditions {
			list = append(list, Entry{Name: r.name, Mode: syscall.S_IFREG})
		}
		list = append(list, Entry{Name: pagesName, Mode: syscall.S_IFDIR})
		return slices.DeleteFunc(list, func(e Entry) bool {
			_, err := lookup(ctx, e.Name)
			no := errno.Of(err)
			return no == syscall.ENOENT || no == syscall.ENOTSUP
		}), nil
	}
	return &Dir{Ino: inode.OfPath(path), Lookup: lookup, List: list}
}

// hasPages returns nil where there are previews: it asks for the first one.
func (t *Tree) hasPages(ctx context.Context, a *about, path string) error {
	if len(a.pages) == 0 {
		return syscall.ENOENT
	}
	return t.page(a, path, 0).Measure(ctx)
}

// page is the picture of the page of that index.
func (t *Tree) page(a *about, path string, index int) Measured {
	return t.rendition(a, path+"/"+pageName(index), cache.Key{Document: a.pages[index], Representation: archive.Preview})
}

// pages has a picture of each page of a document. To look for one takes no request.
func (t *Tree) pages(of archive.ID, path string) *Dir {
	return &Dir{
		Ino: inode.OfPath(path),
		Lookup: func(ctx context.Context, name string) (Node, error) {
			a, err := t.about(ctx, of)
			if err != nil {
				return nil, failed("lookup", path, err)
			}
			for i := range a.pages {
				if pageName(i) == name {
					return t.page(&a, path, i), nil
				}
			}
			return nil, syscall.ENOENT
		},
		List: func(ctx context.Context) ([]Entry, error) {
			a, err := t.about(ctx, of)
			if err != nil {
				return nil, failed("list", path, err)
			}
			list := make([]Entry, len(a.pages))
			for i := range list {
				list[i] = Entry{Name: pageName(i), Mode: syscall.S_IFREG}
			}
			return list, nil
		},
	}
}

// byID has a link to the file of each document, by its id. It lists nothing, as documents.
func (t *Tree) byID() *Dir {
	return &Dir{Ino: inode.ByID, Lookup: func(ctx context.Context, name string) (Node, error) {
		id, ok := parseID(name)
		if !ok {
			return nil, syscall.ENOENT
		}
		path := below(byIDName, name)
		a, err := t.about(ctx, id)
		if err != nil {
			return nil, failed("lookup", path, err)
		}
		return t.link(inode.OfPath(path), "../../", id, a.doc.Created, func(ctx context.Context) Folder {
			a, err := t.about(ctx, id)
			if err != nil {
				return nil
			}
			folders, err := t.mount.Locate(ctx, map[archive.ID]string{a.doc.Folder: a.mandator})
			if err != nil {
				t.log.Debugf("find the folder of document %d: %v", id, err)
			}
			return folders[a.doc.Folder]
		}), nil
	}}
}

// link is a link to the file of a document, which it follows when the document is renamed. Where
// no folder shows the document it leads into documents. up leads from the directory of the link
// to the top of the mount; folder returns the folder of the document, nil where it cannot be found.
func (t *Tree) link(ino uint64, up string, doc archive.ID, created time.Time, folder func(context.Context) Folder) *Link {
	return &Link{Ino: ino, Time: created, Target: func(ctx context.Context) (string, error) {
		if in := folder(ctx); in != nil {
			if path, err := in.PathOf(ctx, doc); err != nil || path != "" {
				return up + path, err
			}
		}
		file := ""
		for _, r := range renditions {
			if r.as == t.mount.Representation() {
				file = r.name
			}
		}
		return up + below(documentsName, idName(doc), file), nil
	}}
}
