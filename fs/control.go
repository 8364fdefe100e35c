package fs

import (
	"context"
	"errors"
	iofs "io/fs"
	"sync"
	"syscall"

	fusefs "github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/cache"
	"github.com/archivefs/archivefs/fs/internal/control"
	"github.com/archivefs/archivefs/fs/internal/errno"
	"github.com/archivefs/archivefs/internal/spool"
)

// What the kernel sees of package control, and what that is shown of the mount.

// controlNode is a node of the control directory: nothing of it can be changed. Its methods
// refuse, because a missing one could report success.
type controlNode struct {
	fusefs.Inode
	fs *FileSystem
	of described
}

type described interface {
	control.Node
	Attr(ctx context.Context) (control.Attr, error)
}

var (
	_ = fusefs.NodeGetattrer((*controlNode)(nil))
	_ = fusefs.NodeSetattrer((*controlNode)(nil))
	_ = fusefs.NodeStatfser((*controlNode)(nil))
	_ = fusefs.NodeGetxattrer((*controlNode)(nil))
	_ = fusefs.NodeSetxattrer((*controlNode)(nil))
	_ = fusefs.NodeRemovexattrer((*controlNode)(nil))
	_ = fusefs.NodeListxattrer((*controlNode)(nil))
	_ = fusefs.NodeLookuper((*controlDir)(nil))
	_ = fusefs.NodeReaddirer((*controlDir)(nil))
	_ = fusefs.NodeCreater((*controlDir)(nil))
	_ = fusefs.NodeMkdirer((*controlDir)(nil))
	_ = fusefs.NodeMknoder((*controlDir)(nil))
	_ = fusefs.NodeLinker((*controlDir)(nil))
	_ = fusefs.NodeSymlinker((*controlDir)(nil))
	_ = fusefs.NodeUnlinker((*controlDir)(nil))
	_ = fusefs.NodeRmdirer((*controlDir)(nil))
	_ = fusefs.NodeRenamer((*controlDir)(nil))
	_ = fusefs.NodeSetxattrer((*controlDir)(nil))
	_ = fusefs.NodeOpener((*controlFile)(nil))
	_ = fusefs.NodeReadlinker((*controlLink)(nil))
	_ = fusefs.FileReader(snapshot(nil))
	_ = fusefs.FileFlusher(snapshot(nil))
)

// showControl is the answer to a lookup in the directory in that finds a node of the control
// directory.
func (f *FileSystem) showControl(ctx context.Context, in *fusefs.Inode, found control.Node, out *fuse.EntryOut) (*fusefs.Inode, syscall.Errno) {
	var node fusefs.InodeEmbedder
	var of *controlNode
	switch found := found.(type) {
	case *control.Dir:
		dir := &controlDir{controlNode{fs: f, of: found}, found}
		node, of = dir, &dir.controlNode
	case *control.File:
		file := &controlFile{controlNode{fs: f, of: found}, found}
		node, of = file, &file.controlNode
	case *control.Link:
		link := &controlLink{controlNode{fs: f, of: found}, found}
		node, of = link, &link.controlNode
	case *file:
		out.SetAttrTimeout(found.fill(&out.Attr))
		return in.NewInode(ctx, found.shownNode(), fusefs.StableAttr{Mode: fuse.S_IFREG, Ino: found.ino, Gen: found.generation()}), 0
	}
	if errno := of.fill(ctx, &out.Attr); errno != 0 {
		return nil, errno
	}
	return in.NewInode(ctx, node, fusefs.StableAttr{Mode: out.Mode & syscall.S_IFMT, Ino: out.Ino}), 0
}

// controlErrno is the errno of an error of the control directory. One with an operation and a
// path is logged.
func (f *FileSystem) controlErrno(err error) syscall.Errno {
	var at *iofs.PathError
	if errors.As(err, &at) {
		return f.errnos.Of(at.Op, at.Path, at.Err)
	}
	return errno.Of(err)
}

func (n *controlNode) fill(ctx context.Context, out *fuse.Attr) syscall.Errno {
	a, err := n.of.Attr(ctx)
	if err != nil {
		return n.fs.controlErrno(err)
	}
	if out.Ino, out.Mode, out.Size, out.Blksize = a.Ino, a.Mode, uint64(max(a.Size, 0)), 4096; a.Mode&syscall.S_IFMT != syscall.S_IFLNK {
		out.Mode &^= n.fs.opts.Umask
	}
	n.fs.fillOwner(out)
	if a.Time.IsZero() {
		a.Time = n.fs.started
	}
	fillTime(out, a.Time)
	return 0
}

func (n *controlNode) Getattr(ctx context.Context, _ fusefs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	return n.fill(ctx, &out.Attr)
}

