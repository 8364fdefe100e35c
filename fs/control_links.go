package fs

import (
	"context"
	"strconv"
	"syscall"
	"time"

	fusefs "github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/fs/internal/inode"
)

// byIDDir has a link for each document of the archive, by its id.
type byIDDir struct{ fixedDir }

func (n *byIDDir) Lookup(ctx context.Context, name string, out *fuse.EntryOut) (*fusefs.Inode, syscall.Errno) {
	id, ok := parseID(name)
	if !ok {
		return nil, syscall.ENOENT
	}
	path := controlPath(byIDName, name)
	a, err := n.fs.aboutDocument(ctx, id)
	if err != nil {
		return nil, n.fs.errnos.Of("lookup", path, err)
	}
	link := &linkNode{fs: n.fs, ino: inode.OfPath(path), doc: id, time: a.doc.Created, up: "../../"}
	link.folder = func(ctx context.Context) *dir {
		a, err := n.fs.aboutDocument(ctx, id)
		if err != nil {
			return nil
		}
		dirs, err := n.fs.locate(ctx, map[archive.ID]string{a.doc.Folder: a.mandator})
		if err != nil {
			n.fs.log.Debugf("find the folder of document %d: %v", id, err)
		}
		return dirs[a.doc.Folder]
	}
	return link.show(ctx, &n.Inode, out), 0
}

// Readdir lists nothing, as that of documents.
func (n *byIDDir) Readdir(context.Context) (fusefs.DirStream, syscall.Errno) {
	return fusefs.NewListDirStream(nil), 0
}

// linkNode is a symbolic link to the file of a document. What it points to is found out
// whenever somebody reads it, so that it follows a document that was renamed.
type linkNode struct {
	fusefs.Inode
	fs   *FileSystem
	ino  uint64
	doc  archive.ID
	time time.Time
	// up leads from the link's directory to the root of the mount.
	up string
	// folder returns the directory that the document lies in, nil when it cannot be found.
	folder func(context.Context) *dir
}

// show is the answer to a lookup that finds the link in a directory.
func (n *linkNode) show(ctx context.Context, in *fusefs.Inode, out *fuse.EntryOut) *fusefs.Inode {
	n.fill(&out.Attr)
	return in.NewInode(ctx, n, fusefs.StableAttr{Mode: fuse.S_IFLNK, Ino: n.ino})
}

// fill leaves the length of the link open, as /proc does: to know it takes requests.
func (n *linkNode) fill(out *fuse.Attr) {
	out.Ino, out.Mode, out.Blksize = n.ino, fuse.S_IFLNK|0o777, 4096
	n.fs.fillOwner(out)
	if n.time.IsZero() {
		fillTime(out, n.fs.started)
		return
	}
	fillTime(out, n.time)
}

func (n *linkNode) Getattr(_ context.Context, _ fusefs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	n.fill(&out.Attr)
	return 0
}

func (n *linkNode) Setattr(context.Context, fusefs.FileHandle, *fuse.SetAttrIn, *fuse.AttrOut) syscall.Errno {
	return syscall.EPERM
}

// Readlink answers where the document's file is shown, else what the control directory has
// of the document.
func (n *linkNode) Readlink(ctx context.Context) ([]byte, syscall.Errno) {
	if d := n.folder(ctx); d != nil {
		if err := d.loadDocuments(ctx, needNames); err != nil {
			return nil, n.fs.errnos.Of("readlink", d.path(), err)
		}
		if name := d.shownAs(n.doc); name != "" {
			return []byte(n.up + d.pathOf(name)), 0
		}
	}
	id := strconv.FormatInt(int64(n.doc), 10)
	return []byte(n.up + controlPath(documentsName, id, renditionName(n.fs.reps.Order()[0]))), 0
}

// shownAs is the name that a document is shown under, empty when it is not.
func (d *dir) shownAs(id archive.ID) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if e := d.shown.document(id); e != nil && !d.shown.hides(e) {
		return e.name
	}
	return ""
}
