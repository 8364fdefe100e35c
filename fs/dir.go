package fs

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/fs/internal/inode"
	"github.com/archivefs/archivefs/fs/internal/names"
	"github.com/archivefs/archivefs/fs/internal/prefetch"
	"github.com/archivefs/archivefs/fs/internal/remote"
	"github.com/archivefs/archivefs/fs/internal/view"
	"github.com/archivefs/archivefs/internal/spool"
)

// dir is the model of one directory.
type dir struct {
	tree *archiveTree
	kind dirKind
	ino  uint64
	gen  uint64 // generation of the inode

	folder atomic.Int64                 // its id; negative while the folder is queued
	queued atomic.Pointer[spool.Upload] // what makes the folder, nil when the service has it

	// node is what the kernel knows it by, nil until it asks for it; attached makes it once.
	node     atomic.Value
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
	late    []*leaf       // archived under an id that is not known yet; guarded by mu
	subs    merged        // which listing of folders names reflects; guarded by mu
	files   merged        // which listing of documents; guarded by mu
	doubts  uint64        // how often it was distrusted; guarded by mu
	changes atomic.Uint64 // how often it was outdated
	// lease is until when the kernel may use names of it without asking.
	lease lease
	free  bool // whether folders may be created here; guarded by mu
}

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

// below is the kind of a folder inside a directory of kind k.
func (k dirKind) below() dirKind {
	switch k {
	case rootDir:
		return mandatorDir
	case inboxesDir, inboxDir:
		return inboxDir
	case mandatorDir, folderDir, localDir:
	}
	return folderDir
}

