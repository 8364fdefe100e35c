package fs

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

// merged says which listing a directory has taken in.
type merged struct {
	serial  uint64
	fetched time.Time // zero: none that may be trusted
	known   bool
	// asked is what the directory was when the listing was asked for.
	asked remote.Distrust
}

// treeConfig configures an archiveTree. The functions return at once, and may be called with any lock
// held.
type treeConfig struct {
	service *remote.Service
	// reps says in which representation documents are read.
	reps *view.Representations
	// lengths asks for those that no listing tells.
	lengths *view.Lengths
	// started is when the mount began.
	started time.Time
	// staged is what waits on this machine to be shown.
	staged staged
	// changed tells the kernel that names of a directory changed.
	changed func(d *dir, names []string)
	// expanded counts documents that are expanded from the compacted form of a directory.
	expanded func(documents int)
	// newLeaf makes the file of a document's entry.
	newLeaf func(ino uint64, d *dir, e *entry, doc *archive.Document) *leaf
}

// archiveTree is the tree of mandators, folders, inboxes and documents: it fills directories with what
// the service lists, and finds names in them. It is safe for concurrent use.
type archiveTree struct {
	treeConfig
	inodes inode.Numbers
	root   *dir
}

// newArchiveTree makes a tree of which nothing is listed yet.
func newArchiveTree(c treeConfig) *archiveTree {
	t := &archiveTree{treeConfig: c}
	t.root = newDir(t, rootDir, 0, inode.Root, nil, "")
	inboxes := newDir(t, inboxesDir, 0, inode.Inboxes, t.root, inboxesName)
	t.root.shown.here().names.put(&entry{name: inboxesName, dir: inboxes})
	return t
}

// staged is what waits on this machine, as the tree sees it. All but identify are called with mu of
// the directory held.
type staged interface {
	// identify finds out which of the listed documents are files that stayed unlisted.
	identify(ctx context.Context, d *dir, list []archive.Document)
	// placeWaitingLocked shows what waits for a folder that is listed for the first time.
	placeWaitingLocked(d *dir)
	// refillLocked makes the entry of a document that was emptied long ago what the service has.
	refillLocked(d *dir, e *entry)
	// showListedLocked makes room for listed documents that may be files which stayed unlisted, and
	// returns the names of those.
	showListedLocked(d *dir, list []*archive.Document) (stale []string)
}

// need says how fresh a directory has to be for what is asked.
type need uint8

const (
	// needNames: what was listed within the ttl and changed here since then is enough.
	needNames need = iota
	// needListing: a listing is asked for again after changes made here.
	needListing
)

// lookup finds a name; one that is missing is tried in the system's other form, if it has
// one.
func (t *archiveTree) lookup(ctx context.Context, d *dir, name string) (*entry, error) {
	e, err := t.find(ctx, d, name)
	if other := names.OtherForm(name); other != name && errors.Is(err, syscall.ENOENT) {
		return t.find(ctx, d, other)
	}
	return e, err
}

// find finds a name, shown or plain. Folders are named before documents, so documents are
// asked for only when no folder has the name; both at once where that is to be expected.
func (t *archiveTree) find(ctx context.Context, d *dir, name string) (*entry, error) {
	if names.IsJunk(name) && d.listed() {
		// Desktops ask for such names all the time; what was listed last is good enough.
		if e := d.get(name); e != nil {
			return e, nil
		}
		return nil, syscall.ENOENT
	}
	var docsErr error
	if looksLikeDocument(name) && !d.enough(&d.subs, needNames) {
		docsErr = t.load(ctx, d, needNames)
	}
	if err := t.loadFolders(ctx, d, needNames); err != nil {
		return nil, err
	}
	if e := d.get(name); e != nil && e.dir != nil {
		return e, nil
	}
	if docsErr != nil {
		return nil, docsErr
	}
	if err := t.loadDocuments(ctx, d, needNames); err != nil {
		return nil, err
	}
	if e := d.reach(name); e != nil {
		return e, nil
	}
	return nil, syscall.ENOENT
}

// load makes the whole directory known. Folders and documents are asked for at the same
// time, each at most once, and folders are named first.
func (t *archiveTree) load(ctx context.Context, d *dir, n need) error {
	if !t.wantsDocuments(d, n) {
		return t.loadFolders(ctx, d, n)
	}
	var docs cache.Entry[[]archive.Document]
	var docsErr error
	asked := d.asking()
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		docs, docsErr = t.service.ListDocuments(ctx, folderOf{d})
	}()
	err := t.loadFolders(ctx, d, n)
	<-answered
	if err != nil {
		return err
	}
	return t.showDocuments(ctx, d, docs, docsErr, asked)
}

