package tree

import (
	"cmp"
	"context"
	"slices"
	"sort"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/cache"
	"github.com/archivefs/archivefs/fs/internal/inode"
	"github.com/archivefs/archivefs/fs/internal/names"
	"github.com/archivefs/archivefs/fs/internal/remote"
	"github.com/archivefs/archivefs/fs/internal/view"
	"github.com/archivefs/archivefs/internal/spool"
)

// Merged identifies the listing that was merged into a directory.
type Merged struct {
	Serial  uint64
	Fetched time.Time // zero: it is not trusted
	Known   bool
	// asked has the directory's counters from when the listing was requested.
	asked remote.Distrust
}

// Config configures a Tree. The functions do not block and may be called with any lock held.
type Config struct {
	Service *remote.Service
	// Reps says in which representation documents are read.
	Reps *view.Representations
	// Lengths finds out lengths that listings lack.
	Lengths *view.Lengths
	// Started is when the mount began.
	Started time.Time
	// Staged is what waits on this machine to be archived.
	Staged Staged
	// Changed makes the kernel look up names of a directory again.
	Changed func(d *Dir, names []string)
	// Vanished is called when a listing lacks a document that d showed under a name.
	Vanished func(d *Dir, doc archive.ID, name string)
	// Altered is called when a listing says something else of the content of a document that d shows under a name.
	Altered func(d *Dir, name string, before, now *archive.Document)
	// Expanded counts documents that are expanded from a compacted directory.
	Expanded func(documents int)
	// NewLeaf makes the file of a document's entry.
	NewLeaf func(ino uint64, d *Dir, e *Entry, doc *archive.Document) *Leaf
	// Working tells the names that programs work under.
	Working *names.Rules
	// Windows says in which form names are shown.
	Windows names.Windows
	// NewestPlain says that of several documents of an inbox with one name the newest is shown under it.
	NewestPlain bool
}

// Tree is the tree of mandators, folders, inboxes and documents. It fills directories from the
// service's listings and looks up names in them. It is safe for concurrent use.
type Tree struct {
	Config
	Inodes inode.Numbers
	Root   *Dir
	// Top is the directory at which the mount begins: Root, or a folder that alone is shown.
	Top atomic.Pointer[Dir]
}

// New makes a tree without listings.
func New(c Config) *Tree {
	t := &Tree{Config: c}
	t.Root = NewDir(t, RootDir, 0, inode.Root, nil, "")
	t.Top.Store(t.Root)
	inboxes := NewDir(t, InboxesDir, 0, inode.Inboxes, t.Root, InboxesName)
	t.Root.Mu.Lock()
	defer t.Root.Mu.Unlock()
	t.Root.Shown.Here().Names.put(&Entry{Name: InboxesName, Dir: inboxes})
	return t
}

// Staged is what waits on this machine for the archive, as the tree sees it. All methods but
// Identify are called with Mu of the directory held.
type Staged interface {
	// Identify finds out which documents of a listing are late files (Dir.Late).
	Identify(ctx context.Context, d *Dir, list []archive.Document)
	// PlaceWaitingLocked shows what waits for d, which has been listed or is queued.
	PlaceWaitingLocked(d *Dir)
	// RefillLocked gives an inbox document that was emptied a while ago its content back.
	RefillLocked(d *Dir, e *Entry)
	// ShowListedLocked drops the late files for which a listing has candidates, and those that no
	// listing has shown for too long. It returns their names.
	ShowListedLocked(d *Dir, list []*archive.Document) (stale []string)
}

// need says how fresh a directory has to be.
type need uint8

const (
	// NeedNames accepts names that were listed within the TTL, with the changes made here since.
	NeedNames need = iota
	// NeedListing requires a listing that is newer than the changes made here.
	NeedListing
)

