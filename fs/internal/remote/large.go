package remote

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/cache"
)

// A large list of documents takes long, and changes little between two requests. So a large folder
// is asked only for documents that are newer than its last whole list (specification, endpoint 2:
// filter-date-created-after), and these are merged with the known list. That misses documents that
// were deleted, renamed, or archived from an inbox under an older date. So when the whole list is
// older than the ttl, it is also fetched in the background, and shown as soon as it arrives.

const (
	// largeList is the number of documents from which callers wait only for the new ones.
	largeList = 1000
	// dateSlack is how much earlier than the last whole list a new document may be dated, because
	// the filter knows days without a zone.
	dateSlack = 48 * time.Hour
	// wholeLimit bounds a whole list in the background.
	wholeLimit = 30 * time.Second
)

// Distrust counts the reasons not to trust a listing that was requested before.
type Distrust struct {
	Doubts  uint64 // the directory turned out to differ from the service
	Changes uint64 // this mount changed it
}

// Folder is a directory whose documents are listed.
type Folder interface {
	ID() archive.ID
	// Archives reports whether its documents are archived.
	Archives() bool
	Distrust() Distrust
	// Relisted shows a whole list that was requested in the background; when is Distrust at that time.
	Relisted(ctx context.Context, got cache.Entry[[]archive.Document], when Distrust)
}

// largeLists knows which folders are large.
type largeLists struct {
	mu      sync.Mutex
	folders map[archive.ID]*wholeList // +checklocks:mu
	// off says that the service does not filter by date.
	off bool // +checklocks:mu
}

// wholeList describes the last whole list of a large folder. Guarded by mu of largeLists.
type wholeList struct {
	begun  time.Time
	doubts uint64 // of the folder then
	asked  bool   // again, in the background
}

// note records a whole list of n documents that was requested at begun.
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

// of returns the time of the last whole list of a large folder, if it was not doubted since and the service filters.
func (w *largeLists) of(id archive.ID, doubts uint64) (begun time.Time, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	l := w.folders[id]
	if l == nil || w.off || l.doubts != doubts {
		return time.Time{}, false
	}
	return l.begun, true
}

// ask reports whether the caller must request the whole list, because nobody else does.
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

// failed permits another request for the whole list.
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

func (s *Service) listWhole(ctx context.Context, of Folder) ([]archive.Document, error) {
	begun, doubts := s.Now(), of.Distrust().Doubts
	docs, err := s.Archive.Documents(ctx, of.ID(), s.List)
	if err == nil && len(docs) == 0 {
		had, _ := s.Documents.Last(of.ID())
		err = s.emptied(ctx, len(had))
	}
	if err = s.Answered(err); err == nil && of.Archives() && s.List.CreatedAfter.IsZero() {
		s.large.note(of.ID(), len(docs), begun, doubts)
	}
	return docs, err
}

// listNew returns the known list with the new documents, and false if the whole list is needed.
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
		return nil, false // the whole list shows why
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

// relist fetches the whole list. If the directory turned out to differ from the service meanwhile, the next
// lookup requests it again.
func (s *Service) relist(ctx context.Context, of Folder) {
	ctx, cancel := context.WithTimeout(ctx, wholeLimit)
	defer cancel()
	when := of.Distrust()
	ahead := s.Documents.Ahead()
	defer ahead.End()
	docs, err := s.listWhole(ctx, of)
	if err == nil {
		if got, ok := ahead.Put(of.ID(), docs); ok {
			of.Relisted(ctx, got, when)
			return
		}
	}
	s.large.failed(of.ID())
}

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

// union merges known and added, by ascending id. added wins.
func union(known, added []archive.Document) []archive.Document {
	all := slices.Concat(added, known)
	slices.SortStableFunc(all, func(a, b archive.Document) int { return cmp.Compare(a.ID, b.ID) })
	return slices.CompactFunc(all, func(a, b archive.Document) bool { return a.ID == b.ID })
}
