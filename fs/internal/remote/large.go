package remote

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/cache"
)

// A large list of documents takes long, and when it is asked for again nearly all of it is what it
// was. So only those documents of a large folder are asked for that are new since it was listed
// whole (specification, endpoint 2: filter-date-created-after), and whoever looks is shown them
// with what is known. That misses what was deleted, renamed, or archived out of an inbox under an
// older date. So when the whole list is older than the ttl, it is fetched in the background as
// well, and shown as soon as it is there.

const (
	// largeList is from how many documents on only the new ones are waited for.
	largeList = 1000
	// dateSlack is how much older than the last whole list a new document may be dated: the
	// filter knows days, without a zone.
	dateSlack = 48 * time.Hour
	// wholeLimit bounds a whole list in the background.
	wholeLimit = 30 * time.Second
)

// Distrust counts the reasons not to trust a listing that was asked for before.
type Distrust struct {
	Doubts  uint64 // the directory turned out to differ from the service
	Changes uint64 // it was changed here
}

// Folder is a directory of which the documents are listed.
type Folder interface {
	ID() archive.ID
	// Archives reports whether its documents are archived.
	Archives() bool
	Distrust() Distrust
	// Relisted shows a whole list that was asked for in the background at when.
	Relisted(ctx context.Context, got cache.Entry[[]archive.Document], when Distrust)
}

// largeLists knows which folders are large.
type largeLists struct {
	mu      sync.Mutex
	folders map[archive.ID]*wholeList // +checklocks:mu
	// off says that the service does not filter by date.
	off bool // +checklocks:mu
}

// wholeList is a large list as it was last asked for whole. Guarded by mu of largeLists.
type wholeList struct {
	begun  time.Time
	doubts uint64 // of the folder then
	asked  bool   // for again, in the background
}

// note notes a whole list of n documents, that was asked for at begun.
func (w *largeLists) note(id archive.ID, n int, begun time.Time, doubts uint64) {
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
func (w *largeLists) of(id archive.ID, doubts uint64) (begun time.Time, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	l := w.folders[id]
	if l == nil || w.off || l.doubts != doubts {
		return time.Time{}, false
	}
	return l.begun, true
}

// ask reports whether the caller is to ask for the whole list, which nobody else does.
func (w *largeLists) ask(id archive.ID) bool {
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
func (w *largeLists) failed(id archive.ID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if l := w.folders[id]; l != nil {
		l.asked = false
	}
}

func (w *largeLists) unfiltered() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.off = true
}

// listWhole asks for all documents of the folder.
func (s *Service) listWhole(ctx context.Context, of Folder) ([]archive.Document, error) {
	begun, doubts := s.Now(), of.Distrust().Doubts
	docs, err := s.Archive.Documents(ctx, of.ID(), s.List)
	if err = s.Answered(err); err == nil && of.Archives() && s.List.CreatedAfter.IsZero() {
		s.large.note(of.ID(), len(docs), begun, doubts)
	}
	return docs, err
}

// listNew is the known list with the documents that are new; false where only the whole list
// says what is in the folder.
func (s *Service) listNew(ctx context.Context, of Folder) ([]archive.Document, bool) {
	id := of.ID()
	begun, ok := s.large.of(id, of.Distrust().Doubts)
	if !ok {
		return nil, false
	}
	known, ok := s.Documents.Peek(id)
	if !ok || len(known.Value) < largeList {
		return nil, false
	}
	since := earlier(newest(known.Value), begun).Add(-dateSlack)
	options := s.List
	options.CreatedAfter = since
	added, err := s.Archive.Documents(ctx, id, options)
	if s.Answered(err) != nil {
		return nil, false // the whole list will say why
	}
	if slices.ContainsFunc(added, func(doc archive.Document) bool { return doc.Created.Before(since.Add(-dateSlack)) }) {
		s.large.unfiltered()
		return nil, false
	}
	if s.Now().Sub(begun) >= s.TTL && s.large.ask(id) {
		s.Work.Go(func() { s.relist(context.WithoutCancel(ctx), of) })
	}
	return union(known.Value, added), true
}

// relist fetches the whole list. When the directory has changed here meanwhile, the next who looks
// asks again.
func (s *Service) relist(ctx context.Context, of Folder) {
	ctx, cancel := context.WithTimeout(ctx, wholeLimit)
	defer cancel()
	when := of.Distrust()
	docs, err := s.listWhole(ctx, of)
	if err != nil || of.Distrust() != when {
		s.large.failed(of.ID())
		return
	}
	of.Relisted(ctx, s.Documents.Put(of.ID(), docs), when)
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