// Lookup returns the entry of a name, shown or plain, or of one that looks the same, else ENOENT. Folders
// take names before documents do, so documents are listed only when no folder has the name, or together
// with folders if the name looks like a document's.
func (t *Tree) Lookup(ctx context.Context, d *Dir, name string) (*Entry, error) {
	if t.Working.Stays(name) && d.listed() {
		// Desktops look up such names all the time; the last listing is good enough.
		if e := d.Reach(name); e != nil {
			return e, nil
		}
		return nil, syscall.ENOENT
	}
	var docsErr error
	if LooksLikeDocument(name) && !d.KnowsFolders(NeedNames) {
		docsErr = t.Load(ctx, d, NeedNames)
	}
	if err := t.LoadFolders(ctx, d, NeedNames); err != nil {
		return nil, err
	}
	if e := cmp.Or(d.Get(name), d.Get(t.Windows.Meant(name))); e != nil && e.Dir != nil {
		return e, nil
	}
	if docsErr != nil {
		return nil, docsErr
	}
	if err := t.LoadDocuments(ctx, d, NeedNames); err != nil {
		return nil, err
	}
	if e := d.Reach(name); e != nil {
		return e, nil
	}
	return nil, syscall.ENOENT
}

// Load lists the whole directory. It requests folders and documents at the same time, each at most
// once, and merges folders first.
func (t *Tree) Load(ctx context.Context, d *Dir, n need) error {
	if !t.WantsDocuments(d, n) {
		return t.LoadFolders(ctx, d, n)
	}
	var docs cache.Entry[[]archive.Document]
	var docsErr error
	asked := d.asking()
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		docs, docsErr = t.Service.ListDocuments(ctx, folderOf{d})
	}()
	err := t.LoadFolders(ctx, d, n)
	<-answered
	if err != nil {
		return err
	}
	return t.showDocuments(ctx, d, docs, docsErr, asked)
}

// LoadFolders lists the sub-folders of a directory unless they are fresh enough for n.
func (t *Tree) LoadFolders(ctx context.Context, d *Dir, n need) error {
	if d.IsLocal() || d.KnowsFolders(n) {
		return nil
	}
	return t.listFolders(ctx, d)
}

// listFolders is LoadFolders for a directory whose sub-folders are not fresh enough.
func (t *Tree) listFolders(ctx context.Context, d *Dir) error {
	if d.Kind() == InboxesDir || d.Kind() == InboxDir {
		return t.loadInboxes(ctx, d)
	}
	asked := d.asking()
	got, err := t.Service.ListChildren(ctx, d.ID())
	if err != nil {
		return t.gone(d, err)
	}
	t.Changed(d, t.mergeFolders(d, got.Value.Folders, mergedOf(got, asked), got.Value.Free))
	return nil
}

// mergedOf returns the Merged of the listing e. A stale one, which stands in while the service is away, is not trusted.
func mergedOf[V any](e cache.Entry[V], when remote.Distrust) Merged {
	m := Merged{Serial: e.Serial, Fetched: e.Fetched, Known: true, asked: when}
	if e.Stale {
		m.Fetched = time.Time{}
	}
	return m
}

// LoadDocuments is LoadFolders for the documents.
func (t *Tree) LoadDocuments(ctx context.Context, d *Dir, n need) error {
	if !t.WantsDocuments(d, n) {
		return nil
	}
	asked := d.asking()
	got, err := t.Service.ListDocuments(ctx, folderOf{d})
	return t.showDocuments(ctx, d, got, err, asked)
}

// LoadDetails lists the documents unless the last listing has shown doc as it is.
func (t *Tree) LoadDetails(ctx context.Context, d *Dir, doc *archive.Document) error {
	d.Mu.Lock()
	e, listed := d.Shown.Document(doc.ID), d.Files.Fetched
	d.Mu.Unlock()
	if !doc.Listed() && e != nil && !time.Unix(0, int64(e.Keep)).Add(-t.Lag()).Before(listed) { // it was made later
		d.Outdate()
	}
	return t.LoadDocuments(ctx, d, NeedListing)
}

// WantsDocuments reports whether documents must be listed to be fresh enough for n.
func (t *Tree) WantsDocuments(d *Dir, n need) bool {
	return d.Kind().HoldsDocuments() && !d.IsLocal() && !d.KnowsDocuments(n)
}

