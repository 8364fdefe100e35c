package view

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/cache"
)

// Limits of requests for single lengths (HEAD).
const (
	// maxPrefetched is how many lengths of a folder are prefetched beside the requested one.
	maxPrefetched = 64
	// lengthPatience is how long GETATTR waits for a length. After a slower answer no more lengths
	// of the folder are requested.
	lengthPatience = 2 * time.Second
	// maxSilent is by how many the answers without a length (empty or missing documents) may
	// outnumber those with one, before no more are requested.
	maxSilent = 4
)

// sizePerPage is a generous guess at the bytes of a page (a colour scan), for documents of unknown length. Open
// corrects a length that is too large; one that is too small would truncate the document.
const sizePerPage = 2 << 20

// Estimate returns a length in bytes for a document of unknown length with so many pages.
func Estimate(pages int) int64 {
	return int64(max(pages, 1)+1) * sizePerPage
}

// Lengths requests the lengths of documents that are not in listings. It is safe for concurrent use.
type Lengths struct {
	*Representations
	// Facts keeps the lengths of archived documents.
	Facts *cache.Facts

	// A length of 0 in the answer to a HEAD is doubtful: many services build no body for HEAD and
	// answer 0 for every document, and programs would take them for empty files.
	nonzero atomic.Bool // the service has answered other lengths, too
	wrong   atomic.Bool // the service has answered 0 for a document with bytes

	mu sync.Mutex
	// lacking is the content whose length the service could not tell last, for lack of the operation.
	lacking cache.Key // +checklocks:mu
	// lacks is when it could not for two documents in a row, in the representation of lacking.
	lacks time.Time // +checklocks:mu
}

// note notes the answer to a request for a length. Two documents in a row show that the service lacks
// the operation: one alone may be broken.
func (l *Lengths) note(key cache.Key, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case archive.KindOf(err) == archive.KindUnsupported:
		if l.lacking.Document != key.Document && l.lacking.Representation == key.Representation {
			l.lacks = l.Now()
		}
		l.lacking = key
	case err == nil && l.lacking.Representation == key.Representation:
		l.lacking, l.lacks = cache.Key{}, time.Time{}
	}
}

// paused returns for how long no length of a representation is requested in any folder.
func (l *Lengths) paused(rep archive.Representation) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lacks.IsZero() || l.lacking.Representation != rep {
		return 0
	}
	return max(0, l.lacks.Add(l.Pause).Sub(l.Now()))
}

// Folder returns the lengths of the documents of one folder. archives says that they are archived,
// and so keep their lengths.
func (l *Lengths) Folder(archives bool) *FolderLengths {
	return &FolderLengths{all: l, archives: archives}
}

// Listed returns the length of a document in its representation if that needs no request: for an
// original, the listed one.
func (l *Lengths) Listed(doc *archive.Document, rep archive.Representation) (int64, bool) {
	if l.Settled() && rep == archive.Original && doc.Size != archive.SizeUnknown {
		return doc.Size, true
	}
	return 0, false
}

// Listed has the entries of a folder, in the order of the listing.
type Listed interface {
	Len() int
	// Document returns nil for an entry that is not a document.
	Document(i int) *archive.Document
}

// FolderLengths learns the lengths of a folder's documents. For a program that reads one length
// after the other (ls -l) it prefetches more and more of them, in parallel.
type FolderLengths struct {
	all      *Lengths
	archives bool

	mu sync.Mutex
	// asked has a channel for each request, closed by the answer.
	asked map[archive.ID]chan struct{} // +checklocks:mu
	// known are the lengths of inbox documents.
	known map[archive.ID]int64 // +checklocks:mu
	// empty are documents for which the service answered 0.
	empty map[archive.ID]bool // +checklocks:mu
	// prefetched is how many are requested at once.
	prefetched int // +checklocks:mu
	// gaveUp is when the service turned out to be slow or to refuse.
	gaveUp time.Time // +checklocks:mu
	// answered counts answers with a length, silent those without.
	answered int // +checklocks:mu
	silent   int // +checklocks:mu
}

// Get returns the length of an inbox document, or of an empty one, that was requested before.
func (l *FolderLengths) Get(doc archive.ID) (int64, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.empty[doc] && l.all.nonzero.Load() && !l.all.wrong.Load() {
		return 0, true
	}
	size, ok := l.known[doc]
	return size, ok
}

// Found records the actual length of a document.
func (l *FolderLengths) Found(doc archive.ID, size int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.empty[doc] && size > 0 {
		l.all.wrong.Store(true)
	}
	if !l.archives {
		l.keepLocked(doc, size)
	}
}

