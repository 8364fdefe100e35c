package tree

import (
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/cache"
	"github.com/archivefs/archivefs/fs/internal/inode"
	"github.com/archivefs/archivefs/fs/internal/prefetch"
	"github.com/archivefs/archivefs/fs/internal/remote"
	"github.com/archivefs/archivefs/fs/internal/view"
	"github.com/archivefs/archivefs/internal/spool"
)

// Dir is the model of one directory.
type Dir struct {
	Tree *Tree
	Ino  uint64
	Gen  uint64 // generation of the inode

	kind atomic.Uint32 // a DirKind, which changes only until the service has the folder (MoveTo)

	Folder atomic.Int64                 // the folder's id; negative while the folder is queued
	Queued atomic.Pointer[spool.Upload] // the upload that makes the folder, nil when the service has it

	// Node holds the directory's inode, nothing before its first lookup; Attached makes it once.
	Node     atomic.Value
	Attached sync.Once
	Free     atomic.Bool // folders may be created here
	Unread   atomic.Bool // one of its documents was closed unread, and none was read since

	// NamedFor is the walk that got this directory's documents by name only, until somebody looks at one of them.
	NamedFor atomic.Pointer[prefetch.Walk]

	learned atomic.Pointer[view.FolderLengths] // made by the first call of Lengths

	changes atomic.Uint64 // counts calls of Outdate and Tree.amendedLocked
	// Lease says until when the kernel may use cached names of the directory.
	Lease lease
	// Estimates says until when it may use estimates of lengths of the directory's documents.
	Estimates lease

	Mu sync.Mutex
	// parent is nil for the root.
	parent *Dir    // +checklocks:Mu
	name   string  // +checklocks:Mu
	Shown  nameSet // +checklocks:Mu
	// Late are files that were archived under an id that is not known yet.
	Late []*Leaf // +checklocks:Mu
	// Subs and Files are the merged listings of folders and of documents.
	Subs  Merged // +checklocks:Mu
	Files Merged // +checklocks:Mu
	// doubts counts calls of doubt.
	doubts uint64 // +checklocks:Mu
}

// DirKind says what a directory stands for.
type DirKind uint8

// The kinds of directories.
const (
	RootDir     DirKind = iota // the root: the mandators, and InboxesDir
	InboxesDir                 // holds the inboxes
	MandatorDir                // a top-level folder of the archive
	FolderDir                  // a folder below a mandator
	InboxDir                   // an inbox, or a folder in one
	LocalDir                   // a directory that only this machine has
)

// String returns the value of the attribute kind.
func (k DirKind) String() string {
	switch k {
	case MandatorDir:
		return "mandator"
	case FolderDir:
		return "folder"
	case InboxDir:
		return "inbox"
	case LocalDir:
		return "local"
	case RootDir, InboxesDir:
	}
	return ""
}

// HoldsDocuments reports whether documents can lie in such a directory.
func (k DirKind) HoldsDocuments() bool { return k == MandatorDir || k == FolderDir || k == InboxDir }

// Archives reports whether a document in such a directory is archived.
func (k DirKind) Archives() bool { return k == MandatorDir || k == FolderDir }

// Below returns the kind of a folder inside a directory of kind k.
func (k DirKind) Below() DirKind {
	switch k {
	case RootDir:
		return MandatorDir
	case InboxesDir, InboxDir:
		return InboxDir
	case MandatorDir, FolderDir, LocalDir:
	}
	return FolderDir
}

// Entry is one name in a directory: a sub-directory, a document, or a file that is not archived. Open
// directories read it without a lock, so its name never changes: a rename makes a new entry.
type Entry struct {
	Name string
	Dir  *Dir
	// Doc is nil without a document; set under Mu of the directory.
	Doc atomic.Pointer[archive.Document]
	// File is made when somebody looks at the document; set under Mu of the directory.
	File atomic.Pointer[Leaf]
	// ServiceName is the service's name for the entry when it was last compared; a different one
	// later means that it was renamed there. Empty: not compared yet. Guarded by Mu of the directory.
	ServiceName string
	// plain is a second name that finds the entry, empty for none. Guarded by Mu of the directory.
	plain string
	// Keep is until when the entry stays although a listing lacks it: what was just made here may
	// show in listings a little later. Guarded by Mu of the directory.
	Keep instant
}

