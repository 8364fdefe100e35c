package fs

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"syscall"

	fusefs "github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"github.com/archivefs/archivefs/fs/internal/errno"
	"github.com/archivefs/archivefs/fs/internal/inode"
)

// The control directory: reachable by name, never listed.
//
//	.archivefs/status.json     requests, caches, uploads, health
//	.archivefs/uploads/        pending and failed files, each as "ID NAME"
//	.archivefs/documents/ID/   what the service has of a document
//	.archivefs/by-id/ID        a link to the document's file
//	.archivefs/search/QUERY/   links to the files of the documents that are found
//
// The last three list nothing: there is what somebody asks for by its name.
const (
	statusName    = "status.json"
	uploadsName   = "uploads"
	documentsName = "documents"
	byIDName      = "by-id"
	searchName    = "search"
)

// control is the directory itself.
func (n *dirNode) control(ctx context.Context, out *fuse.EntryOut) (*fusefs.Inode, syscall.Errno) {
	c := &controlDir{fixedDir{fs: n.d.fs, ino: inode.Control}}
	c.fill(&out.Attr)
	return n.NewInode(ctx, c, fusefs.StableAttr{Mode: fuse.S_IFDIR, Ino: inode.Control}), 0
}

type controlDir struct{ fixedDir }

func (n *controlDir) Lookup(ctx context.Context, name string, out *fuse.EntryOut) (*fusefs.Inode, syscall.Errno) {
	switch name {
	case statusName:
		s := &statusFile{fs: n.fs}
		if errno := s.fill(&out.Attr); errno != 0 {
			return nil, errno
		}
		return n.NewInode(ctx, s, fusefs.StableAttr{Mode: fuse.S_IFREG, Ino: inode.Status}), 0
	case uploadsName:
		return n.show(ctx, &uploadsDir{n.below(inode.Uploads)}, out), 0
	case documentsName:
		return n.show(ctx, &documentsDir{n.below(inode.Documents)}, out), 0
	case byIDName:
		return n.show(ctx, &byIDDir{n.below(inode.ByID)}, out), 0
	case searchName:
		return n.show(ctx, &searchDir{n.below(inode.Search)}, out), 0
	}
	return nil, syscall.ENOENT
}

func (n *controlDir) Readdir(context.Context) (fusefs.DirStream, syscall.Errno) {
	return fusefs.NewListDirStream([]fuse.DirEntry{
		{Name: statusName, Mode: fuse.S_IFREG, Ino: inode.Status},
		{Name: uploadsName, Mode: fuse.S_IFDIR, Ino: inode.Uploads},
		{Name: documentsName, Mode: fuse.S_IFDIR, Ino: inode.Documents},
		{Name: byIDName, Mode: fuse.S_IFDIR, Ino: inode.ByID},
		{Name: searchName, Mode: fuse.S_IFDIR, Ino: inode.Search},
	}), 0
}

// waitedAttr of the control directory says whether somebody who unmounts has waited for
// the uploads, so that the end of the mount need not wait as long once more.
const waitedAttr = "user.archive.waited"

// NoteWaited tells the mount at dir that somebody has waited for its uploads and unmounts
// it, or that it stays mounted.
func NoteWaited(dir string, waited bool) error {
	if err := unix.Setxattr(filepath.Join(dir, controlName), waitedAttr, strconv.AppendBool(nil, waited), 0); err != nil {
		return fmt.Errorf("tell the mount that it ends: %w", err)
	}
	return nil
}

// Waited reports whether somebody has waited for the uploads before the unmount.
func (f *FileSystem) Waited() bool { return f.waited.Load() }

func (n *controlDir) Setxattr(_ context.Context, attr string, data []byte, _ uint32) syscall.Errno {
	waited, err := strconv.ParseBool(string(data))
	switch {
	case attr != waitedAttr:
		return syscall.ENOTSUP
	case err != nil:
		return syscall.EINVAL
	}
	n.fs.waited.Store(waited)
	return 0
}

// statusFile is status.json: each open is a snapshot.
type statusFile struct {
	fusefs.Inode
	fs *FileSystem
}

func (n *statusFile) fill(out *fuse.Attr) syscall.Errno {
	text, err := n.fs.statusJSON()
	if err != nil {
		return n.fs.errnos.Of("status", controlName, err)
	}
	out.Ino, out.Mode = inode.Status, fuse.S_IFREG|0o444&^n.fs.opts.Umask
	out.Size, out.Blksize = uint64(len(text)), 4096
	n.fs.fillOwner(out)
	fillTime(out, n.fs.now())
	return 0
}

func (n *statusFile) Getattr(_ context.Context, _ fusefs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	return n.fill(&out.Attr)
}

func (n *statusFile) Open(_ context.Context, flags uint32) (fusefs.FileHandle, uint32, syscall.Errno) {
	if flags&syscall.O_ACCMODE != syscall.O_RDONLY {
		return nil, 0, n.fs.errnos.Of("open", controlName+"/"+statusName, errno.Refuse(syscall.EPERM, "the status cannot be written"))
	}
	text, err := n.fs.statusJSON()
	if err != nil {
		return nil, 0, n.fs.errnos.Of("status", controlName, err)
	}
	return statusHandle(text), fuse.FOPEN_DIRECT_IO, 0
}

type statusHandle []byte

func (h statusHandle) Read(_ context.Context, dest []byte, off int64) (fuse.ReadResult, syscall.Errno) {
	if off >= int64(len(h)) {
		return fuse.ReadResultData(nil), 0
	}
	return fuse.ReadResultData(h[off:min(int64(len(h)), off+int64(len(dest)))]), 0
}

func (h statusHandle) Flush(context.Context) syscall.Errno { return 0 }
