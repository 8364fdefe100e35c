package fs

import (
	"context"
	"strconv"
	"strings"
	"syscall"

	fusefs "github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/fs/internal/errno"
	"github.com/archivefs/archivefs/fs/internal/inode"
	"github.com/archivefs/archivefs/fs/internal/names"
	"github.com/archivefs/archivefs/internal/query"
)

const (
	// maxHits bounds the documents that one search shows.
	maxHits = 10_000
	// maxSearches bounds the searches whose hits are remembered.
	maxSearches = 16
)

// searchDir has a directory for each query.
type searchDir struct{ fixedDir }

// Lookup searches. Names that desktops ask for everywhere are no queries.
func (n *searchDir) Lookup(ctx context.Context, name string, out *fuse.EntryOut) (*fusefs.Inode, syscall.Errno) {
	switch {
	case len(name) > names.Max:
		return nil, syscall.ENAMETOOLONG
	case names.IsJunk(name), strings.HasPrefix(name, "."):
		return nil, syscall.ENOENT
	}
	path := controlPath(searchName, name)
	if _, err := n.fs.search(ctx, name); err != nil {
		return nil, n.fs.errnos.Of("search", path, err)
	}
	return n.show(ctx, &foundDir{fixedDir: n.below(inode.OfPath(path)), query: name, path: path}, out), 0
}

// Readdir lists nothing: what was searched for is nobody's business.
func (n *searchDir) Readdir(context.Context) (fusefs.DirStream, syscall.Errno) {
	return fusefs.NewListDirStream(nil), 0
}

// search returns what a query finds, which is trusted as a listing is.
func (f *FileSystem) search(ctx context.Context, text string) (*found, error) {
	q, err := query.Parse(text)
	if err != nil {
		return nil, errno.Refuse(syscall.EINVAL, archive.Printable(err.Error()))
	}
	got, err := f.searches.Get(ctx, text, func(ctx context.Context) (*found, error) {
		folder, err := f.folderNamed(ctx, q.In)
		if err != nil {
			return nil, err
		}
		s := q.Search
		s.Folder = folder
		hits, err := f.service.Archive.Search(ctx, s, maxHits)
		if f.service.Answered(err) != nil {
			return nil, err
		}
		if hits.Total > len(hits.List) {
			f.log.Warnf("%d documents are found by %q; the first %d are shown", hits.Total, text, len(hits.List))
		}
		return newFound(f, hits.List), nil
	})
	if archive.KindOf(err) == archive.KindUnsupported {
		return nil, errno.Refuse(syscall.ENOTSUP, "the service has no search: "+err.Error())
	}
	return got.Value, err
}

// folderNamed returns the folder that a path leads to from the top of the mount, 0 without
// one.
func (f *FileSystem) folderNamed(ctx context.Context, path []string) (archive.ID, error) {
	d := f.root
	for _, name := range path {
		if err := d.loadFolders(ctx, needNames); err != nil {
			return 0, err
		}
		e := d.get(name)
		if e == nil {
			e = d.get(names.OtherForm(name))
		}
		if e == nil || e.dir == nil || e.dir.isLocal() {
			return 0, errno.Refuse(syscall.ENOENT, "the archive has no folder "+archive.Printable(d.pathOf(name)))
		}
		d = e.dir
	}
	if d.kind == inboxesDir {
		return 0, errno.Refuse(syscall.EINVAL, "in:"+inboxesName+" is followed by the name of an inbox: in:"+inboxesName+" in:NAME")
	}
	return d.id(), nil
}

// foundDir has a link for each document that a query finds.
type foundDir struct {
	fixedDir
	query, path string
}

func (n *foundDir) Lookup(ctx context.Context, name string, out *fuse.EntryOut) (*fusefs.Inode, syscall.Errno) {
	found, err := n.fs.search(ctx, n.query)
	if err != nil {
		return nil, n.fs.errnos.Of("search", n.path, err)
	}
	hit, ok := found.byName[name]
	if !ok {
		return nil, syscall.ENOENT
	}
	return found.link(n.path, name, hit).show(ctx, &n.Inode, out), 0
}

func (n *foundDir) Readdir(ctx context.Context) (fusefs.DirStream, syscall.Errno) {
	found, err := n.fs.search(ctx, n.query)
	if err != nil {
		return nil, n.fs.errnos.Of("search", n.path, err)
	}
	list := make([]fuse.DirEntry, len(found.names))
	for i, name := range found.names {
		list[i] = fuse.DirEntry{Name: name, Mode: fuse.S_IFLNK}
	}
	return fusefs.NewListDirStream(list), 0
}

// link is the link to a hit. Its inode number tells apart what a later search finds under
// the same name.
func (s *found) link(path, name string, hit *archive.Hit) *linkNode {
	of := strconv.FormatInt(int64(hit.Document), 10) + " " + strconv.FormatInt(int64(hit.Folder), 10)
	link := &linkNode{fs: s.fs, ino: inode.OfPath(path + "/" + name + "\x00" + of), doc: hit.Document, time: hit.Created, up: "../../../"}
	link.folder = func(ctx context.Context) *dir { return s.folder(ctx, hit.Folder) }
	return link
}
