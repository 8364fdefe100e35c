package tree

import (
	"context"
	"errors"
	"sort"
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

// Merged says which listing a directory has taken in.
type Merged struct {
	Serial  uint64
	Fetched time.Time // zero: none that may be trusted
	Known   bool
	// asked is what the directory was when the listing was asked for.
	asked remote.Distrust
}

// Config configures a Tree. The functions return at once, and may be called with any lock
// held.
type Config struct {
	Service *remote.Service
	// Reps says in which representation documents are read.
	Reps *view.Representations
	// Lengths asks for those that no listing tells.
	Lengths *view.Lengths
	// Started is when the mount began.
	Started time.Time
	// Staged is what waits on this machine to be shown.
	Staged Staged
	// Changed tells the kernel that names of a directory changed.
	Changed func(d *Dir, names []string)
	// Expanded counts documents that are expanded from the compacted form of a directory.
	Expanded func(documents int)
	// NewLeaf makes the file of a document's entry.
	NewLeaf func(ino uint64, d *Dir, e *Entry, doc *archive.Document) *Leaf
}

// Tree is the tree of mandators, folders, inboxes and documents: it fills directories with what
// the service lists, and finds names in them. It is safe for concurrent use.
type Tree struct {
	Config
	Inodes inode.Numbers
	Root   *Dir
}

// New makes a tree of which nothing is listed yet.
func New(c Config) *Tree {
	t := &Tree{Config: c}
	t.Root = NewDir(t, RootDir, 0, inode.Root, nil, "")
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

// need says how fresh a directory has to be for what is asked.
type need uint8

const (
	// NeedNames says that what was listed within the ttl and changed here since then is enough.
	NeedNames need = iota
	// NeedListing says that a listing is asked for again after changes made here.
	NeedListing
)

// Lookup finds a name; one that is missing is tried in the system's other form, if it has
// one.
func (t *Tree) Lookup(ctx context.Context, d *Dir, name string) (*Entry, error) {
	e, err := t.find(ctx, d, name)
	if other := names.OtherForm(name); other != name && errors.Is(err, syscall.ENOENT) {
		return t.find(ctx, d, other)
	}
	return e, err
}

// find finds a name, shown or plain. Folders are named before documents, so documents are
// asked for only when no folder has the name; both at once where that is to be expected.
func (t *Tree) find(ctx context.Context, d *Dir, name string) (*Entry, error) {
	if names.IsJunk(name) && d.listed() {
		// Desktops ask for such names all the time; what was listed last is good enough.
		if e := d.Get(name); e != nil {
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
	if e := d.Get(name); e != nil && e.Dir != nil {
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

// Load makes the whole directory known. Folders and documents are asked for at the same
// time, each at most once, and folders are named first.
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

// LoadFolders makes the sub-folders of a directory known, as fresh as n wants them.
func (t *Tree) LoadFolders(ctx context.Context, d *Dir, n need) error {
	if d.IsLocal() || d.KnowsFolders(n) {
		return nil
	}
	if d.Kind == InboxesDir || d.Kind == InboxDir {
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

// mergedOf is the listing e, which is not trusted when it only stands in for a service
// that is away.
func mergedOf[V any](e cache.Entry[V], when remote.Distrust) Merged {
	m := Merged{Serial: e.Serial, Fetched: e.Fetched, Known: true, asked: when}
	if e.Stale {
		m.Fetched = time.Time{}
	}
	return m
}

// LoadDocuments does so for its documents.
func (t *Tree) LoadDocuments(ctx context.Context, d *Dir, n need) error {
	if !t.WantsDocuments(d, n) {
		return nil
	}
	asked := d.asking()
	got, err := t.Service.ListDocuments(ctx, folderOf{d})
	return t.showDocuments(ctx, d, got, err, asked)
}

// WantsDocuments reports whether n takes a look at the documents.
func (t *Tree) WantsDocuments(d *Dir, n need) bool {
	return d.Kind.HoldsDocuments() && !d.IsLocal() && !d.KnowsDocuments(n)
}

// showDocuments shows what asking for the documents answered.
func (t *Tree) showDocuments(ctx context.Context, d *Dir, got cache.Entry[[]archive.Document], err error, when remote.Distrust) error {
	if err != nil {
		return t.gone(d, err)
	}
	if got.Stale {
		t.Reps.AsBefore()
	} else {
		t.Reps.Choose(ctx, got.Value)
		t.Staged.Identify(ctx, d, got.Value)
	}
	t.Changed(d, t.mergeDocuments(d, got.Value, mergedOf(got, when), t.Reps.Extension))
	d.noteOrigin(got.Value, got.Packed)
	return nil
}

// ListAfresh asks the service for the directory's documents, whatever is known.
func (t *Tree) ListAfresh(ctx context.Context, d *Dir) ([]archive.Document, error) {
	d.Distrust()
	return t.Service.ListAfresh(ctx, d.ID())
}

// folderOf is a directory whose documents are listed.
type folderOf struct{ d *Dir }

func (f folderOf) ID() archive.ID { return f.d.ID() }

func (f folderOf) Archives() bool { return f.d.Kind.Archives() }

func (f folderOf) Distrust() remote.Distrust { return f.d.asking() }

func (f folderOf) Relisted(ctx context.Context, got cache.Entry[[]archive.Document], when remote.Distrust) {
	_ = f.d.Tree.showDocuments(ctx, f.d, got, nil, when) // it has no error to tell
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

// gone handles an error of a listing: a folder that the service does not have any more is
// asked for again in its parent.
func (t *Tree) gone(d *Dir, err error) error {
	if archive.KindOf(err) == archive.KindNotFound {
		if parent, name := d.Place(); parent != nil {
			parent.Distrust()
			t.Changed(parent, []string{name})
		}
	}
	return err
}

// loadInboxes fills the directory from the one listing that tells all inboxes with all
// their folders.
func (t *Tree) loadInboxes(ctx context.Context, d *Dir) error {
	asked := d.asking()
	got, err := t.Service.ListInboxes(ctx)
	if err != nil {
		return err
	}
	var folders []archive.Folder
	if d.Kind == InboxesDir {
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

// FindInbox returns the folder of that id, which is an inbox or lies in one.
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

// Collect adds the wanted folders that are d or known below it to found.
func (t *Tree) Collect(d *Dir, wanted map[archive.ID]string, found map[archive.ID]*Dir) {
	if _, ok := wanted[d.ID()]; ok && d.Kind.HoldsDocuments() {
		found[d.ID()] = d
	}
	for _, below := range d.Subfolders() {
		t.Collect(below, wanted, found)
	}
}

// Follow goes down from d, which the folders lie in, to the wanted ones.
func (t *Tree) Follow(ctx context.Context, d *Dir, folders []archive.Folder, wanted map[archive.ID]string, found map[archive.ID]*Dir) error {
	for i := range folders {
		below := &folders[i]
		if !leadsTo(below, wanted) {
			continue
		}
		if err := t.LoadFolders(ctx, d, NeedNames); err != nil {
			return err
		}
		d.Mu.Lock()
		e := d.Shown.Folders.Get(below.ID)
		d.Mu.Unlock()
		if e == nil {
			continue // made or removed meanwhile
		}
		if _, ok := wanted[below.ID]; ok {
			found[below.ID] = e.Dir
		}
		if err := t.Follow(ctx, e.Dir, below.Children, wanted, found); err != nil {
			return err
		}
	}
	return nil
}

// mergeFolders takes in a listing of the sub-folders: what is new gets a name, by
// ascending id; what is known keeps its name; what is gone is taken out. It returns the
// names that a kernel may remember wrongly.
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
	d.Free = free
	changed := d.Shown.Changed // to list for the first time is no change
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
			e.Dir.MoveTo(d, e.Name)
		} else {
			name := names.OfFolder(*f, d.Shown.Taken)
			e = &Entry{Name: name, Dir: NewDir(t, d.Kind.Below(), f.ID, t.Inodes.Folder(f.ID), d, name)}
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

// dropGoneLocked takes out what a listing does not have there any more, before what is
// new looks for a name, and returns its names.
// +checklocks:d.Mu
func (t *Tree) dropGoneLocked(d *Dir, known *idIndex, there map[archive.ID]bool) (stale []string) {
	now := InstantOf(t.Service.Now())
	for i := len(known.List) - 1; i >= 0; i-- { // from the end, where dropping is cheap
		e := known.List[i].Entry
		if !there[known.List[i].ID] && now > e.Keep && !e.Busy() {
			stale = append(stale, e.Name)
			d.Shown.Drop(e)
		}
	}
	return stale
}

// reserveLocked makes room for what is listed for the first time.
// +checklocks:d.Mu
func (t *Tree) reserveLocked(d *Dir, ids *idIndex, n int) {
	ids.reserve(n)
	d.Shown.Here().Names.reserve(n)
}

// mergeDocuments does for documents what mergeFolders does for folders. ext says which
// extension a document without one gets.
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
	changed := d.Shown.Changed // to list for the first time is no change
	there := make(map[archive.ID]bool, len(list))
	for i := range list {
		there[list[i].ID] = true
	}
	stale = append(t.dropGoneLocked(d, &d.Shown.Here().Docs, there), t.Staged.ShowListedLocked(d, order)...)
	if !d.Files.Known {
		t.reserveLocked(d, &d.Shown.Here().Docs, len(list))
	}
	for i, doc := range order {
		if i > 0 && order[i-1].ID == doc.ID {
			continue // listed twice
		}
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

// mergeDocumentLocked takes in one document and returns the names that changed.
// +checklocks:d.Mu
func (t *Tree) mergeDocumentLocked(d *Dir, doc *archive.Document, ext func(*archive.Document) string) (stale []string) {
	e := d.Shown.Document(doc.ID)
	if e == nil && t.arrivingLocked(d, doc.Name) {
		return nil // it may be the one; the end of the upload tells, and asks for a listing
	}
	if e == nil {
		e = NewEntry(names.OfDocument(doc, ext(doc), d.Shown.Taken), doc, nil)
		e.ServiceName = doc.Name
		d.Shown.Add(e)
		return e.namesLocked()
	}
	e.SetDocument(doc)
	d.Shown.index(e)
	t.Staged.RefillLocked(d, e)
	if d.Shown.hides(e) {
		return []string{d.Shown.Unhide(e).Name}
	}
	if e.ServiceName == doc.Name || e.ServiceName == "" {
		e.ServiceName = doc.Name
		return nil
	}
	// Renamed at the service.
	old := e.Name
	d.Shown.Drop(e)
	e = e.Renamed(names.OfDocument(doc, ext(doc), d.Shown.Taken))
	e.ServiceName = doc.Name
	d.Shown.Add(e)
	return append(e.namesLocked(), old)
}

// arrivingLocked reports whether a file is being archived under the name at this moment.
// +checklocks:d.Mu
func (t *Tree) arrivingLocked(d *Dir, name string) bool {
	e := d.Shown.Get(name)
	if e == nil || e.Doc.Load() != nil || !e.Busy() {
		return false
	}
	s := e.File.Load().Pending().State()
	return s == spool.Sending || s == spool.Confirmed
}

// Grace is how long what was changed here counts more than what a listing says.
func (t *Tree) Grace() time.Duration { return max(t.Service.TTL, time.Minute) }

// KeepFor is until when what was just made here stays listed although a listing lacks it.
func (t *Tree) KeepFor() instant { return InstantOf(t.Service.Now().Add(t.Grace())) }

// DoubtAll doubts the directory and all that is known below it.
func (t *Tree) DoubtAll(d *Dir) {
	d.doubt()
	for _, below := range d.Subfolders() {
		t.DoubtAll(below)
	}
}

// Baseline lists what the directory holds before something is sent there. What is known
// within the ttl will do, with what was put in here since. A mount that shows only a part of
// the directory does not know.
func (t *Tree) Baseline(d *Dir) spool.Baseline {
	return func(ctx context.Context) ([]*archive.Document, error) {
		if !t.Service.List.CreatedAfter.IsZero() {
			return nil, nil
		}
		if err := t.LoadDocuments(ctx, d, NeedNames); err != nil {
			return nil, err
		}
		d.Mu.Lock()
		defer d.Mu.Unlock()
		docs := make([]*archive.Document, 0, len(d.Shown.Documents()))
		for _, e := range d.Shown.Documents() {
			docs = append(docs, e.Entry.Doc.Load())
		}
		return docs, nil
	}
}

// Known returns the directory of a folder that is d or lies below it.
func (t *Tree) Known(d *Dir, id archive.ID) *Dir {
	if d.Kind.HoldsDocuments() && d.ID() == id {
		return d
	}
	for _, below := range d.Subfolders() {
		if found := t.Known(below, id); found != nil {
			return found
		}
	}
	return nil
}

// leadsTo reports whether a folder, or one below it, is wanted.
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

// LooksLikeDocument reports whether a name is rather one of a document than of a folder.
func LooksLikeDocument(name string) bool { return names.Ext(name) != "" }
