package fs

import (
	"context"
	"errors"
	"syscall"

	fusefs "github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/cache"
	"github.com/archivefs/archivefs/fs/internal/errno"
	"github.com/archivefs/archivefs/fs/internal/inode"
)

// rendition is what a file of the control directory holds of its document.
type rendition struct {
	key             cache.Key
	path            string
	archived, waits bool // as in about
}

// renditionOf is the file of a name in the directory that in is the inode of: the one that
// the kernel knows, as long as it can be gone on with, else a new one.
func (f *FileSystem) renditionOf(in *fusefs.Inode, name string, a *about, path string, key cache.Key) *file {
	as := rendition{key: key, path: path + "/" + name, archived: a.archived, waits: a.waits}
	if in != nil {
		if child := in.GetChild(name); child != nil {
			if n, ok := child.Operations().(*renditionNode); ok && *n.f.as == as && !n.f.gaveWay() {
				n.f.setDocument(&a.doc)
				return n.f
			}
		}
	}
	shown := newFile(f, inode.OfPath(as.path), nil, nil, &a.doc, nil)
	shown.as = &as
	return shown
}

// gaveWay reports whether another file has taken the place of this one.
func (f *readable) gaveWay() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.superseded != nil
}

// measure finds out whether the service has what the file holds, and how long that is. Only
// what tells its length by nothing but itself, and is small, is fetched for that.
func (f *readable) measure(ctx context.Context) error {
	if _, ok := f.currentSize(); ok {
		return nil
	}
	key := f.as.key
	if key.Representation == archive.Original || key.Representation == archive.PDF {
		info, err := f.fs.service.Archive.ContentInfo(ctx, key.Document, key.Representation)
		if archive.KindOf(err) != archive.KindUnsupported {
			if err == nil && info.Size > 0 { // 0 is what many say who do not know
				f.measured(info.Size)
			}
			return err
		}
	}
	r, err := f.openAs(ctx, key.Document, key.Representation)
	if err != nil {
		return err
	}
	f.measured(r.Size())
	if key.Representation != archive.Original && key.Representation != archive.PDF {
		err = r.Wait(ctx) // else what nobody reads is fetched again for who does
		if errors.Is(err, cache.ErrNotKept) {
			err = nil
		}
	}
	return errors.Join(err, r.Close())
}

// measured notes the length of what the file holds.
func (f *readable) measured(size int64) {
	if f.immutable(f.as.key.Representation) {
		f.fs.facts.Learn(f.as.key, size)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.reading == nil {
		f.opened, f.sized = size, true
	}
}

// show is the answer to a lookup that finds the file in a directory.
func (f *file) show(ctx context.Context, in *fusefs.Inode, out *fuse.EntryOut) *fusefs.Inode {
	out.SetAttrTimeout(f.fill(&out.Attr))
	return in.NewInode(ctx, &renditionNode{fileNode{f: f}}, fusefs.StableAttr{Mode: fuse.S_IFREG, Ino: f.ino, Gen: f.generation()})
}

// renditionNode is such a file as the kernel sees it: its document is read here, and changed
// in its folder.
type renditionNode struct{ fileNode }

// Setattr accepts modes, owners and times without effect.
func (n *renditionNode) Setattr(_ context.Context, _ fusefs.FileHandle, in *fuse.SetAttrIn, out *fuse.AttrOut) syscall.Errno {
	if _, ok := in.GetSize(); ok {
		return n.f.fs.errnos.Of("truncate", n.f.path(), errno.ErrNotHere)
	}
	out.SetTimeout(n.f.fill(&out.Attr))
	return 0
}

func (n *renditionNode) Setxattr(context.Context, string, []byte, uint32) syscall.Errno {
	return n.f.fs.errnos.Of("setxattr", n.f.path(), errno.ErrNotHere)
}

func (n *renditionNode) Removexattr(context.Context, string) syscall.Errno {
	return n.f.fs.errnos.Of("removexattr", n.f.path(), errno.ErrNotHere)
}