// showDocuments merges a listing of documents, or handles the error of one.
func (t *Tree) showDocuments(ctx context.Context, d *Dir, got cache.Entry[[]archive.Document], err error, when remote.Distrust) error {
	if err != nil {
		return t.gone(d, err)
	}
	if got.Stale {
		t.Reps.AsBefore()
	} else {
		t.Reps.Choose(ctx, got.Value, named)
		t.Staged.Identify(ctx, d, got.Value)
	}
	t.Changed(d, t.mergeDocuments(d, got.Value, mergedOf(got, when), t.Reps.Extension))
	d.Mu.Lock()
	d.Shown.noteOrigin(got.Value, got.Packed)
	d.Mu.Unlock()
	return nil
}

// named reports whether all documents have extensions of their own.
func named(docs []archive.Document) bool {
	return !slices.ContainsFunc(docs, func(d archive.Document) bool { return names.Ext(names.Plain(&d)) == "" })
}

// ListAfresh requests the directory's documents from the service, whatever is known.
func (t *Tree) ListAfresh(ctx context.Context, d *Dir) ([]archive.Document, error) {
	d.Distrust()
	return t.Service.ListAfresh(ctx, d.ID())
}

// folderOf is a directory as remote.Service.ListDocuments sees it.
type folderOf struct{ d *Dir }

func (f folderOf) ID() archive.ID            { return f.d.ID() }
func (f folderOf) Archives() bool            { return f.d.Kind().Archives() }
func (f folderOf) Distrust() remote.Distrust { return f.d.asking() }

func (f folderOf) Relisted(ctx context.Context, got cache.Entry[[]archive.Document], when remote.Distrust) {
	_ = f.d.Tree.showDocuments(ctx, f.d, got, nil, when) // fails only with the error passed to it
}

// Relist lists the documents of a directory again, however fresh the last listing is, and its
// sub-folders if their listing has outlived the TTL; the sub-folders of a directory without documents
// always. A listing that stands in while the service is away is no error.
func (t *Tree) Relist(ctx context.Context, d *Dir) error {
	switch {
	case d.IsLocal():
		return nil
	case d.Kind() == InboxesDir:
		t.Service.OutdateInboxes()
		return t.listFolders(ctx, d)
	case !d.Kind().HoldsDocuments():
		t.Service.Outdate(d.ID())
		return t.listFolders(ctx, d)
	}
	asked := d.asking()
	t.Service.Documents.Invalidate(d.ID())
	got, err := t.Service.ListDocuments(ctx, folderOf{d})
	if err := t.showDocuments(ctx, d, got, err, asked); err != nil {
		return err
	}
	return t.LoadFolders(ctx, d, NeedNames)
}

// FindDocument returns the document of that id in a listing, nil when there is none.
func FindDocument(docs []archive.Document, id archive.ID) *archive.Document {
	for i := range docs {
		if docs[i].ID == id {
			return &docs[i]
		}
	}
	return nil
}

// gone handles an error of a listing. If the service does not have the folder any more, its parent is distrusted.
func (t *Tree) gone(d *Dir, err error) error {
	if archive.KindOf(err) == archive.KindNotFound {
		if parent, name := d.Place(); parent != nil {
			parent.Distrust()
			t.Changed(parent, []string{name})
		}
	}
	return err
}

// loadInboxes fills the directory from the single listing that has all inboxes with all their folders.
func (t *Tree) loadInboxes(ctx context.Context, d *Dir) error {
	asked := d.asking()
	got, err := t.Service.ListInboxes(ctx)
	if err != nil {
		return err
	}
	var folders []archive.Folder
	if d.Kind() == InboxesDir {
		for _, box := range got.Value.Inboxes {
			folders = append(folders, box.Folder)
		}
	} else {
		f, ok := FindInbox(got.Value.Inboxes, d.ID())
		if !ok {
			return syscall.ENOENT
		}
		folders = f.Children
	}
	t.Changed(d, t.mergeFolders(d, folders, mergedOf(got, asked), got.Value.Free))
	return nil
}

