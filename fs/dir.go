package fs

import (
	"sort"
	"sync"
	"sync/atomic"
	"time"

	fusefs "github.com/hanwen/go-fuse/v2/fs"

	"github.com/archivefs/archivefs/archive"
)

// dirKind says what a directory stands for.
type dirKind uint8

const (
	rootDir     dirKind = iota // the mandators, and inboxes
	inboxesDir                 // the inboxes
	mandatorDir                // a top-level folder of the archive
	folderDir                  // a folder below a mandator
	inboxDir                   // an inbox, or a folder in one
	localDir                   // a directory that only this machine has
)

// String is the value of the attribute kind.
func (k dirKind) String() string {
	switch k {
	case mandatorDir:
		return "mandator"
	case folderDir:
		return "folder"
	case inboxDir:
		return "inbox"
	case localDir:
		return "local"
	case rootDir, inboxesDir:
	}
	return ""
}

// holdsDocuments reports whether documents can lie in such a directory.
func (k dirKind) holdsDocuments() bool { return k == mandatorDir || k == folderDir || k == inboxDir }

// archives reports whether a document in such a directory is archived.
func (k dirKind) archives() bool { return k == mandatorDir || k == folderDir }

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
	// keep is until when the entry stays although a listing lacks it: what was just made
	// here may show in listings a little later. Guarded by mu of the directory.
	keep time.Time
}

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

// dir is the model of one directory.
type dir struct {
	fs   *FileSystem
	kind dirKind
	id   archive.ID // of the folder; of the nearest folder above for a localDir
	ino  uint64
	gen  uint64 // generation of the inode

	sizes sizes // of documents, asked for because somebody wanted to know

	mu      sync.Mutex
	parent  *dir                  // nil for the root; changes for a localDir alone; guarded by mu
	name    string                // in parent; guarded by mu
	names   map[string]*entry     // guarded by mu
	folders map[archive.ID]*entry // guarded by mu
	docs    map[archive.ID]*entry // guarded by mu
	aside   map[string]*entry     // documents of docs that are not shown, by name; guarded by mu
	sorted  []*entry              // names in order, nil when it must be made anew; guarded by mu
	subs    merged                // which listing of folders names reflects; guarded by mu
	files   merged                // which listing of documents; guarded by mu
	changed time.Time             // when names changed last; guarded by mu
	free    bool                  // whether folders may be created here; guarded by mu
}

// merged says which listing a directory has taken in.
type merged struct {
	serial  uint64
	fetched time.Time // zero: none that may be trusted
	known   bool
}

func newDir(f *FileSystem, kind dirKind, id archive.ID, ino uint64, parent *dir, name string) *dir {
	return &dir{
		fs: f, kind: kind, id: id, ino: ino, gen: f.inodes.generation(), parent: parent, name: name,
		names: map[string]*entry{}, folders: map[archive.ID]*entry{}, docs: map[archive.ID]*entry{},
		changed: f.started, free: true,
	}
}

// inode is the inode of the directory that the kernel knows, nil when it knows none.
func (d *dir) inode() *fusefs.Inode {
	parent, name := d.place()
	if parent == nil {
		return d.fs.top
	}
	if up := parent.inode(); up != nil {
		return up.GetChild(name)
	}
	return nil
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

// get returns what a name stands for, nil when the directory does not have it as far as
// is known.
func (d *dir) get(name string) *entry {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.names[name]
}

// entries returns all entries in the order of their names. The slice is shared: it is
// never written to.
func (d *dir) entries() []*entry {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.sorted == nil {
		d.sorted = make([]*entry, 0, len(d.names))
		for _, e := range d.names {
			d.sorted = append(d.sorted, e)
		}
		sort.Slice(d.sorted, func(i, j int) bool { return d.sorted[i].name < d.sorted[j].name })
	}
	return d.sorted
}

// taken reports whether a name is used. The caller holds mu.
func (d *dir) takenLocked(name string) bool {
	_, ok := d.names[name]
	return ok || d.kind == rootDir && (name == inboxesName || name == controlName)
}

// addLocked puts an entry under its name. The caller holds mu.
func (d *dir) addLocked(e *entry) {
	d.names[e.name] = e
	if e.dir != nil && e.dir.kind != localDir {
		d.folders[e.dir.id] = e
	}
	if doc := e.doc.Load(); doc != nil {
		d.docs[doc.ID] = e
	}
	d.touchLocked()
}

// dropLocked takes an entry out. The caller holds mu.
func (d *dir) dropLocked(e *entry) {
	if d.names[e.name] == e {
		delete(d.names, e.name)
	}
	if e.dir != nil && d.folders[e.dir.id] == e {
		delete(d.folders, e.dir.id)
	}
	if doc := e.doc.Load(); doc != nil && d.docs[doc.ID] == e {
		delete(d.docs, doc.ID)
	}
	if d.aside[e.name] == e {
		delete(d.aside, e.name)
	}
	d.touchLocked()
}

func (d *dir) touchLocked() {
	d.sorted = nil
	d.changed = d.fs.now()
}

// add and drop are addLocked and dropLocked for callers that hold nothing.
func (d *dir) add(e *entry) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.addLocked(e)
}

func (d *dir) drop(e *entry) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.dropLocked(e)
}

// fileOf returns the file of a document's entry and makes it when nobody looked at it
// before.
func (d *dir) fileOf(e *entry) *file {
	d.mu.Lock()
	defer d.mu.Unlock()
	if f := e.file.Load(); f != nil {
		return f
	}
	doc := e.doc.Load()
	f := &file{fs: d.fs, ino: d.fs.inodes.of(inoDocument, doc.ID), dir: d, entry: e, doc: doc}
	e.file.Store(f)
	return f
}
