package node

import (
	"context"
	"strings"
	"syscall"

	fusefs "github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/fs/internal/control"
	"github.com/archivefs/archivefs/fs/internal/errno"
	"github.com/archivefs/archivefs/fs/internal/inode"
	"github.com/archivefs/archivefs/fs/internal/staging"
)

// Rendition returns the file that holds a rendition. It is the one that the kernel knows at the path,
// if that holds the same rendition and has not been superseded; otherwise a new one.
func (k *Kernel) Rendition(as control.Rendition, doc *archive.Document) *staging.File {
	in := inodeOf(k.Root.Tree.Top.Load())
	for name := range strings.SplitSeq(as.Path, "/") {
		if in != nil {
			in = in.GetChild(name)
		}
	}
	if in != nil {
		if n, ok := in.Operations().(*renditionNode); ok && *n.f.As == as && !n.f.GaveWay() {
			n.f.SetDocument(doc)
			return n.f
		}
	}
	made := staging.NewFile(k.Staging, inode.OfPath(as.Path), nil, nil, doc, nil)
	made.As = &as
	return made
}

// renditionNode is a file that holds a rendition. It is read-only: documents are changed in their
// folders.
type renditionNode struct{ fileNode }

// Setattr accepts modes, owners and times without effect.
func (n *renditionNode) Setattr(_ context.Context, _ fusefs.FileHandle, in *fuse.SetAttrIn, out *fuse.AttrOut) syscall.Errno {
	if _, ok := in.GetSize(); ok {
		return n.k.Errnos.Of("truncate", n.f.Where(), errno.ErrNotHere)
	}
	out.SetTimeout(n.k.fill(n.f, &out.Attr))
	return 0
}

func (n *renditionNode) Setxattr(context.Context, string, []byte, uint32) syscall.Errno {
	return n.k.Errnos.Of("setxattr", n.f.Where(), errno.ErrNotHere)
}

func (n *renditionNode) Removexattr(context.Context, string) syscall.Errno {
	return n.k.Errnos.Of("removexattr", n.f.Where(), errno.ErrNotHere)
}
