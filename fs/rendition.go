package fs

import (
	"context"
	"errors"
	"strings"
	"syscall"

	fusefs "github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/cache"
	"github.com/archivefs/archivefs/fs/internal/control"
	"github.com/archivefs/archivefs/fs/internal/errno"
	"github.com/archivefs/archivefs/fs/internal/inode"
)

// rendition is the file at a path of the control directory that holds something of a document:
// the one that the kernel knows, unless another one has to take its place, else a new one.
func (f *FileSystem) rendition(as control.Rendition, doc *archive.Document) *file {
	in := f.root.node.Load()
	for name := range strings.SplitSeq(as.Path, "/") {
		if in != nil {
			in = in.GetChild(name)
		}
	}
	if in != nil {
		if n, ok := in.Operations().(*renditionNode); ok && *n.f.as == as && !n.f.gaveWay() {
			n.f.setDocument(doc)
			return n.f
		}
	}
	return &file{fs: f, ino: inode.OfPath(as.Path), doc: doc, as: &as}
}

// gaveWay reports whether another file has taken the place of this one.
func (f *file) gaveWay() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.superseded != nil
}

// Number is the inode number.
func (f *file) Number() uint64 { return f.ino }

// Measure finds out whether the service has what the file holds, and how long that is. It fetches
// only what is small and has no other way to tell its length.
func (f *file) Measure(ctx context.Context) error {
	if _, ok := f.currentSize(); ok {
		return nil
	}
	key := f.as.Key
	if key.Representation == archive.Original || key.Representation == archive.PDF {
		info, err := f.fs.archive.ContentInfo(ctx, key.Document, key.Representation)
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
func (f *file) measured(size int64) {
	if f.immutable(f.as.Key.Representation) {
		f.fs.facts.Learn(f.as.Key, size)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.reading == nil {
		f.opened, f.sized = size, true
	}
}

// shownNode is the file as the kernel sees it in the control directory.
func (f *file) shownNode() fusefs.InodeEmbedder {
	switch up := f.pending(); {
	case f.as != nil:
		return &renditionNode{fileNode{f: f}}
	case up != nil && up.Record().Directory:
		return &folderUpload{fileNode{f: f}}
	}
	return &fileNode{f: f}
}

// renditionNode is a file that holds something of a document: that is read here, and changed in
// its folder.
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

// folderUpload is a folder that is to be made, among the uploads: a file without bytes.
type folderUpload struct{ fileNode }

// Open opens nothing, so that all uploads can be copied out.
func (n *folderUpload) Open(ctx context.Context, flags uint32) (fusefs.FileHandle, uint32, syscall.Errno) {
	if accessOf(ctx, flags).write {
		return n.fileNode.Open(ctx, flags) // which refuses
	}
	return snapshot(nil), 0, 0
}