func (t *archiveTree) loadFolders(ctx context.Context, d *dir, n need) error {
	if d.isLocal() || d.enough(&d.subs, n) {
		return nil
	}
	if d.kind == inboxesDir || d.kind == inboxDir {
		return t.loadInboxes(ctx, d)
	}
	asked := d.asking()
	got, err := t.service.ListChildren(ctx, d.ID())
	if err != nil {
		return t.gone(d, err)
	}
	t.changed(d, t.mergeFolders(d, got.Value.Folders, mergedOf(got, asked), got.Value.Free))
	return nil
}

// mergedOf is the listing e, which is not trusted when it only stands in for a service
// that is away.
func mergedOf[V any](e cache.Entry[V], when remote.Distrust) merged {
	m := merged{serial: e.Serial, fetched: e.Fetched, known: true, asked: when}
	if e.Stale {
		m.fetched = time.Time{}
	}
	return m
}

func (t *archiveTree) loadDocuments(ctx context.Context, d *dir, n need) error {
	if !t.wantsDocuments(d, n) {
		return nil
	}
	asked := d.asking()
	got, err := t.service.ListDocuments(ctx, folderOf{d})
	return t.showDocuments(ctx, d, got, err, asked)
}

// wantsDocuments reports whether n takes a look at the documents.
func (t *archiveTree) wantsDocuments(d *dir, n need) bool {
	return d.kind.holdsDocuments() && !d.isLocal() && !d.enough(&d.files, n)
}

// showDocuments shows what asking for the documents answered.
func (t *archiveTree) showDocuments(ctx context.Context, d *dir, got cache.Entry[[]archive.Document], err error, when remote.Distrust) error {
	if err != nil {
		return t.gone(d, err)
	}
	if got.Stale {
		t.reps.AsBefore()
	} else {
		t.reps.Choose(ctx, got.Value)
		t.staged.identify(ctx, d, got.Value)
	}
	t.changed(d, t.mergeDocuments(d, got.Value, mergedOf(got, when), t.reps.Extension)) //nolint:contextcheck // what begins here outlives the listing
	d.foldsTo(got.Value, got.Packed)
	return nil
}

// listAfresh asks the service for the directory's documents, whatever is known.
func (t *archiveTree) listAfresh(ctx context.Context, d *dir) ([]archive.Document, error) {
	d.distrust()
	return t.service.ListAfresh(ctx, d.ID())
}

// folderOf is a directory whose documents are listed.
type folderOf struct{ d *dir }

func (f folderOf) ID() archive.ID { return f.d.ID() }

func (f folderOf) Archives() bool { return f.d.kind.archives() }

func (f folderOf) Distrust() remote.Distrust { return f.d.asking() }

func (f folderOf) Relisted(ctx context.Context, got cache.Entry[[]archive.Document], when remote.Distrust) {
	_ = f.d.tree.showDocuments(ctx, f.d, got, nil, when) // it has no error to tell
}

// findDocument returns the document of that id in a listing, nil when there is none.
func findDocument(docs []archive.Document, id archive.ID) *archive.Document {
	for i := range docs {
		if docs[i].ID == id {
			return &docs[i]
		}
	}
	return nil
}

// gone handles an error of a listing: a folder that the service does not have any more is
// asked for again in its parent.
func (t *archiveTree) gone(d *dir, err error) error {
	if archive.KindOf(err) == archive.KindNotFound {
		if parent, name := d.place(); parent != nil {
			parent.distrust()
			t.changed(parent, []string{name})
		}
	}
	return err
}

// loadInboxes fills the directory from the one listing that tells all inboxes with all
// their folders.
func (t *archiveTree) loadInboxes(ctx context.Context, d *dir) error {
	asked := d.asking()
	got, err := t.service.ListInboxes(ctx)
	if err != nil {
		return err
	}
	var folders []archive.Folder
	if d.kind == inboxesDir {
		for _, box := range got.Value.Inboxes {
			folders = append(folders, box.Folder)
		}
	} else {
		f, ok := findInbox(got.Value.Inboxes, d.ID())
		if !ok {
			return syscall.ENOENT
		}
		folders = f.Children
	}
	t.changed(d, t.mergeFolders(d, folders, mergedOf(got, asked), got.Value.Free))
	return nil
}