// instant is a time in nanoseconds since 1970, a third of the size of time.Time; 0 is none.
type instant int64

// InstantOf converts a time to an instant.
func InstantOf(t time.Time) instant { return instant(t.UnixNano()) }

// NewEntry makes an entry for a document, a file, or both.
func NewEntry(name string, doc *archive.Document, f *Leaf) *Entry {
	e := &Entry{Name: name}
	e.Doc.Store(doc)
	e.File.Store(f)
	return e
}

// Renamed returns the same entry under another name. The caller holds Mu of its directory and replaces the entry by it.
func (e *Entry) Renamed(name string) *Entry {
	r := NewEntry(name, e.Doc.Load(), e.File.Load())
	r.Dir, r.ServiceName, r.Keep = e.Dir, e.ServiceName, e.Keep
	if f := r.File.Load(); f != nil {
		f.setEntry(r)
	}
	return r
}

// SetDocument sets the document of the entry and of its file. The caller holds Mu of the directory.
func (e *Entry) SetDocument(doc *archive.Document) {
	e.Doc.Store(doc)
	if f := e.File.Load(); f != nil {
		f.SetDocument(doc)
	}
}

// Busy reports whether the entry waits to be archived, so that it stays whatever a listing says.
func (e *Entry) Busy() bool { return e.Upload() != nil }

// Upload returns the upload of the entry's folder or file, nil when the archive has it.
func (e *Entry) Upload() *spool.Upload {
	if e.Dir != nil {
		return e.Dir.QueuedAs()
	}
	if f := e.File.Load(); f != nil {
		return f.Pending()
	}
	return nil
}

// NewDir makes a directory in parent, which is nil for the root. It is not shown there yet.
func NewDir(t *Tree, kind DirKind, id archive.ID, ino uint64, parent *Dir, name string) *Dir {
	d := &Dir{
		Tree: t, Ino: ino, Gen: t.Inodes.Generation(), parent: parent, name: name,
	}
	d.Shown.dir, d.Shown.Changed = d, t.Started
	d.kind.Store(uint32(kind))
	d.Folder.Store(int64(id))
	d.Free.Store(true)
	return d
}

// Kind returns what the directory stands for.
func (d *Dir) Kind() DirKind { return DirKind(d.kind.Load()) } //nolint:gosec // as it was stored

// ID returns the folder's id; for a LocalDir that of the nearest folder above.
func (d *Dir) ID() archive.ID {
	if d.Kind() == LocalDir {
		return d.Above().ID()
	}
	return archive.ID(d.Folder.Load())
}

// Place returns where the directory is shown.
func (d *Dir) Place() (parent *Dir, name string) {
	d.Mu.Lock()
	defer d.Mu.Unlock()
	return d.parent, d.name
}

// Above returns the parent of d, nil for the root.
func (d *Dir) Above() *Dir {
	parent, _ := d.Place()
	return parent
}

// IsTop reports whether the mount begins at d.
func IsTop(d *Dir) bool { return d == d.Tree.Top.Load() }

// Shows reports whether d lies in what the mount shows.
func Shows(d *Dir) bool {
	for d != nil && !IsTop(d) {
		d = d.Above()
	}
	return d != nil
}

// FromTop returns a path of the archive as one from the top of the mount, which shows it.
func FromTop(t *Tree, path string) string {
	return strings.TrimPrefix(strings.TrimPrefix(path, t.Top.Load().Path()), "/")
}

// Path returns the path of the directory from the root of the archive, without a leading slash.
func (d *Dir) Path() string {
	parent, name := d.Place()
	if parent == nil {
		return ""
	}
	if up := parent.Path(); up != "" {
		return up + "/" + name
	}
	return name
}

// PathOf returns the path of an entry of the directory, as Path does.
func (d *Dir) PathOf(name string) string {
	if p := d.Path(); p != "" {
		return p + "/" + name
	}
	return name
}

// Local returns the names of the local directories from the nearest folder down to d, nil if d is not one of them.
func (d *Dir) Local() []string {
	if d.Kind() != LocalDir {
		return nil
	}
	parent, name := d.Place()
	return append(parent.Local(), name)
}