// Reset drops what may change: the lengths of inbox documents, and having given up.
func (l *FolderLengths) Reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.known, l.empty, l.asked, l.gaveUp = nil, nil, nil, time.Time{}
	l.answered, l.silent = 0, 0
}

// Paused returns for how long Learn sends no request for a document, 0 if it does.
func (l *FolderLengths) Paused(doc archive.ID) time.Duration {
	rep := l.all.Of(doc)
	if rep == archive.Data {
		return l.all.Pause
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.pausedLocked(rep)
}

// +checklocks:l.mu
func (l *FolderLengths) pausedLocked(rep archive.Representation) time.Duration {
	everywhere := l.all.paused(rep)
	if l.gaveUp.IsZero() {
		return everywhere
	}
	return max(everywhere, l.gaveUp.Add(l.all.Pause).Sub(l.all.Now()))
}

// Learn requests the length of a document, and prefetches those of the next listed documents that were not requested
// yet. It returns with the answer, after lengthPatience, or when ctx is done. It never downloads contents.
func (l *FolderLengths) Learn(ctx context.Context, doc *archive.Document, listed Listed) {
	rep := l.all.Of(doc.ID)
	if rep == archive.Data {
		return
	}
	answered := l.ask(doc, rep, listed) //nolint:contextcheck // the answer serves others too, and is kept
	if answered == nil {
		return
	}
	select {
	case <-answered:
	case <-time.After(lengthPatience):
	case <-ctx.Done():
	}
}

// ask returns a channel that closes with the answer about doc, nil if no more requests are sent.
func (l *FolderLengths) ask(doc *archive.Document, rep archive.Representation, listed Listed) <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.pausedLocked(rep) > 0 {
		return nil
	}
	if c := l.asked[doc.ID]; c != nil {
		return c
	}
	if l.asked == nil {
		l.asked = map[archive.ID]chan struct{}{}
	}
	l.askLocked(doc)
	left, after := l.prefetched, false
	for i := 0; i < listed.Len() && left > 0; i++ {
		next := listed.Document(i)
		if next == nil {
			continue
		}
		if after && l.asked[next.ID] == nil && !l.isKnown(next) {
			l.askLocked(next)
			left--
		}
		after = after || next.ID == doc.ID
	}
	l.prefetched = min(maxPrefetched, l.prefetched*2+1)
	return l.asked[doc.ID]
}

// isKnown reports whether a document's length needs no request.
func (l *FolderLengths) isKnown(doc *archive.Document) bool {
	rep := l.all.Of(doc.ID)
	if _, ok := l.all.Listed(doc, rep); ok {
		return true
	}
	if !l.archives {
		return false
	}
	_, ok := l.all.Facts.Size(cache.Key{Document: doc.ID, Representation: rep}, doc.Fingerprint())
	return ok
}

// askLocked sends one HEAD in the background. The client limits how many are in flight. The caller holds mu.
//
// +checklocks:l.mu
func (l *FolderLengths) askLocked(doc *archive.Document) {
	done := make(chan struct{})
	l.asked[doc.ID] = done
	l.all.Work.Go(func() {
		defer close(done)
		began := l.all.Now()
		key := cache.Key{Document: doc.ID, Representation: l.all.Of(doc.ID)}
		ctx, cancel := context.WithTimeout(context.Background(), 2*lengthPatience)
		defer cancel()
		info, err := l.all.Service.ContentInfo(ctx, doc.ID, key.Representation)
		l.all.note(key, err)
		l.mu.Lock()
		defer l.mu.Unlock()
		if err == nil && info.Size != archive.SizeUnknown {
			l.learnLocked(key, doc.Fingerprint(), info.Size)
		} else {
			l.silent++
		}
		refused := err != nil && archive.KindOf(err) != archive.KindNotFound
		if refused || l.silent > l.answered+maxSilent || l.all.Now().Sub(began) > lengthPatience {
			l.gaveUp = l.all.Now()
		}
	})
}

// learnLocked stores a length: that of an archived document forever. The caller holds mu.
//
// +checklocks:l.mu
func (l *FolderLengths) learnLocked(key cache.Key, of archive.Fingerprint, size int64) {
	if size == 0 {
		l.silent++
		if l.empty == nil {
			l.empty = map[archive.ID]bool{}
		}
		l.empty[key.Document] = key.Representation == archive.Original // a PDF has bytes
		return
	}
	l.all.nonzero.Store(true)
	l.answered++
	if l.archives {
		l.all.Facts.Learn(key, of, size)
		return
	}
	l.keepLocked(key.Document, size)
}

// +checklocks:l.mu
func (l *FolderLengths) keepLocked(doc archive.ID, size int64) {
	if l.known == nil {
		l.known = map[archive.ID]int64{}
	}
	l.known[doc] = size
}