// FindInbox returns the folder of that id: an inbox or a folder in one.
func FindInbox(boxes []archive.Inbox, id archive.ID) (archive.Folder, bool) {
	for _, box := range boxes {
		if f, ok := findFolder(box.Folder, id); ok {
			return f, true
		}
	}
	return archive.Folder{}, false
}

func findFolder(f archive.Folder, id archive.ID) (archive.Folder, bool) {
	if f.ID == id {
		return f, true
	}
	for _, c := range f.Children {
		if found, ok := findFolder(c, id); ok {
			return found, true
		}
	}
	return archive.Folder{}, false
}

// Collect adds wanted folders to found: d and those known below it.
func (t *Tree) Collect(d *Dir, wanted map[archive.ID]string, found map[archive.ID]*Dir) {
	if _, ok := wanted[d.ID()]; ok && d.Kind().HoldsDocuments() {
		found[d.ID()] = d
	}
	for _, below := range d.Subfolders() {
		t.Collect(below, wanted, found)
	}
}

// Follow descends from d, the parent of folders, to the wanted ones, and adds them to found.
func (t *Tree) Follow(ctx context.Context, d *Dir, folders []archive.Folder, wanted map[archive.ID]string, found map[archive.ID]*Dir) error {
	for i := range folders {
		below := &folders[i]
		if !leadsTo(below, wanted) {
			continue
		}
		if err := t.LoadFolders(ctx, d, NeedNames); err != nil {
			return err
		}
		sub := t.Subfolder(d, below.ID)
		if sub == nil {
			continue // made or removed meanwhile
		}
		if _, ok := wanted[below.ID]; ok {
			found[below.ID] = sub
		}
		if err := t.Follow(ctx, sub, below.Children, wanted, found); err != nil {
			return err
		}
	}
	return nil
}

// Subfolder returns the directory of the folder with that id in d, nil if none is known.
func (*Tree) Subfolder(d *Dir, id archive.ID) *Dir {
	d.Mu.Lock()
	defer d.Mu.Unlock()
	if e := d.Shown.Folders.Get(id); e != nil {
		return e.Dir
	}
	return nil
}

// mergeFolders merges a listing of the sub-folders: new ones get names, by ascending id; known ones keep theirs unless
// renamed at the service; missing ones are removed. It returns the names that the kernel may have cached wrongly.
func (t *Tree) mergeFolders(d *Dir, list []archive.Folder, m Merged, free bool) (stale []string) {
	list = append([]archive.Folder(nil), list...)
	sort.Slice(list, func(i, j int) bool { return list[i].ID < list[j].ID })
	d.Mu.Lock()
	defer d.Mu.Unlock()
	m = d.trustedLocked(m)
	if d.Subs.Known && m.Serial <= d.Subs.Serial {
		d.Subs.Fetched, d.Subs.asked = m.Fetched, m.asked
		return nil
	}
	d.Free.Store(free)
	changed := d.Shown.Changed // the first listing is no change
	there := make(map[archive.ID]bool, len(list))
	for i := range list {
		there[list[i].ID] = true
	}
	stale = t.dropGoneLocked(d, &d.Shown.Folders, there)
	if !d.Subs.Known {
		t.reserveLocked(d, &d.Shown.Folders, len(list))
	}
	for i := range list {
		f := &list[i]
		e := d.Shown.Folders.Get(f.ID)
		if e != nil && (e.ServiceName == f.Name || e.ServiceName == "") {
			e.ServiceName = f.Name
			continue
		}
		if e != nil { // renamed at the service
			stale = append(stale, e.Name)
			d.Shown.Drop(e)
			e = e.Renamed(names.OfFolder(*f, d.Shown.Taken))
			e.Dir.MoveTo(d, e.Name, e.Dir.Kind(), e.Dir.Queued.Load())
		} else {
			name := names.OfFolder(*f, d.Shown.Taken)
			e = &Entry{Name: name, Dir: NewDir(t, d.Kind().Below(), f.ID, t.Inodes.Folder(f.ID), d, name)}
		}
		e.ServiceName = f.Name
		d.Shown.Add(e)
		if d.Subs.Known {
			stale = append(stale, e.Name)
		}
	}
	if !d.Subs.Known {
		d.Shown.Changed = changed
	}
	d.Subs = m
	return stale
}

