package fs

import (
	"sync"
	"sync/atomic"
	"time"

	fusefs "github.com/hanwen/go-fuse/v2/fs"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/fs/internal/prefetch"
	"github.com/archivefs/archivefs/fs/internal/remote"
	"github.com/archivefs/archivefs/fs/internal/view"
	"github.com/archivefs/archivefs/internal/spool"
)

// dir is the model of one directory.
type dir struct {
	fs   *FileSystem
	kind dirKind
	ino  uint64
	gen  uint64 // generation of the inode

	folder atomic.Int64                 // its id; negative while the folder is queued
	queued atomic.Pointer[spool.Upload] // what makes the folder, nil when the service has it

	// node is the inode, nil until the kernel asks for it; attached makes it once.
	node     atomic.Pointer[fusefs.Inode]
	attached sync.Once

	// namedFor is the walk that was told this directory's documents by name alone, until
	// somebody looks at one of them.
	namedFor atomic.Pointer[prefetch.Walk]

	learned atomic.Pointer[view.FolderLengths] // made when somebody wants to know one: by lengths
	unread  atomic.Bool                        // a document of it was opened and not read, and none was read since

	mu      sync.Mutex
	parent  *dir          // nil for the root; changes for a localDir alone; guarded by mu
	name    string        // in parent; guarded by mu
	shown   nameSet       // the names; guarded by mu
	late    []*file       // archived under an id that is not known yet; guarded by mu
	subs    merged        // which listing of folders names reflects; guarded by mu
	files   merged        // which listing of documents; guarded by mu
	doubts  uint64        // how often it was distrusted; guarded by mu
	changes atomic.Uint64 // how often it was outdated
	// lease is until when the kernel may use names of it without asking.
	lease lease
	free  bool // whether folders may be created here; guarded by mu
}

// merged says which listing a directory has taken in.
type merged struct {
	serial  uint64
	fetched time.Time // zero: none that may be trusted
	known   bool
	// asked is what the directory was when the listing was asked for.
	asked remote.Distrust
}

func newDir(f *FileSystem, kind dirKind, id archive.ID, ino uint64, parent *dir, name string) *dir {
	d := &dir{
		fs: f, kind: kind, ino: ino, gen: f.inodes.Generation(), parent: parent, name: name,
		free: true,
	}
	d.shown.dir, d.shown.changed = d, f.started
	d.folder.Store(int64(id))
	return d
}

// id is the folder's id; for a localDir that of the nearest folder above.
func (d *dir) id() archive.ID {
	if d.kind == localDir {
		return d.above().id()
	}
	return archive.ID(d.folder.Load())
}

// place is where the directory is shown.
func (d *dir) place() (parent *dir, name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.parent, d.name
}

// above is the directory that d lies in, nil for the root.
func (d *dir) above() *dir {
	parent, _ := d.place()
	return parent
}

// path is where the directory is shown, from the root of the mount, without a leading
// slash.
func (d *dir) path() string {
	parent, name := d.place()
	if parent == nil {
		return ""
	}
	if up := parent.path(); up != "" {
		return up + "/" + name
	}
	return name
}

// pathOf is where an entry of the directory is shown.
func (d *dir) pathOf(name string) string {
	if p := d.path(); p != "" {
		return p + "/" + name
	}
	return name
}

// local lists the names of the local-only directories from the nearest folder down to d,
// which is one of them, or nothing when d is a folder itself.
func (d *dir) local() []string {
	if d.kind != localDir {
		return nil
	}
	parent, name := d.place()
	return append(parent.local(), name)
}