func (n *controlNode) Setattr(context.Context, fusefs.FileHandle, *fuse.SetAttrIn, *fuse.AttrOut) syscall.Errno {
	return syscall.EPERM
}

func (n *controlNode) Statfs(_ context.Context, out *fuse.StatfsOut) syscall.Errno {
	return n.fs.statfs(out)
}

func (n *controlNode) Getxattr(context.Context, string, []byte) (uint32, syscall.Errno) {
	return 0, syscall.ENOTSUP
}

func (n *controlNode) Setxattr(context.Context, string, []byte, uint32) syscall.Errno {
	return syscall.ENOTSUP
}

func (n *controlNode) Removexattr(context.Context, string) syscall.Errno { return syscall.ENOTSUP }

func (n *controlNode) Listxattr(context.Context, []byte) (uint32, syscall.Errno) { return 0, 0 }

// controlDir is a directory.
type controlDir struct {
	controlNode
	dir *control.Dir
}

func (n *controlDir) Lookup(ctx context.Context, name string, out *fuse.EntryOut) (*fusefs.Inode, syscall.Errno) {
	found, err := n.dir.Lookup(ctx, name)
	if err != nil {
		return nil, n.fs.controlErrno(err)
	}
	return n.fs.showControl(ctx, &n.Inode, found, out)
}

func (n *controlDir) Readdir(ctx context.Context) (fusefs.DirStream, syscall.Errno) {
	var list []fuse.DirEntry
	if n.dir.List != nil {
		entries, err := n.dir.List(ctx)
		if err != nil {
			return nil, n.fs.controlErrno(err)
		}
		for _, e := range entries {
			list = append(list, fuse.DirEntry{Name: e.Name, Mode: e.Mode, Ino: e.Ino})
		}
	}
	return fusefs.NewListDirStream(list), 0
}

func (n *controlDir) Create(context.Context, string, uint32, uint32, *fuse.EntryOut) (*fusefs.Inode, fusefs.FileHandle, uint32, syscall.Errno) {
	return nil, nil, 0, syscall.EPERM
}

func (n *controlDir) Mkdir(context.Context, string, uint32, *fuse.EntryOut) (*fusefs.Inode, syscall.Errno) {
	return nil, syscall.EPERM
}

func (n *controlDir) Mknod(context.Context, string, uint32, uint32, *fuse.EntryOut) (*fusefs.Inode, syscall.Errno) {
	return nil, syscall.EPERM
}

func (n *controlDir) Link(context.Context, fusefs.InodeEmbedder, string, *fuse.EntryOut) (*fusefs.Inode, syscall.Errno) {
	return nil, syscall.EPERM
}

func (n *controlDir) Symlink(context.Context, string, string, *fuse.EntryOut) (*fusefs.Inode, syscall.Errno) {
	return nil, syscall.EPERM
}

func (n *controlDir) Rmdir(context.Context, string) syscall.Errno { return syscall.EPERM }

func (n *controlDir) Rename(context.Context, string, fusefs.InodeEmbedder, string, uint32) syscall.Errno {
	return syscall.EPERM
}

func (n *controlDir) Unlink(_ context.Context, name string) syscall.Errno {
	if n.dir.Remove == nil {
		return syscall.EPERM
	}
	return n.fs.controlErrno(n.dir.Remove(name))
}

func (n *controlDir) Setxattr(_ context.Context, attr string, data []byte, _ uint32) syscall.Errno {
	if n.dir.SetAttr == nil {
		return syscall.ENOTSUP
	}
	return n.fs.controlErrno(n.dir.SetAttr(attr, data))
}

// controlFile is a file: each open is a snapshot.
type controlFile struct {
	controlNode
	file *control.File
}

func (n *controlFile) Open(ctx context.Context, flags uint32) (fusefs.FileHandle, uint32, syscall.Errno) {
	if flags&syscall.O_ACCMODE != syscall.O_RDONLY {
		return nil, 0, n.fs.errnos.Of("open", n.file.Path, errno.Refuse(syscall.EPERM, "it cannot be written"))
	}
	content, err := n.file.Content(ctx)
	if err != nil {
		return nil, 0, n.fs.controlErrno(err)
	}
	return snapshot(content), fuse.FOPEN_DIRECT_IO, 0
}

type snapshot []byte

func (h snapshot) Read(_ context.Context, dest []byte, off int64) (fuse.ReadResult, syscall.Errno) {
	if off >= int64(len(h)) {
		return fuse.ReadResultData(nil), 0
	}
	return fuse.ReadResultData(h[off:min(int64(len(h)), off+int64(len(dest)))]), 0
}

func (h snapshot) Flush(context.Context) syscall.Errno { return 0 }

