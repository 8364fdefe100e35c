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

// rendition returns the file that holds a rendition: the one that the kernel has at the path, as
// long as that holds the same and no other file has taken its place; else a new one.
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
	made := newFile(f, inode.OfPath(as.Path), nil, nil, doc, nil)
	made.as = &as
	return made
}

// gaveWay reports whether another file has taken the place of this one.
func (f *readable) gaveWay() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.superseded != nil
}

// Number is the inode number.
func (f *leaf) Number() uint64 { return f.ino }

// Measure finds out whether the service has what the file of a rendition holds, and its length.
// It downloads only what is small and whose length the service does not tell otherwise.
func (f *readable) Measure(ctx context.Context) error {
	if _, ok := f.currentSize(); ok {
		return nil
	}
	key := f.as.Key
	if key.Representation == archive.Original || key.Representation == archive.PDF {
		info, err := f.fs.service.Archive.ContentInfo(ctx, key.Document, key.Representation)
		if archive.KindOf(err) != archive.KindUnsupported {
			if err == nil && info.Size > 0 { // many services answer 0 when they do not know
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
		err = r.Wait(ctx) // else the download ends here, and starts again for a reader
		if errors.Is(err, cache.ErrNotKept) {
			err = nil
		}
	}
	return errors.Join(err, r.Close())
}

// measured notes the length of what the file of a rendition holds.
func (f *readable) measured(size int64) {
	if f.immutable(f.as.Key.Representation) {
		f.fs.facts.Learn(f.as.Key, size)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.reading == nil {
		f.opened, f.sized = size, true
	}
}

// renditionNode is a file that holds a rendition. Documents are read through it, and changed in
// their folders.
type renditionNode struct{ fileNode }

// Setattr accepts modes, owners and times without effect.
func (n *renditionNode) Setattr(_ context.Context, _ fusefs.FileHandle, in *fuse.SetAttrIn, out *fuse.AttrOut) syscall.Errno {
	if _, ok := in.GetSize(); ok {
		return n.f.fs.errnos.Of("truncate", n.f.path(), errno.ErrNotHere)
	}
	out.SetTimeout(n.f.fs.kernel.fill(n.f, &out.Attr))
	return 0
}

func (n *renditionNode) Setxattr(context.Context, string, []byte, uint32) syscall.Errno {
	return n.f.fs.errnos.Of("setxattr", n.f.path(), errno.ErrNotHere)
}

func (n *renditionNode) Removexattr(context.Context, string) syscall.Errno {
	return n.f.fs.errnos.Of("removexattr", n.f.path(), errno.ErrNotHere)
}
