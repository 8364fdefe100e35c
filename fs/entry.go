package fs

import (
	"sync/atomic"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/spool"
)

// entry is one name in a directory: a sub-directory, a document, or a file that is not
// archived. Open directories go on reading it without a lock, so its name never changes:
// under another name there is another entry.
type entry struct {
	name string
	dir  *dir
	// doc is nil for what is no document; set under mu of the directory.
	doc atomic.Pointer[archive.Document]
	// file is made when somebody looks at the document; set under mu of the directory.
	file atomic.Pointer[file]
	// told is the name that the service gave when the entry was named; another one later
	// means that it was renamed there. Empty: not compared yet. Guarded by mu of the
	// directory.
	told string
	// plain is the name under which its directory finds it beside its own, empty for none.
	// Guarded by mu of the directory.
	plain string
	// keep is until when the entry stays although a listing lacks it: what was just made
	// here may show in listings a little later. Guarded by mu of the directory.
	keep instant
}

// instant is a time in a third of its memory, nanoseconds since 1970; 0 is none.
type instant int64

func instantOf(t time.Time) instant { return instant(t.UnixNano()) }

// newEntry is an entry for a document, for a file, or for a document that has a file.
func newEntry(name string, doc *archive.Document, f *file) *entry {
	e := &entry{name: name}
	e.doc.Store(doc)
	e.file.Store(f)
	return e
}

// renamed is the same entry under another name. The caller holds mu of its directory and
// shows the one instead of the other.
func (e *entry) renamed(name string) *entry {
	r := newEntry(name, e.doc.Load(), e.file.Load())
	r.dir, r.told, r.keep = e.dir, e.told, e.keep
	if f := r.file.Load(); f != nil {
		f.setEntry(r)
	}
	return r
}

// setDocument makes doc what the entry and its file stand for. The caller holds mu of the
// directory.
func (e *entry) setDocument(doc *archive.Document) {
	e.doc.Store(doc)
	if f := e.file.Load(); f != nil {
		f.setDocument(doc)
	}
}

// busy reports whether the entry has bytes that wait to be archived, so that it stays
// whatever a listing says.
func (e *entry) busy() bool { return e.upload() != nil }

// upload is what makes the entry's folder, or holds its file's bytes, until the archive has
// it; nil for what it has.
func (e *entry) upload() *spool.Upload {
	if e.dir != nil {
		return e.dir.queuedAs()
	}
	if f := e.file.Load(); f != nil {
		return f.pending()
	}
	return nil
}