// Confirmed returns the document that the upload r has just made in a directory of kind k. old is the
// document that it replaced, nil for a new one.
func (k DirKind) Confirmed(r *spool.Record, id archive.ID, old *archive.Document, now time.Time) *archive.Document {
	doc := archive.Document{ID: id, Name: r.Name, Folder: r.Folder, Created: now}
	if old != nil {
		doc = *old
	}
	if r.DocumentName != "" {
		doc.Name = r.DocumentName
	}
	doc.Size, doc.Pages, doc.Keywords, doc.Metadata = r.Size, archive.PagesUnknown, r.Keywords, r.Metadata
	if k.Archives() {
		doc.Archived = now
	}
	return &doc
}

// Document returns the document of that id, shown or hidden, nil without one.
func (d *Dir) Document(id archive.ID) *archive.Document {
	d.Mu.Lock()
	defer d.Mu.Unlock()
	if e := d.Shown.Document(id); e != nil {
		return e.Doc.Load()
	}
	return nil
}

// Get returns the entry shown under a name, nil when none is known.
func (d *Dir) Get(name string) *Entry {
	d.Mu.Lock()
	defer d.Mu.Unlock()
	return d.Shown.Get(name)
}

// Reach returns the entry shown under a name, else the document whose plain name it is, else what has a
// name that looks the same.
func (d *Dir) Reach(name string) *Entry {
	d.Mu.Lock()
	defer d.Mu.Unlock()
	return d.Shown.Reach(name)
}

// Entries returns all entries ordered by name. The slice is shared and must not be written to.
func (d *Dir) Entries() []*Entry {
	d.Mu.Lock()
	defer d.Mu.Unlock()
	return d.Shown.All()
}

// Subfolders returns the directories of the known folders in d, without expanding documents.
func (d *Dir) Subfolders() []*Dir {
	d.Mu.Lock()
	defer d.Mu.Unlock()
	dirs := make([]*Dir, 0, len(d.Shown.Folders.List)+1)
	for _, e := range d.Shown.Folders.List {
		dirs = append(dirs, e.Entry.Dir)
	}
	if d.Kind() == RootDir {
		dirs = append(dirs, d.Shown.Held.Names.Get(InboxesName).Dir)
	}
	return dirs
}

// Documents returns the documents that are known in d.
func (d *Dir) Documents() []*archive.Document {
	d.Mu.Lock()
	defer d.Mu.Unlock()
	docs := make([]*archive.Document, 0, len(d.Shown.Documents()))
	for _, e := range d.Shown.Documents() {
		docs = append(docs, e.Entry.Doc.Load())
	}
	return docs
}

// Add shows an entry under its name.
func (d *Dir) Add(e *Entry) {
	d.Mu.Lock()
	defer d.Mu.Unlock()
	d.Shown.Add(e)
}

// Drop removes an entry.
func (d *Dir) Drop(e *Entry) {
	d.Mu.Lock()
	defer d.Mu.Unlock()
	d.Shown.Drop(e)
}

// LeafOf returns the file of an entry. It makes that of a document when needed.
func (d *Dir) LeafOf(e *Entry) *Leaf {
	d.Mu.Lock()
	defer d.Mu.Unlock()
	if f := e.File.Load(); f != nil {
		return f
	}
	doc := e.Doc.Load()
	if now := d.Shown.Document(doc.ID); now != nil && now != e && now.Name == e.Name {
		e = now // the directory was compacted since e was found
		if f := e.File.Load(); f != nil {
			return f
		}
		doc = e.Doc.Load()
	}
	f := d.Tree.NewLeaf(d.Tree.Inodes.Document(doc.ID), d, e, doc)
	e.File.Store(f)
	return f
}

// InoOf returns the inode number of a file's entry. It makes no file if the number follows from the document's id.
func (d *Dir) InoOf(e *Entry) uint64 {
	if f := e.File.Load(); f != nil {
		return f.Ino
	}
	if doc := e.Doc.Load(); doc != nil {
		if ino, ok := inode.OfDocument(doc.ID); ok {
			return ino
		}
	}
	return d.LeafOf(e).Ino
}

// namesLocked returns the names that find an entry. The caller holds Mu of the directory.
func (e *Entry) namesLocked() []string {
	if e.plain == "" {
		return []string{e.Name}
	}
	return []string{e.Name, e.plain}
}

// QueuedAs returns the upload that makes the folder, for a LocalDir the nearest folder above; nil when
// the service has it.
func (d *Dir) QueuedAs() *spool.Upload {
	if d.Kind() == LocalDir {
		return d.Above().QueuedAs()
	}
	return d.Queued.Load()
}