// dropGoneLocked removes entries that a listing lacks, before new ones get names, and returns their names.
// +checklocks:d.Mu
func (t *Tree) dropGoneLocked(d *Dir, known *idIndex, there map[archive.ID]bool) (stale []string) {
	now := InstantOf(t.Service.Now())
	for i := len(known.List) - 1; i >= 0; i-- { // from the end, where dropping is cheap
		e := known.List[i].Entry
		if !there[known.List[i].ID] && now > e.Keep && !e.Busy() {
			stale = append(stale, e.Name)
			d.Shown.Drop(e)
			if doc := e.Doc.Load(); doc != nil {
				t.Vanished(d, doc.ID, e.Name)
			}
		}
	}
	return stale
}

// reserveLocked makes room for the first listing.
// +checklocks:d.Mu
func (t *Tree) reserveLocked(d *Dir, ids *idIndex, n int) {
	ids.reserve(n)
	d.Shown.Here().Names.reserve(n)
}

// mergeDocuments is mergeFolders for documents. ext returns the extension for a document without one.
func (t *Tree) mergeDocuments(d *Dir, list []archive.Document, m Merged, ext func(*archive.Document) string) (stale []string) {
	order := make([]*archive.Document, len(list))
	for i := range list {
		order[i] = &list[i]
	}
	sort.Slice(order, func(i, j int) bool { return order[i].ID < order[j].ID })
	d.Mu.Lock()
	defer d.Mu.Unlock()
	m = d.trustedLocked(m)
	if d.Files.Known && m.Serial <= d.Files.Serial {
		d.Files.Fetched, d.Files.asked = m.Fetched, m.asked
		return nil
	}
	changed := d.Shown.Changed // the first listing is no change
	there := make(map[archive.ID]bool, len(list))
	for i := range list {
		there[list[i].ID] = true
	}
	stale = append(t.dropGoneLocked(d, &d.Shown.Here().Docs, there), t.Staged.ShowListedLocked(d, order)...)
	if !d.Files.Known {
		t.reserveLocked(d, &d.Shown.Here().Docs, len(list))
	}
	order = slices.CompactFunc(order, func(a, b *archive.Document) bool { return a.ID == b.ID }) // listed twice
	if t.NewestPlain && d.InInbox() && !d.Files.Known {
		slices.Reverse(order)
	}
	for _, doc := range order {
		if name := t.mergeDocumentLocked(d, doc, ext); name != nil {
			stale = append(stale, name...)
		}
	}
	if s := d.learned.Load(); s != nil {
		s.Reset()
	}
	if !d.Files.Known {
		d.Files, d.Shown.Changed = m, changed
		t.Staged.PlaceWaitingLocked(d)
		return nil
	}
	d.Files = m
	return stale
}

// mergeDocumentLocked merges one document and returns the names that changed.
// +checklocks:d.Mu
func (t *Tree) mergeDocumentLocked(d *Dir, doc *archive.Document, ext func(*archive.Document) string) (stale []string) {
	e := d.Shown.Document(doc.ID)
	if e == nil && t.arrivingLocked(d, doc.Name) {
		return nil // it may be the same document: when the upload ends, it is listed again
	}
	if e == nil {
		e = NewEntry(names.OfDocument(doc, ext(doc), d.Shown.Taken), doc, nil)
		e.ServiceName = doc.Name
		d.Shown.Add(e)
		return e.namesLocked()
	}
	if before := e.Doc.Load(); doc.Listed() && before.Fingerprint() != doc.Fingerprint() {
		t.Altered(d, e.Name, before, doc)
		if before.Listed() { // else it is as it was sent from here
			stale = e.namesLocked()
		}
	}
	e.SetDocument(doc)
	d.Shown.index(e)
	t.Staged.RefillLocked(d, e)
	if d.Shown.hides(e) {
		return []string{d.Shown.Unhide(e).Name}
	}
	if e.ServiceName == doc.Name || e.ServiceName == "" {
		if doc.Listed() { // else the service has not said its name yet
			e.ServiceName = doc.Name
		}
		return stale
	}
	// Renamed at the service.
	old := e.Name
	d.Shown.Drop(e)
	e = e.Renamed(names.OfDocument(doc, ext(doc), d.Shown.Taken))
	e.ServiceName = doc.Name
	d.Shown.Add(e)
	return append(e.namesLocked(), old)
}

