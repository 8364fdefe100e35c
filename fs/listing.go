package fs

import (
	"context"
	"errors"
	"syscall"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/cache"
	"github.com/archivefs/archivefs/fs/internal/names"
	"github.com/archivefs/archivefs/fs/internal/remote"
)

// need says how fresh a directory has to be for what is asked.
type need uint8

const (
	// needNames: what was listed within the ttl and changed here since then is enough.
	needNames need = iota
	// needListing: a listing is asked for again after changes made here.
	needListing
)

// lister fills directories with what the service lists, and finds names in them.
type lister struct{ fs *FileSystem }

// lookup finds a name; one that is missing is tried in the system's other form, if it has
// one.
func (l *lister) lookup(ctx context.Context, d *dir, name string) (*entry, error) {
	e, err := l.find(ctx, d, name)
	if other := names.OtherForm(name); other != name && errors.Is(err, syscall.ENOENT) {
		return l.find(ctx, d, other)
	}
	return e, err
}

// find finds a name, shown or plain. Folders are named before documents, so documents are
// asked for only when no folder has the name; both at once where that is to be expected.
func (l *lister) find(ctx context.Context, d *dir, name string) (*entry, error) {
	if names.IsJunk(name) && d.listed() {
		// Desktops ask for such names all the time; what was listed last is good enough.
		if e := d.get(name); e != nil {
			return e, nil
		}
		return nil, syscall.ENOENT
	}
	var docsErr error
	if looksLikeDocument(name) && !d.enough(&d.subs, needNames) {
		docsErr = l.load(ctx, d, needNames)
	}
	if err := l.loadFolders(ctx, d, needNames); err != nil {
		return nil, err
	}
	if e := d.get(name); e != nil && e.dir != nil {
		return e, nil
	}
	if docsErr != nil {
		return nil, docsErr
	}
	if err := l.loadDocuments(ctx, d, needNames); err != nil {
		return nil, err
	}
	if e := d.reach(name); e != nil {
		return e, nil
	}
	return nil, syscall.ENOENT
}

// load makes the whole directory known. Folders and documents are asked for at the same
// time, each at most once, and folders are named first.
func (l *lister) load(ctx context.Context, d *dir, n need) error {
	if !l.wantsDocuments(d, n) {
		return l.loadFolders(ctx, d, n)
	}
	var docs cache.Entry[[]archive.Document]
	var docsErr error
	asked := d.asking()
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		docs, docsErr = l.fs.service.ListDocuments(ctx, folderOf{d})
	}()
	err := l.loadFolders(ctx, d, n)
	<-answered
	if err != nil {
		return err
	}
	return l.showDocuments(ctx, d, docs, docsErr, asked)
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
	return (n == needNames || unchanged) && m.known && d.fs.now().Sub(m.fetched) < d.fs.opts.TTL
}

// validFor is how long what the directory shows may be trusted without asking again.
func (k *kernel) validFor(d *dir) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	return k.validForLocked(d)
}

// validForLocked is validFor for who holds mu.
func (k *kernel) validForLocked(d *dir) time.Duration {
	oldest := d.subs.fetched
	if d.kind.holdsDocuments() && d.files.fetched.Before(oldest) {
		oldest = d.files.fetched
	}
	return k.trustedForLocked(d, oldest)
}

// foldersValidFor is validFor of the sub-folders, whose names rest on their listing alone:
// nobody lists the documents of the folders of a path that is looked up.
func (k *kernel) foldersValidFor(d *dir) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	return k.foldersValidForLocked(d)
}

// foldersValidForLocked is foldersValidFor for who holds mu.
func (k *kernel) foldersValidForLocked(d *dir) time.Duration {
	return k.trustedForLocked(d, d.subs.fetched)
}