func findInbox(boxes []archive.Inbox, id archive.ID) (archive.Folder, bool) {
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

// collect adds the wanted folders that are d or known below it to found.
func (t *archiveTree) collect(d *dir, wanted map[archive.ID]string, found map[archive.ID]*dir) {
	if _, ok := wanted[d.ID()]; ok && d.kind.holdsDocuments() {
		found[d.ID()] = d
	}
	for _, below := range d.subfolders() {
		t.collect(below, wanted, found)
	}
}

// follow goes down from d, which the folders lie in, to the wanted ones.
func (t *archiveTree) follow(ctx context.Context, d *dir, folders []archive.Folder, wanted map[archive.ID]string, found map[archive.ID]*dir) error {
	for i := range folders {
		below := &folders[i]
		if !leadsTo(below, wanted) {
			continue
		}
		if err := t.loadFolders(ctx, d, needNames); err != nil {
			return err
		}
		d.mu.Lock()
		e := d.shown.folders.get(below.ID)
		d.mu.Unlock()
		if e == nil {
			continue // made or removed meanwhile
		}
		if _, ok := wanted[below.ID]; ok {
			found[below.ID] = e.dir
		}
		if err := t.follow(ctx, e.dir, below.Children, wanted, found); err != nil {
			return err
		}
	}
	return nil
}

// mergeFolders takes in a listing of the sub-folders: what is new gets a name, by
// ascending id; what is known keeps its name; what is gone is taken out. It returns the
// names that a kernel may remember wrongly.
func (t *archiveTree) mergeFolders(d *dir, list []archive.Folder, m merged, free bool) (stale []string) {
	list = append([]archive.Folder(nil), list...)
	sort.Slice(list, func(i, j int) bool { return list[i].ID < list[j].ID })
	d.mu.Lock()
	defer d.mu.Unlock()
	m = d.trustedLocked(m)
	if d.subs.known && m.serial <= d.subs.serial {
		d.subs.fetched, d.subs.asked = m.fetched, m.asked
		return nil
	}
	d.free = free
	changed := d.shown.changed // to list for the first time is no change
	there := make(map[archive.ID]bool, len(list))
	for i := range list {
		there[list[i].ID] = true
	}
	stale = t.dropGoneLocked(d, &d.shown.folders, there)
	if !d.subs.known {
		t.reserveLocked(d, &d.shown.folders, len(list))
	}
	for i := range list {
		f := &list[i]
		e := d.shown.folders.get(f.ID)
		if e != nil && (e.told == f.Name || e.told == "") {
			e.told = f.Name
			continue
		}
		if e != nil { // renamed at the service
			stale = append(stale, e.name)
			d.shown.drop(e)
			e = e.renamed(names.OfFolder(*f, d.shown.taken))
			e.dir.moveTo(d, e.name)
		} else {
			name := names.OfFolder(*f, d.shown.taken)
			e = &entry{name: name, dir: newDir(t, d.kind.below(), f.ID, t.inodes.Folder(f.ID), d, name)}
		}
		e.told = f.Name
		d.shown.add(e)
		if d.subs.known {
			stale = append(stale, e.name)
		}
	}
	if !d.subs.known {
		d.shown.changed = changed
	}
	d.subs = m
	return stale
}

// dropGoneLocked takes out what a listing does not have there any more, before what is
// new looks for a name, and returns its names. The caller holds mu.
func (t *archiveTree) dropGoneLocked(d *dir, known *idIndex, there map[archive.ID]bool) (stale []string) {
	now := instantOf(t.service.Now())
	for i := len(known.list) - 1; i >= 0; i-- { // from the end, where dropping is cheap
		e := known.list[i].entry
		if !there[known.list[i].id] && now > e.keep && !e.busy() {
			stale = append(stale, e.name)
			d.shown.drop(e)
		}
	}
	return stale
}

// reserveLocked makes room for what is listed for the first time. The caller holds mu.
func (t *archiveTree) reserveLocked(d *dir, ids *idIndex, n int) {
	ids.reserve(n)
	d.shown.here().names.reserve(n)
}

// mergeDocuments does for documents what mergeFolders does for folders. ext says which
// extension a document without one gets.
func (t *archiveTree) mergeDocuments(d *dir, list []archive.Document, m merged, ext func(*archive.Document) string) (stale []string) {
	order := make([]*archive.Document, len(list))
	for i := range list {
		order[i] = &list[i]
	}
	sort.Slice(order, func(i, j int) bool { return order[i].ID < order[j].ID })
	d.mu.Lock()
	defer d.mu.Unlock()
	m = d.trustedLocked(m)
	if d.files.known && m.serial <= d.files.serial {
		d.files.fetched, d.files.asked = m.fetched, m.asked
		return nil
	}
	changed := d.shown.changed // to list for the first time is no change
	there := make(map[archive.ID]bool, len(list))
	for i := range list {
		there[list[i].ID] = true
	}
	stale = append(t.dropGoneLocked(d, &d.shown.here().docs, there), t.staged.showListedLocked(d, order)...)
	if !d.files.known {
		t.reserveLocked(d, &d.shown.here().docs, len(list))
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
	if !d.files.known {
		d.files, d.shown.changed = m, changed
		t.staged.placeWaitingLocked(d)
		return nil
	}
	d.files = m
	return stale
}

// mergeDocumentLocked takes in one document and returns the names that changed. The
// caller holds mu.
func (t *archiveTree) mergeDocumentLocked(d *dir, doc *archive.Document, ext func(*archive.Document) string) (stale []string) {
	e := d.shown.document(doc.ID)
	if e == nil && t.arrivingLocked(d, doc.Name) {
		return nil // it may be the one; the end of the upload tells, and asks for a listing
	}
	if e == nil {
		e = newEntry(names.OfDocument(doc, ext(doc), d.shown.taken), doc, nil)
		e.told = doc.Name
		d.shown.add(e)
		return e.namesLocked()
	}
	e.setDocument(doc)
	d.shown.index(e)
	t.staged.refillLocked(d, e)
	if d.shown.hides(e) {
		return []string{d.shown.unhide(e).name}
	}
	if e.told == doc.Name || e.told == "" {
		e.told = doc.Name
		return nil
	}
	// Renamed at the service.
	old := e.name
	d.shown.drop(e)
	e = e.renamed(names.OfDocument(doc, ext(doc), d.shown.taken))
	e.told = doc.Name
	d.shown.add(e)
	return append(e.namesLocked(), old)
}

// arrivingLocked reports whether a file is being archived under the name at this moment.
// The caller holds mu.
func (t *archiveTree) arrivingLocked(d *dir, name string) bool {
	e := d.shown.get(name)
	if e == nil || e.doc.Load() != nil || !e.busy() {
		return false
	}
	s := e.file.Load().pending().State()
	return s == spool.Sending || s == spool.Confirmed
}

// grace is how long what was changed here counts more than what a listing says.
func (t *archiveTree) grace() time.Duration { return max(t.service.TTL, time.Minute) }

// keepFor is until when what was just made here stays listed although a listing lacks it.
func (t *archiveTree) keepFor() instant { return instantOf(t.service.Now().Add(t.grace())) }

// doubtAll doubts the directory and all that is known below it.
func (t *archiveTree) doubtAll(d *dir) {
	d.doubt()
	for _, below := range d.subfolders() {
		t.doubtAll(below)
	}
}

// baseline lists what the directory holds before something is sent there. What is known
// within the ttl will do, with what was put in here since. A mount that shows only a part of
// the directory does not know.
func (t *archiveTree) baseline(d *dir) spool.Baseline {
	return func(ctx context.Context) ([]*archive.Document, error) {
		if !t.service.List.CreatedAfter.IsZero() {
			return nil, nil
		}
		if err := t.loadDocuments(ctx, d, needNames); err != nil {
			return nil, err
		}
		d.mu.Lock()
		defer d.mu.Unlock()
		docs := make([]*archive.Document, 0, len(d.shown.documents()))
		for _, e := range d.shown.documents() {
			docs = append(docs, e.entry.doc.Load())
		}
		return docs, nil
	}
}

// known returns the directory of a folder that is d or lies below it.
func (t *archiveTree) known(d *dir, id archive.ID) *dir {
	if d.kind.holdsDocuments() && d.ID() == id {
		return d
	}
	for _, below := range d.subfolders() {
		if found := t.known(below, id); found != nil {
			return found
		}
	}
	return nil
}
