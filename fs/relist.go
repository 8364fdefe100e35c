package fs

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/archivefs/archivefs/archive"
)

// A large list of documents takes long, and when it is asked for again nearly all of it is
// what it was. So of a large folder those documents are asked for that are new since it was
// listed whole (specification, endpoint 2: filter-date-created-after), and whoever looks is
// shown them with what is known. That misses what was deleted, renamed, or archived out of an
// inbox under an older date. So when the whole list is older than the ttl it is asked for as
// well, in the background: what it says is shown as soon as it is there.

const (
	// largeList is from how many documents on only the new ones are waited for.
	largeList = 1000
	// dateSlack is how much older than the last whole list a new document may be dated: the
	// filter knows days, without a zone.
	dateSlack = 48 * time.Hour
	// wholeLimit bounds a whole list in the background.
	wholeLimit = 30 * time.Second
)

// wholeLists knows which folders are large.
type wholeLists struct {
	mu      sync.Mutex
	folders map[archive.ID]*wholeList // guarded by mu
	// off says that the service does not filter by date. Guarded by mu.
	off bool
}

// wholeList is a large list as it was last asked for whole. Guarded by mu of wholeLists.
type wholeList struct {
	begun  time.Time
	doubts uint64 // of the directory then
	asked  bool   // for again, in the background
}

// note notes a whole list of n documents, that was asked for at begun.
func (w *wholeLists) note(id archive.ID, n int, begun time.Time, doubts uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if n < largeList {
		delete(w.folders, id)
		return
	}
	if w.folders == nil {
		w.folders = map[archive.ID]*wholeList{}
	}
	w.folders[id] = &wholeList{begun: begun, doubts: doubts}
}

// of returns when a large folder was listed whole, if nobody has doubted it since and the
// service filters.
func (w *wholeLists) of(id archive.ID, doubts uint64) (begun time.Time, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	l := w.folders[id]
	if l == nil || w.off || l.doubts != doubts {
		return time.Time{}, false
	}
	return l.begun, true
}

// ask reports whether the caller is to ask for the whole list, which nobody else does.
func (w *wholeLists) ask(id archive.ID) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	l := w.folders[id]
	if l == nil || l.asked {
		return false
	}
	l.asked = true
	return true
}

// failed lets the whole list be asked for again.
func (w *wholeLists) failed(id archive.ID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if l := w.folders[id]; l != nil {
		l.asked = false
	}
}

func (w *wholeLists) unfiltered() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.off = true
}

// list asks the service for the documents of the directory: of a large one for the new ones
// where that will do.
func (d *dir) list(ctx context.Context) ([]archive.Document, error) {
	if docs, ok := d.listNew(ctx); ok {
		return docs, nil
	}
	return d.listWhole(ctx)
}

func (d *dir) listWhole(ctx context.Context) ([]archive.Document, error) {
	begun, doubts := d.fs.now(), d.asking().doubts
	docs, err := d.fs.archive.Documents(ctx, d.id(), d.fs.opts.List)
	if err = d.fs.answered(err); err == nil && d.kind.archives() && d.fs.opts.List.CreatedAfter.IsZero() {
		d.fs.whole.note(d.id(), len(docs), begun, doubts)
	}
	return docs, err
}

// listNew is the known list with the documents that are new; false where only the whole list
// says what is in the folder.
func (d *dir) listNew(ctx context.Context) ([]archive.Document, bool) {
	f, id := d.fs, d.id()
	begun, ok := f.whole.of(id, d.asking().doubts)
	if !ok {
		return nil, false
	}
	known, ok := f.documents.Peek(id)
	if !ok || len(known.Value) < largeList {
		return nil, false
	}
	since := earlier(newest(known.Value), begun).Add(-dateSlack)
	options := f.opts.List
	options.CreatedAfter = since
	added, err := f.archive.Documents(ctx, id, options)
	if f.answered(err) != nil {
		return nil, false // which the whole list tells better
	}
	if slices.ContainsFunc(added, func(doc archive.Document) bool { return doc.Created.Before(since.Add(-dateSlack)) }) {
		f.whole.unfiltered()
		return nil, false
	}
	if f.now().Sub(begun) >= f.opts.TTL && f.whole.ask(id) {
		f.work.Go(func() { d.relist(detached(ctx)) })
	}
	return union(known.Value, added), true
}

// relist shows what the whole list says. When the directory has changed here meanwhile the
// next who looks asks anew.
func (d *dir) relist(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, wholeLimit)
	defer cancel()
	when := d.asking()
	docs, err := d.listWhole(ctx)
	if err != nil || d.asking() != when {
		d.fs.whole.failed(d.id())
		return
	}
	_ = d.showDocuments(ctx, d.fs.documents.Put(d.id(), docs), nil, when) // it has no error to tell
}

// newest is the latest date of creation.
func newest(docs []archive.Document) (latest time.Time) {
	for i := range docs {
		if docs[i].Created.After(latest) {
			latest = docs[i].Created
		}
	}
	return latest
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// union is known with what added has in its place or beyond, by ascending id as both are.
func union(known, added []archive.Document) []archive.Document {
	all := make([]archive.Document, 0, len(known)+len(added))
	for len(known) > 0 && len(added) > 0 {
		switch {
		case known[0].ID < added[0].ID:
			all, known = append(all, known[0]), known[1:]
		case known[0].ID == added[0].ID:
			known = known[1:]
		default:
			all, added = append(all, added[0]), added[1:]
		}
	}
	return append(append(all, known...), added...)
}