// trustedForLocked is how long the kernel may trust a listing of that age. The caller holds
// mu.
func (k *kernel) trustedForLocked(d *dir, oldest time.Time) time.Duration {
	longest := min(k.fs.opts.TTL, kernelTrust)
	switch {
	case d.kind == localDir:
		return longest
	case d.isLocal():
		return 0 // until the folder is made
	}
	return max(0, min(longest, k.fs.opts.TTL-k.fs.now().Sub(oldest)))
}

func (l *lister) loadFolders(ctx context.Context, d *dir, n need) error {
	if d.isLocal() || d.enough(&d.subs, n) {
		return nil
	}
	if d.kind == inboxesDir || d.kind == inboxDir {
		return l.loadInboxes(ctx, d)
	}
	asked := d.asking()
	got, err := l.fs.service.ListChildren(ctx, d.id())
	if err != nil {
		return l.fs.gone(d, err)
	}
	l.fs.kernel.forgetNames(d, l.mergeFolders(d, got.Value.Folders, mergedOf(got, asked), got.Value.Free))
	return nil
}

// asking is taken before a listing is asked for.
func (d *dir) asking() remote.Distrust {
	d.mu.Lock()
	defer d.mu.Unlock()
	return remote.Distrust{Doubts: d.doubts, Changes: d.changes.Load()}
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

func (l *lister) loadDocuments(ctx context.Context, d *dir, n need) error {
	if !l.wantsDocuments(d, n) {
		return nil
	}
	asked := d.asking()
	got, err := l.fs.service.ListDocuments(ctx, folderOf{d})
	return l.showDocuments(ctx, d, got, err, asked)
}

// wantsDocuments reports whether n takes a look at the documents.
func (l *lister) wantsDocuments(d *dir, n need) bool {
	return d.kind.holdsDocuments() && !d.isLocal() && !d.enough(&d.files, n)
}

// showDocuments shows what asking for the documents answered.
func (l *lister) showDocuments(ctx context.Context, d *dir, got cache.Entry[[]archive.Document], err error, when remote.Distrust) error {
	if err != nil {
		return l.fs.gone(d, err)
	}
	if got.Stale {
		l.fs.reps.AsBefore()
	} else {
		l.fs.reps.Choose(ctx, got.Value)
		l.fs.placing.identify(ctx, d, got.Value)
	}
	l.fs.kernel.forgetNames(d, l.mergeDocuments(d, got.Value, mergedOf(got, when), l.fs.reps.Extension)) //nolint:contextcheck // what begins here outlives the listing
	d.foldsTo(got.Value, got.Packed)
	return nil
}

// listAfresh asks the service for the directory's documents, whatever is known.
func (l *lister) listAfresh(ctx context.Context, d *dir) ([]archive.Document, error) {
	d.distrust()
	return l.fs.service.ListAfresh(ctx, d.id())
}

// folderOf is a directory whose documents are listed.
type folderOf struct{ d *dir }

func (f folderOf) ID() archive.ID            { return f.d.id() }
func (f folderOf) Archives() bool            { return f.d.kind.archives() }
func (f folderOf) Distrust() remote.Distrust { return f.d.asking() }

func (f folderOf) Relisted(ctx context.Context, got cache.Entry[[]archive.Document], when remote.Distrust) {
	_ = f.d.fs.lister.showDocuments(ctx, f.d, got, nil, when) // it has no error to tell
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

// outdate makes the next listing of the directory ask the service again. What changed here
// is in the names already.
func (d *dir) outdate() {
	d.changes.Add(1)
	d.fs.service.Outdate(d.id())
	if d.kind == inboxDir || d.kind == inboxesDir {
		d.fs.service.OutdateInboxes()
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

// gone handles an error of a listing: a folder that the service does not have any more is
// asked for again in its parent.
func (f *FileSystem) gone(d *dir, err error) error {
	if archive.KindOf(err) == archive.KindNotFound {
		if parent, name := d.place(); parent != nil {
			parent.distrust()
			f.kernel.forgetNames(parent, []string{name})
		}
	}
	return err
}