// IsLocal reports whether the service knows nothing of the directory.
func (d *Dir) IsLocal() bool { return d.Kind() == LocalDir || d.Queued.Load() != nil }

// Aim sets the directory's folder as the target of an upload.
func (d *Dir) Aim(r *spool.Record) {
	if up := d.QueuedAs(); up != nil {
		r.Folder, r.Within = 0, up.ID()
		return
	}
	r.Folder, r.Within = d.ID(), ""
}

// StaysLocal reports whether a file of that name in the directory is never uploaded.
func (d *Dir) StaysLocal(name string) bool {
	return d.Kind() == LocalDir || d.Tree.Working.Stays(name)
}

// Lengths returns the learned lengths of the directory's documents. Most directories never need them.
func (d *Dir) Lengths() *view.FolderLengths {
	if d.learned.Load() == nil {
		d.learned.CompareAndSwap(nil, d.Tree.Lengths.Folder(d.Kind().Archives()))
	}
	return d.learned.Load()
}

// noteOrigin notes docs, packed, as the origin of the directory's documents if it is the listing that
// was merged last. Documents of an inbox are never compacted, because they can be changed and removed.
func (s *nameSet) noteOrigin(docs []archive.Document, packed cache.Packed) {
	if !s.dir.Kind().Archives() || packed.IsZero() || s.IsCompacted() {
		return
	}
	s.origin = nil
	if len(docs) == 0 {
		return
	}
	if e := s.Held.Docs.Get(docs[0].ID); e != nil && e.Doc.Load() == &docs[0] {
		s.origin = &origin{packed: packed, docs: docs}
	}
}

// Compact replaces the expanded documents by their packed listing and their names, if nothing would be lost.
func (d *Dir) Compact() {
	d.Mu.Lock()
	defer d.Mu.Unlock()
	l := d.Shown.origin
	if d.Shown.IsCompacted() {
		l.packed = l.packed.Unpin()
	}
	if l == nil || l.docs == nil || !d.compactableLocked(l.docs) {
		return
	}
	l.names = shownNames(d.Shown.Held.Docs.List)
	rest := make([]*Entry, 0, len(d.Shown.Folders.List))
	for _, e := range d.Shown.Held.Names.All() {
		if e.Doc.Load() == nil {
			rest = append(rest, e)
		}
	}
	d.Shown.Held = contents{}
	d.Shown.Held.Names.fill(rest)
	l.docs = nil
}

// compactableLocked reports whether the directory's documents are exactly those of the listing, and
// none of them has a file.
// +checklocks:d.Mu
func (d *Dir) compactableLocked(docs []archive.Document) bool {
	list := d.Shown.Held.Docs.List
	if len(list) != len(docs) || len(d.Shown.hidden) > 0 || len(d.Late) > 0 {
		return false
	}
	now := InstantOf(d.Tree.Service.Now())
	for i := range docs {
		e := list[i].Entry
		if e.Doc.Load() != &docs[i] || e.File.Load() != nil || e.ServiceName != docs[i].Name || now <= e.Keep {
			return false
		}
	}
	return true
}

// listed reports whether the directory was listed at all.
func (d *Dir) listed() bool {
	d.Mu.Lock()
	defer d.Mu.Unlock()
	return d.IsLocal() || d.Subs.Known && (d.Files.Known || !d.Kind().HoldsDocuments())
}

// KnowsFolders reports whether the merged listing of sub-folders is fresh enough for n.
func (d *Dir) KnowsFolders(n need) bool {
	d.Mu.Lock()
	defer d.Mu.Unlock()
	return d.servesLocked(&d.Subs, n)
}

// KnowsDocuments is KnowsFolders for the documents.
func (d *Dir) KnowsDocuments(n need) bool {
	d.Mu.Lock()
	defer d.Mu.Unlock()
	if !d.servesLocked(&d.Files, n) {
		return false
	}
	if d.Shown.IsCompacted() && !d.Shown.readable() {
		d.Shown.lose()
		return false
	}
	return true
}