// arrivingLocked reports whether a file of that name is being archived at this moment.
// +checklocks:d.Mu
func (t *Tree) arrivingLocked(d *Dir, name string) bool {
	e := d.Shown.Get(name)
	if e == nil || e.Doc.Load() != nil || !e.Busy() {
		return false
	}
	s := e.File.Load().Pending().State()
	return s.InFlight() || s == spool.Confirmed
}

// AddFolderLocked shows the entry of a folder that was made here, under the service's name for it. As in
// Dir.AmendLocked the listing gets it, but that of all inboxes is requested again.
// +checklocks:d.Mu
func (t *Tree) AddFolderLocked(d *Dir, e *Entry, name string) {
	d.Shown.Add(e)
	if d.Kind() == InboxDir {
		t.Service.OutdateInboxes()
	}
	t.Service.AmendFolder(d.ID(), e.Dir.ID(), name)
	t.amendedLocked(d)
}

// amendedLocked has merged listings serve as before a change, but not those that are requested at this moment:
// merged, they may undo it until they are merged again as the cache has changed them.
// +checklocks:d.Mu
func (t *Tree) amendedLocked(d *Dir) {
	now := d.changes.Add(1)
	for _, m := range []*Merged{&d.Subs, &d.Files} {
		if m.asked.Changes == now-1 {
			m.asked.Changes = now
		}
	}
}

// Lag returns how long changes made here outweigh listings.
func (t *Tree) Lag() time.Duration { return max(t.Service.TTL, time.Minute) }

// KeepFor returns the Entry.Keep of what was just made here.
func (t *Tree) KeepFor() instant { return InstantOf(t.Service.Now().Add(t.Lag())) }

// DoubtAll doubts the directory and all known ones below it.
func (t *Tree) DoubtAll(d *Dir) {
	d.Mu.Lock()
	d.DoubtLocked()
	d.Mu.Unlock()
	for _, below := range d.Subfolders() {
		t.DoubtAll(below)
	}
}

// Baseline returns a function that lists the directory's documents before something is sent there.
// Names listed within the TTL, with the changes made here since, will do. It returns nil documents when
// the mount shows only part of the directory.
func (t *Tree) Baseline(d *Dir) spool.Baseline {
	return func(ctx context.Context) ([]*archive.Document, error) {
		if !t.Service.List.CreatedAfter.IsZero() {
			return nil, nil
		}
		if err := t.LoadDocuments(ctx, d, NeedNames); err != nil {
			return nil, err
		}
		return d.Documents(), nil
	}
}

// Known returns the directory of a folder if it is d or known below it, else nil.
func (t *Tree) Known(d *Dir, id archive.ID) *Dir {
	if d.Kind().HoldsDocuments() && d.ID() == id {
		return d
	}
	for _, below := range d.Subfolders() {
		if found := t.Known(below, id); found != nil {
			return found
		}
	}
	return nil
}

// leadsTo reports whether the folder, or one below it, is wanted.
func leadsTo(f *archive.Folder, wanted map[archive.ID]string) bool {
	if _, ok := wanted[f.ID]; ok {
		return true
	}
	for i := range f.Children {
		if leadsTo(&f.Children[i], wanted) {
			return true
		}
	}
	return false
}

// LooksLikeDocument reports whether a name is more likely a document's than a folder's.
func LooksLikeDocument(name string) bool { return names.Ext(name) != "" }
