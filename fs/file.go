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

// file is the model of one file: a document, a file whose bytes are in the spool, or a
// document that is about to get new bytes.
type file struct {
	fs  *FileSystem
	ino uint64

	// commit serialises what turns the bytes in the spool into a document, and the first
	// change by each handle.
	commit sync.Mutex

	mu    sync.Mutex
	dir   *dir              // where it is shown; nil when no directory shows it any more; guarded by mu
	entry *entry            // in dir; guarded by mu
	doc   *archive.Document // nil until the archive has it; guarded by mu
	up    *spool.Upload     // its bytes while they are in the spool, else nil; guarded by mu
	dirty bool              // written to since the last commit; guarded by mu
	bad   error             // what made the bytes in the spool incomplete; guarded by mu
	// writers counts open handles that may write, mappers those that may do so through a
	// mapping; guarded by mu.
	writers, mappers int
	// handles counts open handles on the spool's bytes; guarded by mu.
	handles int
	// writing counts handles that wrote and were not closed since; guarded by mu.
	writing int
	// accepted says that a close was answered with success before the bytes were archived,
	// lost that the bytes failed after that was answered with an error; guarded by mu.
	accepted, lost bool
	// removed says that the name was unlinked. The spool has forgotten the bytes; they go
	// with the last handle; guarded by mu.
	removed bool
	// content is the serial of the content that the kernel may have pages of, 0 when that is
	// not known; guarded by mu.
	content uint64
	// opened is the exact length that the last open found out; sized says that there is
	// one; guarded by mu.
	opened int64
	sized  bool
	// reading is the content that open handles read, nil while none does; guarded by mu.
	reading *reading
	// way is how the handles are read; guarded by mu.
	way way
	// opening counts who is about to open it, dropping is closed when the kernel has dropped its
	// pages, nil while it does not; guarded by mu.
	opening  int
	dropping chan struct{}
	// superseded is nil until another file takes the place of this one; then it holds the
	// threads that were told so; guarded by mu.
	superseded map[uint32]bool
	// told is the length that the kernel was told last; guarded by mu.
	told int64
	// gen is the generation of the inode, 0 before there is one; guarded by mu.
	gen uint64

	// as is what the file holds of its document, in the control directory; nil for what
	// stands for it. It never changes.
	as *control.Rendition
}

// pending returns the file's bytes in the spool, nil when there are none.
func (f *file) pending() *spool.Upload {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.up
}

// generation is that of the file's inode.
func (f *file) generation() uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.gen == 0 {
		f.gen = f.fs.inodes.Generation()
	}
	return f.gen
}

// document returns the document, nil when the archive does not have the file.
func (f *file) document() *archive.Document {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.doc
}

func (f *file) setDocument(doc *archive.Document) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.doc = doc
}

func (f *file) setEntry(e *entry) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.entry = e
}

// place returns where the file is shown; dir is nil when nowhere.
func (f *file) place() (d *dir, name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.dir == nil {
		return nil, ""
	}
	return f.dir, f.entry.name
}

// path is where the file is shown, for people.
func (f *file) path() string {
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
func (f *file) archived() bool {
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
		case r.State == spool.Created && f.dirty, r.State != spool.Created:
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