// controlLink is a symbolic link.
type controlLink struct {
	controlNode
	link *control.Link
}

func (n *controlLink) Readlink(ctx context.Context) ([]byte, syscall.Errno) {
	target, err := n.link.Target(ctx)
	return []byte(target), n.fs.controlErrno(err)
}

// NoteWaited tells the mount at dir that somebody has waited for its uploads and unmounts it,
// or that it stays mounted.
func NoteWaited(dir string, waited bool) error { return control.NoteWaited(dir, waited) }

// Waited reports whether somebody has waited for the uploads before the unmount.
func (f *FileSystem) Waited() bool { return f.control.Waited() }

// controlMount is what the control directory shows of the mount.
type controlMount struct {
	f *FileSystem

	mu   sync.Mutex
	kept map[string]*file // the files of uploads, by their ids; guarded by mu
}

var _ control.Mount = (*controlMount)(nil)

func (m *controlMount) Status() any { return m.f.Status() }

func (m *controlMount) Data(ctx context.Context, id archive.ID) (archive.DocumentData, error) {
	data, err := m.f.archive.Data(ctx, id)
	return data, m.f.answered(err)
}

func (m *controlMount) Search(ctx context.Context, search archive.Search, limit int) (archive.Hits, error) {
	hits, err := m.f.archive.Search(ctx, search, limit)
	return hits, m.f.answered(err)
}

func (m *controlMount) Listed(folder, id archive.ID) (doc *archive.Document, archived, known bool) {
	d := m.f.folder(folderRef{id: folder})
	if d == nil {
		return nil, false, false
	}
	return d.document(id), d.kind.archives(), true
}

func (m *controlMount) FolderNamed(ctx context.Context, path []string) (archive.ID, error) {
	return m.f.folderNamed(ctx, path)
}

func (m *controlMount) Locate(ctx context.Context, wanted map[archive.ID]string) (map[archive.ID]control.Folder, error) {
	m.f.work.Begin()
	defer m.f.work.End()
	dirs, err := m.f.locate(ctx, wanted)
	folders := make(map[archive.ID]control.Folder, len(dirs))
	for id, d := range dirs {
		folders[id] = locatedDir{id, d}
	}
	return folders, err
}

// locatedDir is a folder that was looked for by its id.
type locatedDir struct {
	id archive.ID
	d  *dir
}

// PathOf looks for a folder that is no longer shown among what is known by then.
func (l locatedDir) PathOf(ctx context.Context, doc archive.ID) (string, error) {
	d := l.d
	if !d.shown() {
		if d = d.fs.folder(folderRef{id: l.id}); d == nil {
			return "", nil
		}
	}
	if err := d.loadDocuments(ctx, needNames); err != nil {
		return "", &iofs.PathError{Op: "readlink", Path: d.path(), Err: err}
	}
	name := d.shownAs(doc)
	if name == "" {
		return "", nil
	}
	return d.pathOf(name), nil
}

func (m *controlMount) Rendition(r control.Rendition, doc *archive.Document) control.Measured {
	return m.f.rendition(r, doc)
}

func (m *controlMount) Representation() archive.Representation { return m.f.order()[0] }

func (m *controlMount) Evict(key cache.Key) { m.f.content.Remove(key) }

func (m *controlMount) Pending() []control.Upload {
	var list []control.Upload
	for _, up := range m.f.spool.List() {
		if r := up.Record(); listed(&r) {
			list = append(list, shownUpload(&r))
		}
	}
	return list
}

func shownUpload(r *spool.Record) control.Upload {
	return control.Upload{ID: r.ID, Name: uploadName(r), Changed: r.Changed}
}

func (m *controlMount) Upload(id string) (control.Upload, bool) {
	up, ok := m.f.spool.Get(id)
	if !ok {
		return control.Upload{}, false
	}
	r := up.Record()
	return shownUpload(&r), listed(&r) || holdsHere(up, &r)
}

// UploadFile is the same file, with the same inode number, for as long as there is the upload.
func (m *controlMount) UploadFile(id string) (control.Node, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for id := range m.kept {
		if _, there := m.f.spool.Get(id); !there {
			delete(m.kept, id)
		}
	}
	up, ok := m.f.spool.Get(id)
	if !ok {
		return nil, syscall.ENOENT
	}
	if m.kept[id] == nil {
		m.kept[id] = &file{fs: m.f, ino: m.f.inodes.Local(), up: up}
	}
	return m.kept[id], nil
}

func (m *controlMount) Discard(id string) error {
	if err := m.f.mayChange(); err != nil {
		return err
	}
	up, ok := m.f.spool.Get(id)
	if !ok {
		return syscall.ENOENT
	}
	return m.f.forget(up)
}
