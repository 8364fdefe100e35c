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

// maxAbouts limits the documents whose data is cached.
const maxAbouts = 256

// about describes a document that was looked up by its id.
type about struct {
	doc             archive.Document
	pages           []archive.ID // of the pages that have one
	annotated       bool         // there are notes or stamps
	mandator        string
	archived, inbox bool                // as in Rendition
	print           archive.Fingerprint // as in Rendition
}

// about requests the data of a document. The listing of its folder takes precedence: it has lengths
// and dates that the data lacks.
func (t *Tree) about(ctx context.Context, id archive.ID) (about, error) {
	if err := t.mount.Sees(ctx, id); err != nil {
		return about{}, err
	}
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
		if doc != nil && archived {
			a.print = doc.Fingerprint()
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
		mandator: data.Mandator, inbox: archive.InInbox(data.Mandator),
	}
	for _, p := range data.Pages {
		if p.ID != 0 {
			a.pages = append(a.pages, p.ID)
		}
		a.annotated = a.annotated || len(p.Notes)+len(p.Stamps) > 0
	}
	return a
}

// DataChanged drops the cached data of a document.
func (t *Tree) DataChanged(id archive.ID) { t.abouts.Invalidate(id) }

// BytesChanged drops the cached data of a document, and evicts the renditions of its old bytes.
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

// parseID parses an id in exactly the form that String writes.
func parseID(name string) (archive.ID, bool) {
	n, err := strconv.ParseInt(name, 10, 64)
	id := archive.NewID(n)
	return id, err == nil && id != 0 && id.String() == name
}

// Rendition identifies the content of one file of a document.
type Rendition struct {
	Key  cache.Key
	Path string // from the top of the mount
	// Archived: the document is known to be in an archived folder. Inbox: as far as is known it is in an inbox.
	Archived, Inbox bool
	// Print is the fingerprint of an archived document that was listed, else 0.
	Print archive.Fingerprint
}

// renditions are the files in the directory of a document.
var renditions = [...]struct {
	name string
	as   archive.Representation
}{
	{"original", archive.Original},
	{"document.pdf", archive.PDF},
	{"annotated.pdf", archive.Annotated},
	{"data.json", archive.Data},
	{"text.txt", archive.Text},
}

const pagesName = "pages"

// pageName is the file name of a page. index counts from 0.
func pageName(index int) string { return fmt.Sprintf("%04d.jpg", index+1) }

func (t *Tree) rendition(a *about, path string, key cache.Key) Measured {
	return t.mount.Rendition(Rendition{Key: key, Path: path, Archived: a.archived, Inbox: a.inbox, Print: a.print}, &a.doc)
}

// documents has a directory for each document, named by its id. It lists nothing, because an
// archive has too many documents for one listing.
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

// document is the directory with the representations of one document.
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
	// A listing looks each file up and leaves out what the service does not have. A file whose
	// lookup fails otherwise is listed, so that opening it shows the error.
	list := func(ctx context.Context) ([]Entry, error) {
		a, _ := t.about(ctx, id) // each lookup has the error, too
		var list []Entry
		for _, r := range renditions {
			if r.as != archive.Annotated || a.annotated {
				list = append(list, Entry{Name: r.name, Mode: syscall.S_IFREG})
			}
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

// hasPages returns nil if the service has previews: it measures the first one.
func (t *Tree) hasPages(ctx context.Context, a *about, path string) error {
	if len(a.pages) == 0 {
		return syscall.ENOENT
	}
	return t.page(a, path, 0).Measure(ctx)
}

// page returns the picture of a page. index counts from 0.
func (t *Tree) page(a *about, path string, index int) Measured {
	return t.rendition(a, path+"/"+pageName(index), cache.Key{Document: a.pages[index], Representation: archive.Preview})
}

// pages has a picture of each page of a document. A lookup sends no request for it.
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

// byID has a link to the file of each document, named by the id. It lists nothing either.
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
				t.log.Debugf("find the folder of document %s: %v", id, err)
			}
			return folders[a.doc.Folder]
		}), nil
	}}
}

// link returns a link to the file of a document, which follows renames. If no folder shows the
// document, the link leads to its file below documents. up is the relative path from the link to
// the top of the mount. folder returns the folder of the document, nil if it is not found.
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
		return up + below(documentsName, doc.String(), file), nil
	}}
}
