package fs

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/cache"
)

// Bounds of asking for lengths one by one (HEAD).
const (
	// maxAhead is how many documents of a folder are asked for ahead of the one that
	// somebody wants to know.
	maxAhead = 64
	// sizePatience is how long an answer about attributes waits for a length, and how
	// slow an answer may be before no more are asked for in the folder.
	sizePatience = 2 * time.Second
	// maxSilent is how many more answers than not may tell no length, as those about an
	// empty document and about one that is gone, before no more are asked for.
	maxSilent = 4
)

// sizes learns the lengths of a folder's documents where the listing does not tell them.
// A walk over all of them (ls -l) asks for more and more ahead, in parallel.
type sizes struct {
	mu     sync.Mutex
	asked  map[archive.ID]chan struct{} // closed when the answer is there; guarded by mu
	known  map[archive.ID]int64         // of inbox documents; guarded by mu
	empty  map[archive.ID]bool          // said to have no bytes; guarded by mu
	ahead  int                          // how many are asked for at once; guarded by mu
	gaveUp time.Time                    // when the service turned out to be slow or to refuse; guarded by mu
	told   int                          // answers that told a length; guarded by mu
	silent int                          // answers that did not; guarded by mu
}

// heads is what a length of 0 in the answer to a HEAD is worth: many services that build no
// body for it say 0 of every document, which programs would take for empty files.
type heads struct {
	told  atomic.Bool // other lengths are told as well
	wrong atomic.Bool // 0 was told of a document that has bytes
}

// sizes is what is learned of the directory's documents. Most directories have none.
func (d *dir) sizes() *sizes {
	if d.learned.Load() == nil {
		d.learned.CompareAndSwap(nil, &sizes{})
	}
	return d.learned.Load()
}

// get returns a length that was asked for.
func (s *sizes) get(doc archive.ID, h *heads) (int64, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.empty[doc] && h.told.Load() && !h.wrong.Load() {
		return 0, true
	}
	size, ok := s.known[doc]
	return size, ok
}

// found notes the length that a document turned out to have.
func (s *sizes) found(doc archive.ID, size int64, h *heads) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.empty[doc] && size > 0 {
		h.wrong.Store(true)
	}
}

// reset forgets what may change: the lengths of inbox documents, and that it gave up.
func (s *sizes) reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known, s.empty, s.asked, s.gaveUp = nil, nil, nil, time.Time{}
	s.told, s.silent = 0, 0
}

// learnSize finds out the exact length of a document when nobody told it, within bounds:
// content is never downloaded for it.
func (f *file) learnSize(ctx context.Context) {
	if _, ok := f.currentSize(); ok {
		return
	}
	d, _ := f.place()
	doc := f.document()
	if d == nil || f.fs.representation(doc.ID) == archive.Data {
		return
	}
	answered := d.askSizes(doc.ID) //nolint:contextcheck // the answer serves others too, and is kept
	if answered == nil {
		return
	}
	timer := time.NewTimer(sizePatience)
	defer timer.Stop()
	select {
	case <-answered:
	case <-timer.C:
	case <-ctx.Done():
	}
}

// askSizes asks for the length of doc and, ahead, of documents after it that nobody asked
// for yet. It returns a channel that closes when doc's answer is there, nil when nothing
// is asked any more.
func (d *dir) askSizes(doc archive.ID) <-chan struct{} {
	entries := d.entries()
	d.sizes().mu.Lock()
	defer d.sizes().mu.Unlock()
	s := d.sizes()
	if !s.gaveUp.IsZero() && d.fs.now().Sub(s.gaveUp) < d.fs.opts.TTL {
		return nil
	}
	if c := s.asked[doc]; c != nil {
		return c
	}
	if s.asked == nil {
		s.asked = map[archive.ID]chan struct{}{}
	}
	d.askLocked(doc)
	left, after := s.ahead, false
	for _, e := range entries {
		if left == 0 {
			break
		}
		next := e.doc.Load()
		if next == nil {
			continue
		}
		if after && s.asked[next.ID] == nil && !d.sizeKnown(next) {
			d.askLocked(next.ID)
			left--
		}
		after = after || next.ID == doc
	}
	s.ahead = min(maxAhead, s.ahead*2+1)
	return s.asked[doc]
}

// sizeKnown reports whether there is no need to ask for a document's length.
func (d *dir) sizeKnown(doc *archive.Document) bool {
	rep := d.fs.representation(doc.ID)
	if d.fs.settled() && rep == archive.Original && doc.Size != archive.SizeUnknown {
		return true
	}
	_, ok := d.fs.facts.Size(cache.Key{Document: doc.ID, Representation: rep})
	return ok && d.kind.archives()
}

// askLocked sends one HEAD in the background. The client bounds how many are in flight.
// The caller holds sizes.mu.
func (d *dir) askLocked(doc archive.ID) {
	done := make(chan struct{})
	d.sizes().asked[doc] = done
	d.fs.work.Go(func() {
		defer close(done)
		began := d.fs.now()
		key := cache.Key{Document: doc, Representation: d.fs.representation(doc)}
		ctx, cancel := context.WithTimeout(context.Background(), 2*sizePatience)
		defer cancel()
		info, err := d.fs.service.Archive.ContentInfo(ctx, doc, key.Representation)
		d.sizes().mu.Lock()
		defer d.sizes().mu.Unlock()
		if err == nil && info.Size != archive.SizeUnknown {
			d.learnLocked(key, info.Size)
		} else {
			d.sizes().silent++
		}
		refused := err != nil && archive.KindOf(err) != archive.KindNotFound
		if refused || d.sizes().silent > d.sizes().told+maxSilent || d.fs.now().Sub(began) > sizePatience {
			d.sizes().gaveUp = d.fs.now()
		}
	})
}

// learnLocked remembers a length: an archived document's for ever. The caller holds
// sizes.mu.
func (d *dir) learnLocked(key cache.Key, size int64) {
	if size == 0 {
		d.sizes().silent++
		if d.sizes().empty == nil {
			d.sizes().empty = map[archive.ID]bool{}
		}
		d.sizes().empty[key.Document] = key.Representation == archive.Original // a PDF has bytes
		return
	}
	d.fs.heads.told.Store(true)
	d.sizes().told++
	if d.kind.archives() {
		d.fs.facts.Learn(key, size)
		return
	}
	if d.sizes().known == nil {
		d.sizes().known = map[archive.ID]int64{}
	}
	d.sizes().known[key.Document] = size
}