// servesLocked reports whether the listing m of the directory is fresh enough for n. Inboxes share one
// listing of folders, and none of them knows of changes in the others.
// +checklocks:d.Mu
func (d *Dir) servesLocked(m *Merged, n need) bool {
	unchanged := (m == &d.Files || d.Kind().Archives()) && m.asked.Changes == d.changes.Load()
	return (n == NeedNames || unchanged) && m.Known && d.Tree.Service.Now().Sub(m.Fetched) < d.Tree.Service.TTL
}

// asking returns the directory's counters, to be noted before a listing is requested.
func (d *Dir) asking() remote.Distrust {
	d.Mu.Lock()
	defer d.Mu.Unlock()
	return remote.Distrust{Doubts: d.doubts, Changes: d.changes.Load()}
}

// AmendLocked notes what was done here to a document of the directory, when that is certain: doc is what the document
// is now, nil if the directory does not have it any more. The listing gets it, and is trusted for as long as before.
// +checklocks:d.Mu
func (d *Dir) AmendLocked(id archive.ID, doc *archive.Document) {
	d.Tree.Service.Amend(d.ID(), id, doc)
	d.Tree.amendedLocked(d)
}

// Outdate makes the next listing of the directory ask the service again. It keeps the names, which
// already reflect changes made here.
func (d *Dir) Outdate() {
	d.changes.Add(1)
	d.Tree.Service.Outdate(d.ID())
	if d.Kind() == InboxDir || d.Kind() == InboxesDir {
		d.Tree.Service.OutdateInboxes()
	}
}

// Distrust is Outdate for a directory that turned out to differ from the service: lookups do not use
// its names either, nor a listing in flight.
func (d *Dir) Distrust() {
	d.Outdate()
	d.Mu.Lock()
	defer d.Mu.Unlock()
	d.DoubtLocked()
}

// DoubtLocked is Distrust for the names only.
// +checklocks:d.Mu
func (d *Dir) DoubtLocked() {
	d.doubts++
	d.Subs.Fetched, d.Files.Fetched = time.Time{}, time.Time{}
}

// IsShown reports whether the directory can be reached from the root.
func (d *Dir) IsShown() bool {
	parent, name := d.Place()
	if parent == nil {
		return true
	}
	e := parent.Get(name)
	return e != nil && e.Dir == d && parent.IsShown()
}

// ShownAs returns the name of a document in the directory, empty when it is not shown.
func (d *Dir) ShownAs(id archive.ID) string {
	d.Mu.Lock()
	defer d.Mu.Unlock()
	if e := d.Shown.Document(id); e != nil && !d.Shown.hides(e) {
		return e.Name
	}
	return ""
}

// trustedLocked returns m, as expired if the directory was doubted after m was requested.
// +checklocks:d.Mu
func (d *Dir) trustedLocked(m Merged) Merged {
	if m.asked.Doubts != d.doubts {
		m.Fetched = time.Time{}
	}
	return m
}

// Update applies a change of a document that was made here.
func (d *Dir) Update(doc *archive.Document) {
	d.Mu.Lock()
	defer d.Mu.Unlock()
	d.AmendLocked(doc.ID, doc)
	if e := d.Shown.Document(doc.ID); e != nil {
		e.SetDocument(doc)
		d.Shown.index(e)
	}
}

// MoveTo sets where the directory is shown, and as what: until the service has it, as a folder that by is
// going to make, or as a local directory. Nothing may show it meanwhile.
func (d *Dir) MoveTo(parent *Dir, name string, kind DirKind, by *spool.Upload) {
	d.Mu.Lock()
	defer d.Mu.Unlock()
	d.parent, d.name = parent, name
	if kind != d.Kind() || by != d.Queued.Load() {
		d.kind.Store(uint32(kind))
		d.Folder.Store(-int64(d.Ino)) //nolint:gosec // a counter
		d.Queued.Store(by)
		d.learned.Store(nil)
	}
}

// InInbox reports whether the directory is an inbox or below one.
func (d *Dir) InInbox() bool {
	if d.Kind() == LocalDir {
		return d.Above().InInbox()
	}
	return d.Kind() == InboxDir
}

// IsCompacted reports whether the directory is in its compacted form.
func (d *Dir) IsCompacted() bool {
	d.Mu.Lock()
	defer d.Mu.Unlock()
	return d.Shown.IsCompacted()
}

// Names at the top of the mount that are not mandators.
const (
	InboxesName  = "inboxes"
	ControlName  = ".archivefs"
	SearchesName = "searches"
)
