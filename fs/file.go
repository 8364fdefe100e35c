package fs

import (
	"sync"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/fs/internal/control"
	"github.com/archivefs/archivefs/fs/internal/names"
	"github.com/archivefs/archivefs/internal/spool"
	"github.com/archivefs/archivefs/xattr"
)

// A file is modelled in three layers, each with its own state and one lock for all: a leaf of the tree, the
// content that it shows, and the bytes that are written to it.

// leaf is a file as its directory knows it: where it is shown, and what it stands for.
type leaf struct {
	fs  *FileSystem
	ino uint64
	// as is what the file holds of its document, in the control directory; nil for what
	// stands for it. It never changes.
	as *control.Rendition

	mu    sync.Mutex
	dir   *dir              // where it is shown; nil when no directory shows it any more; guarded by mu
	entry *entry            // in dir; guarded by mu
	doc   *archive.Document // nil until the archive has it; guarded by mu
	up    *spool.Upload     // its bytes while they are in the spool, else nil; guarded by mu
	// gen is the generation of the inode, 0 before there is one; guarded by mu.
	gen uint64
}

// readable is a file as those who read it know it. Its fields are guarded by mu of the leaf.
type readable struct {
	leaf
	// content is the serial of the content that the kernel may have pages of, 0 when that is
	// not known.
	content uint64
	// opened is the exact length that the last open found out; sized says that there is one.
	opened int64
	sized  bool
	// told is the length that the kernel was told last.
	told int64
	// reading is the content that open handles read, nil while none does.
	reading *reading
	// handles counts open handles that read through us, or write.
	handles int
	// way is how the handles are read.
	way way
	// opening counts who is about to open it, dropping is closed when the kernel has dropped its
	// pages, nil while it does not.
	opening  int
	dropping chan struct{}
	// superseded is nil until another file takes the place of this one; then it holds the
	// threads that were told so.
	superseded map[uint32]bool
}

// file is a document, a file whose bytes are in the spool, or a document that is about to get new
// bytes. Its fields are guarded by mu of the leaf, but for commit.
type file struct {
	readable
	// commit serialises what turns the bytes in the spool into a document, and the first
	// change by each handle.
	commit sync.Mutex

	phase phase // what becomes of its bytes
	why   error // why they are spoiled
	// writers counts open handles that may write, mappers those that may do so through a
	// mapping, writing those that wrote and were not closed since.
	writers, mappers, writing int
}

// newFile is the file of e in d, whose document, or bytes in the spool, may be nil.
func newFile(fs *FileSystem, ino uint64, d *dir, e *entry, doc *archive.Document, up *spool.Upload) *file {
	f := new(file)
	f.fs, f.ino, f.dir, f.entry, f.doc, f.up = fs, ino, d, e, doc, up
	return f
}

// pending returns the file's bytes in the spool, nil when there are none.
func (f *leaf) pending() *spool.Upload {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.up
}

// generation is that of the file's inode.
func (f *leaf) generation() uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.gen == 0 {
		f.gen = f.fs.inodes.Generation()
	}
	return f.gen
}

// document returns the document, nil when the archive does not have the file.
func (f *leaf) document() *archive.Document {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.doc
}

func (f *leaf) setDocument(doc *archive.Document) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.doc = doc
}

func (f *leaf) setEntry(e *entry) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.entry = e
}

// place returns where the file is shown; dir is nil when nowhere.
func (f *leaf) place() (d *dir, name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.dir == nil {
		return nil, ""
	}
	return f.dir, f.entry.name
}

// path is where the file is shown, for people.
func (f *leaf) path() string {
	d, name := f.place()
	switch {
	case d != nil:
		return d.pathOf(name)
	case f.as != nil:
		return f.as.Path
	}
	if up := f.pending(); up != nil {
		r := up.Record()
		return r.Path + "/" + r.Name
	}
	return "(removed)"
}

// archived reports whether the file is a document of the archive, which is immutable.
func (f *leaf) archived() bool {
	if f.as != nil {
		return f.as.Archived
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.doc != nil && f.dir != nil && f.dir.kind.archives()
}

// state is the value of the attribute state.
func (f *file) state() xattr.State {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.up != nil && f.up.State() != spool.Confirmed {
		switch r := f.up.Record(); {
		case r.State == spool.Failed:
			return xattr.StateFailed
		case r.Queued:
			return xattr.StatePending
		case r.State == spool.Created && (r.Closed || f.doc == nil && f.dir != nil && (r.Temporary || f.dir.staysLocal(f.entry.name))):
			return xattr.StateLocal
		case r.State == spool.Created && f.phase.unfinished(), r.State != spool.Created:
			return xattr.StatePending
		}
		return xattr.StateLocal
	}
	if f.dir != nil && f.dir.kind == inboxDir || f.as != nil && f.as.Inbox {
		return xattr.StateInbox
	}
	return xattr.StateArchived
}

// staysLocal reports whether a file of that name in the directory is never uploaded.
func (d *dir) staysLocal(name string) bool { return d.kind == localDir || names.IsJunk(name) }

// modified is the modification time: what was kept for a file put in here, else when it
// was archived, else when it was created.
func (f *file) modified() time.Time {
	if up := f.pending(); up != nil {
		r := up.Record()
		return modifiedOf(&r)
	}
	doc := f.document()
	if t, ok := f.fs.opts.State.Time(doc.ID); ok {
		return t
	}
	if !doc.Archived.IsZero() {
		return doc.Archived
	}
	if !doc.Created.IsZero() {
		return doc.Created
	}
	return f.fs.started
}
