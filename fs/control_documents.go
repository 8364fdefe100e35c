package fs

import (
	"context"
	"fmt"
	"slices"
	"syscall"

	fusefs "github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/cache"
	"github.com/archivefs/archivefs/fs/internal/inode"
)

// documentsDir has a directory for each document of the archive, by its id.
type documentsDir struct{ fixedDir }

func (n *documentsDir) Lookup(ctx context.Context, name string, out *fuse.EntryOut) (*fusefs.Inode, syscall.Errno) {
	id, ok := parseID(name)
	if !ok {
		return nil, syscall.ENOENT
	}
	path := controlPath(documentsName, name)
	if _, err := n.fs.aboutDocument(ctx, id); err != nil {
		return nil, n.fs.errnos.Of("lookup", path, err)
	}
	return n.show(ctx, &documentDir{fixedDir: n.below(inode.OfPath(path)), id: id, path: path}, out), 0
}

// Readdir lists nothing: an archive has more documents than anybody wants listed here.
func (n *documentsDir) Readdir(context.Context) (fusefs.DirStream, syscall.Errno) {
	return fusefs.NewListDirStream(nil), 0
}

// documentDir has what the service has of one document.
type documentDir struct {
	fixedDir
	id   archive.ID
	path string
}

const pagesName = "pages"

// renditionNames are the files of a document, and what they hold.
var renditionNames = [...]struct { //nolint:gochecknoglobals // a table
	name string
	as   archive.Representation
}{
	{"original", archive.Original},
	{"document.pdf", archive.PDF},
	{"data.json", archive.Data},
	{"text.txt", archive.Text},
}

// renditionName is the name of the file that holds a representation.
func renditionName(as archive.Representation) string {
	for _, r := range renditionNames {
		if r.as == as {
			return r.name
		}
	}
	return ""
}

func (n *documentDir) Lookup(ctx context.Context, name string, out *fuse.EntryOut) (*fusefs.Inode, syscall.Errno) {
	a, err := n.fs.aboutDocument(ctx, n.id)
	if err != nil {
		return nil, n.fs.errnos.Of("lookup", n.path, err)
	}
	if name == pagesName {
		if err := n.hasPages(ctx, &a); err != nil {
			return nil, n.fs.errnos.Of("lookup", n.path+"/"+name, err)
		}
		path := n.path + "/" + name
		return n.show(ctx, &pagesDir{fixedDir: n.below(inode.OfPath(path)), of: n.id, path: path}, out), 0
	}
	for _, r := range renditionNames {
		if r.name == name {
			f := n.fs.renditionOf(&n.Inode, name, &a, n.path, cache.Key{Document: n.id, Representation: r.as})
			if err := f.measure(ctx); err != nil {
				return nil, n.fs.errnos.Of("lookup", f.path(), err)
			}
			return f.show(ctx, &n.Inode, out), 0
		}
	}
	return nil, syscall.ENOENT
}

// hasPages reports by its error whether there are previews: the first is asked for.
func (n *documentDir) hasPages(ctx context.Context, a *about) error {
	if len(a.pages) == 0 {
		return syscall.ENOENT
	}
	f := n.fs.renditionOf(nil, "", a, n.path, cache.Key{Document: a.pages[0], Representation: archive.Preview})
	return f.measure(ctx)
}

// Readdir lists what there is: each is looked for. What cannot be told now is listed, too: the
// error comes to who opens it.
func (n *documentDir) Readdir(ctx context.Context) (fusefs.DirStream, syscall.Errno) {
	var list []fuse.DirEntry
	for _, r := range renditionNames {
		list = append(list, fuse.DirEntry{Name: r.name, Mode: fuse.S_IFREG})
	}
	list = append(list, fuse.DirEntry{Name: pagesName, Mode: fuse.S_IFDIR})
	list = slices.DeleteFunc(list, func(e fuse.DirEntry) bool {
		_, errno := n.Lookup(ctx, e.Name, &fuse.EntryOut{})
		return errno == syscall.ENOENT || errno == syscall.ENOTSUP
	})
	return fusefs.NewListDirStream(list), 0
}

// pagesDir has a picture of each page.
type pagesDir struct {
	fixedDir
	of   archive.ID
	path string
}

// pageName is the name of the page of that index.
func pageName(index int) string { return fmt.Sprintf("%04d.jpg", index+1) }

func (n *pagesDir) Lookup(ctx context.Context, name string, out *fuse.EntryOut) (*fusefs.Inode, syscall.Errno) {
	a, err := n.fs.aboutDocument(ctx, n.of)
	if err != nil {
		return nil, n.fs.errnos.Of("lookup", n.path, err)
	}
	for i, page := range a.pages {
		if pageName(i) == name {
			f := n.fs.renditionOf(&n.Inode, name, &a, n.path, cache.Key{Document: page, Representation: archive.Preview})
			return f.show(ctx, &n.Inode, out), 0
		}
	}
	return nil, syscall.ENOENT
}

func (n *pagesDir) Readdir(ctx context.Context) (fusefs.DirStream, syscall.Errno) {
	a, err := n.fs.aboutDocument(ctx, n.of)
	if err != nil {
		return nil, n.fs.errnos.Of("list", n.path, err)
	}
	list := make([]fuse.DirEntry, len(a.pages))
	for i := range a.pages {
		list[i] = fuse.DirEntry{Name: pageName(i), Mode: fuse.S_IFREG}
	}
	return fusefs.NewListDirStream(list), 0
}