// entry is one name in a directory: a sub-directory, a document, or a file that is not
// archived. Open directories go on reading it without a lock, so its name never changes:
// under another name there is another entry.
type entry struct {
	name string
	dir  *dir
	// doc is nil for what is no document; set under mu of the directory.
	doc atomic.Pointer[archive.Document]
	// file is made when somebody looks at the document; set under mu of the directory.
	file atomic.Pointer[leaf]
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
func newEntry(name string, doc *archive.Document, f *leaf) *entry {
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

func newDir(t *archiveTree, kind dirKind, id archive.ID, ino uint64, parent *dir, name string) *dir {
	d := &dir{
		tree: t, kind: kind, ino: ino, gen: t.inodes.Generation(), parent: parent, name: name,
		free: true,
	}
	d.shown.dir, d.shown.changed = d, t.started
	d.folder.Store(int64(id))
	return d
}

// ID is the folder's id; for a localDir that of the nearest folder above.
func (d *dir) ID() archive.ID {
	if d.kind == localDir {
		return d.above().ID()
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

// confirmed is the document that is archived now in such a directory. old is it with its old
// bytes, nil for a new one.
func (k dirKind) confirmed(r *spool.Record, id archive.ID, old *archive.Document, now time.Time) *archive.Document {
	doc := archive.Document{ID: id, Name: r.Name, Folder: r.Folder, Created: now}
	if old != nil {
		doc = *old
	}
	if r.DocumentName != "" {
		doc.Name = r.DocumentName
	}
	doc.Size, doc.Keywords, doc.Metadata = r.Size, r.Keywords, r.Metadata
	if k.archives() {
		doc.Archived = now
	}
	return &doc
}

// document returns the document of that id that the directory shows, nil without one.
func (d *dir) document(id archive.ID) *archive.Document {
	d.mu.Lock()
	defer d.mu.Unlock()
	if e := d.shown.document(id); e != nil {
		return e.doc.Load()
	}
	return nil
}

// get returns what a name is shown for, nil when the directory does not have it as far as
// is known.
func (d *dir) get(name string) *entry {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.shown.get(name)
}

// reach returns what a name stands for, shown or not: the entry of that name, else the
// document whose plain name it is.
func (d *dir) reach(name string) *entry {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.shown.reach(name)
}

// entries returns all entries in the order of their names. The slice is shared: it is
// never written to.
func (d *dir) entries() []*entry {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.shown.all()
}

// subfolders are the directories of the folders that are known in d. No document is unfolded
// for them.
func (d *dir) subfolders() []*dir {
	d.mu.Lock()
	defer d.mu.Unlock()
	dirs := make([]*dir, 0, len(d.shown.folders.list)+1)
	for _, e := range d.shown.folders.list {
		dirs = append(dirs, e.entry.dir)
	}
	if d.kind == rootDir {
		dirs = append(dirs, d.shown.held.names.get(inboxesName).dir)
	}
	return dirs
}

// add and drop are addLocked and dropLocked for callers that hold nothing.
func (d *dir) add(e *entry) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.shown.add(e)
}

func (d *dir) drop(e *entry) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.shown.drop(e)
}

// leafOf returns the file of a document's entry and makes it when nobody looked at it
// before.
func (d *dir) leafOf(e *entry) *leaf {
	d.mu.Lock()
	defer d.mu.Unlock()
	if f := e.file.Load(); f != nil {
		return f
	}
	doc := e.doc.Load()
	if now := d.shown.document(doc.ID); now != nil && now != e && now.name == e.name {
		e = now // the directory was folded since somebody found the entry
		if f := e.file.Load(); f != nil {
			return f
		}
		doc = e.doc.Load()
	}
	f := d.tree.newLeaf(d.tree.inodes.Document(doc.ID), d, e, doc)
	e.file.Store(f)
	return f
}

// inoOf is the inode number of a document's entry, without a file for it where the id tells
// the number.
func (d *dir) inoOf(e *entry) uint64 {
	if f := e.file.Load(); f != nil {
		return f.ino
	}
	if doc := e.doc.Load(); doc != nil {
		if ino, ok := inode.OfDocument(doc.ID); ok {
			return ino
		}
	}
	return d.leafOf(e).ino
}

// namesLocked are the names under which an entry is found, for the kernel to ask again. The
// caller holds mu of the directory.
func (e *entry) namesLocked() []string {
	if e.plain == "" {
		return []string{e.name}
	}
	return []string{e.name, e.plain}
}

// queuedAs is what makes the folder, nil when the service has it.
func (d *dir) queuedAs() *spool.Upload {
	if d.kind == localDir {
		return d.above().queuedAs()
	}
	return d.queued.Load()
}

// isLocal reports whether the service knows nothing of the directory.
func (d *dir) isLocal() bool { return d.kind == localDir || d.queued.Load() != nil }

// aim makes a record one of the directory's folder.
func (d *dir) aim(r *spool.Record) {
	if up := d.queuedAs(); up != nil {
		r.Folder, r.Within = 0, up.ID()
		return
	}
	r.Folder, r.Within = d.ID(), ""
}

// staysLocal reports whether a file of that name in the directory is never uploaded.
func (d *dir) staysLocal(name string) bool { return d.kind == localDir || names.IsJunk(name) }

// lengths is what is learned of the directory's documents. Most directories have none.
func (d *dir) lengths() *view.FolderLengths {
	if d.learned.Load() == nil {
		d.learned.CompareAndSwap(nil, d.tree.lengths.Folder(d.kind.archives()))
	}
	return d.learned.Load()
}

// foldsTo notes the listing that was merged last, if it is this one. Documents of an inbox are
// never folded: they are changed and removed.
func (d *dir) foldsTo(docs []archive.Document, packed string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.kind.archives() || packed == "" || d.shown.origin != nil && d.shown.origin.folded {
		return
	}
	d.shown.origin = nil
	if len(docs) == 0 {
		return
	}
	if e := d.shown.held.docs.get(docs[0].ID); e != nil && e.doc.Load() == &docs[0] {
		d.shown.origin = &origin{packed: packed, docs: docs}
	}
}

// fold keeps of the documents the listing and their names, if that says all about them.
func (d *dir) fold() {
	d.mu.Lock()
	defer d.mu.Unlock()
	l := d.shown.origin
	if l == nil || l.folded || !d.foldableLocked(l.docs) {
		return
	}
	l.names = shownNames(d.shown.held.docs.list)
	rest := make([]*entry, 0, len(d.shown.folders.list))
	for _, e := range d.shown.held.names.all() {
		if e.doc.Load() == nil {
			rest = append(rest, e)
		}
	}
	d.shown.held = contents{}
	d.shown.held.names.fill(rest)
	l.docs, l.folded = nil, true
}

// foldableLocked reports whether the directory's documents are those of the listing, as that has
// them, and nobody has looked at one. The caller holds mu.
func (d *dir) foldableLocked(docs []archive.Document) bool {
	list := d.shown.held.docs.list
	if len(list) != len(docs) || len(d.shown.aside) > 0 || len(d.late) > 0 {
		return false
	}
	now := instantOf(d.tree.service.Now())
	for i := range docs {
		e := list[i].entry
		if e.doc.Load() != &docs[i] || e.file.Load() != nil || e.told != docs[i].Name || now <= e.keep {
			return false
		}
	}
	return true
}

// listed reports whether the directory was listed at all.
func (d *dir) listed() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.isLocal() || d.subs.known && (d.files.known || !d.kind.holdsDocuments())
}

// enough reports whether m serves n without a look into the cache. Inboxes share one
// listing, of which one of them does not know what the others did.
func (d *dir) enough(m *merged, n need) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	unchanged := d.kind.archives() && m.asked.Changes == d.changes.Load()
	return (n == needNames || unchanged) && m.known && d.tree.service.Now().Sub(m.fetched) < d.tree.service.TTL
}

// asking is taken before a listing is asked for.
func (d *dir) asking() remote.Distrust {
	d.mu.Lock()
	defer d.mu.Unlock()
	return remote.Distrust{Doubts: d.doubts, Changes: d.changes.Load()}
}

// outdate makes the next listing of the directory ask the service again. What changed here
// is in the names already.
func (d *dir) outdate() {
	d.changes.Add(1)
	d.tree.service.Outdate(d.ID())
	if d.kind == inboxDir || d.kind == inboxesDir {
		d.tree.service.OutdateInboxes()
	}
}

// distrust is outdate for a directory that turned out to differ from the service: names
// are not answered from memory either, nor from a listing that is under way.
func (d *dir) distrust() {
	d.outdate()
	d.doubt()
}

// doubt is distrust for the names alone.
func (d *dir) doubt() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.doubtLocked()
}

// doubtLocked is doubt for who holds mu.
func (d *dir) doubtLocked() {
	d.doubts++
	d.subs.fetched, d.files.fetched = time.Time{}, time.Time{}
}

// isShown reports whether the directory is still reached from the root.
func (d *dir) isShown() bool {
	parent, name := d.place()
	if parent == nil {
		return true
	}
	e := parent.get(name)
	return e != nil && e.dir == d && parent.isShown()
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

// trustedLocked is m, not to be trusted when the directory was distrusted after it was
// asked for. The caller holds mu.
func (d *dir) trustedLocked(m merged) merged {
	if m.asked.Doubts != d.doubts {
		m.fetched = time.Time{}
	}
	return m
}

// update shows a document as it is after a change made here, until it is listed again.
func (d *dir) update(doc *archive.Document) {
	d.outdate()
	d.mu.Lock()
	defer d.mu.Unlock()
	if e := d.shown.document(doc.ID); e != nil {
		e.setDocument(doc)
		d.shown.index(e)
	}
}

// moveTo gives a local directory another place.
func (d *dir) moveTo(parent *dir, name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.parent, d.name = parent, name
}

// inInbox reports whether the directory is an inbox or below one.
func (d *dir) inInbox() bool {
	if d.kind == localDir {
		return d.above().inInbox()
	}
	return d.kind == inboxDir
}

// isFolded reports whether the directory is in its compacted form.
func (d *dir) isFolded() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.shown.isFolded()
}
