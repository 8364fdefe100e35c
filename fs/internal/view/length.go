package view

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
	// maxPrefetched is how many documents of a folder are asked for beside the one that somebody
	// wants to know.
	maxPrefetched = 64
	// lengthPatience is how long an answer about attributes waits for a length, and how slow an
	// answer may be before no more are asked for in the folder.
	lengthPatience = 2 * time.Second
	// maxSilent is how many more answers without a length than with one there may be, as those about
	// an empty document and about one that is gone, before no more are asked for.
	maxSilent = 4
)

// sizePerPage is a generous guess at the bytes of a page (a colour scan), for a document whose
// length is not known: open corrects a length that is too large, one that is too small would cut the
// document off.
const sizePerPage = 2 << 20

// Estimate is a length in bytes for a document of which none is known.
func Estimate(doc *archive.Document) int64 {
	return int64(max(doc.Pages, 1)+1) * sizePerPage
}

// Lengths asks the service for the lengths of documents that no listing tells. It is safe for
// concurrent use.
type Lengths struct {
	*Representations
	// Facts keeps the lengths of archived documents.
	Facts *cache.Facts

	// A length of 0 in the answer to a HEAD is doubtful: many services that build no body for it say
	// 0 of every document, which programs would take for empty files.
	nonzero atomic.Bool // other lengths are answered as well
	wrong   atomic.Bool // 0 was answered for a document that has bytes
}

// Folder are the lengths of the documents of one folder. archives says that they are archived, and
// so keep their lengths.
func (l *Lengths) Folder(archives bool) *FolderLengths {
	return &FolderLengths{all: l, archives: archives}
}

// Listed is the length of a document that is read in a representation, where that needs no request:
// the listed one of an original. archives says that it is archived.
func (l *Lengths) Listed(doc *archive.Document, rep archive.Representation) (int64, bool) {
	if l.Settled() && rep == archive.Original && doc.Size != archive.SizeUnknown {
		return doc.Size, true
	}
	return 0, false
}

// Listed is what a folder shows, in the order in which a listing tells it.
type Listed interface {
	Len() int
	// Document is nil for what is no document.
	Document(i int) *archive.Document
}

// FolderLengths learns the lengths of a folder's documents. Whoever wants one length after the
// other (ls -l) gets more and more of them prefetched, in parallel.
type FolderLengths struct {
	all      *Lengths
	archives bool

	mu sync.Mutex
	// asked are closed when the answer is there.
	asked map[archive.ID]chan struct{} // +checklocks:mu
	// known are those of inbox documents.
	known map[archive.ID]int64 // +checklocks:mu
	// empty are documents that were answered with 0.
	empty map[archive.ID]bool // +checklocks:mu
	// prefetched is how many are asked for at once.
	prefetched int // +checklocks:mu
	// gaveUp is when the service turned out to be slow or to refuse.
	gaveUp time.Time // +checklocks:mu
	// answered counts answers with a length, silent those without.
	answered int // +checklocks:mu
	silent   int // +checklocks:mu
}

// Get returns the length of an inbox document, or of an empty one, that was asked for.
func (l *FolderLengths) Get(doc archive.ID) (int64, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.empty[doc] && l.all.nonzero.Load() && !l.all.wrong.Load() {
		return 0, true
	}
	size, ok := l.known[doc]
	return size, ok
}

// Found notes the length that a document turned out to have.
func (l *FolderLengths) Found(doc archive.ID, size int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.empty[doc] && size > 0 {
		l.all.wrong.Store(true)
	}
}

// Reset forgets what may change: the lengths of inbox documents, and that it gave up.
func (l *FolderLengths) Reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.known, l.empty, l.asked, l.gaveUp = nil, nil, nil, time.Time{}
	l.answered, l.silent = 0, 0
}

// Learn asks for the length of a document, and prefetches those of listed documents after it that
// nobody asked for yet. It returns when the answer is there, after a while, or when ctx is done.
// Contents are never downloaded for it.
func (l *FolderLengths) Learn(ctx context.Context, doc archive.ID, listed Listed) {
	if l.all.Of(doc) == archive.Data {
		return
	}
	answered := l.ask(doc, listed) //nolint:contextcheck // the answer serves others too, and is kept
	if answered == nil {
		return
	}
	timer := time.NewTimer(lengthPatience)
	defer timer.Stop()
	select {
	case <-answered:
	case <-timer.C:
	case <-ctx.Done():
	}
}

// ask returns a channel that closes when the answer about doc is there, nil when nothing is asked
// any more.
func (l *FolderLengths) ask(doc archive.ID, listed Listed) <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.gaveUp.IsZero() && l.all.Now().Sub(l.gaveUp) < l.all.Pause {
		return nil
	}
	if c := l.asked[doc]; c != nil {
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
			l.askLocked(next.ID)
			left--
		}
		after = after || next.ID == doc
	}
	l.prefetched = min(maxPrefetched, l.prefetched*2+1)
	return l.asked[doc]
}

// isKnown reports whether there is no need to ask for a document's length.
func (l *FolderLengths) isKnown(doc *archive.Document) bool {
	rep := l.all.Of(doc.ID)
	if _, ok := l.all.Listed(doc, rep); ok {
		return true
	}
	_, ok := l.all.Facts.Size(cache.Key{Document: doc.ID, Representation: rep})
	return ok && l.archives
}

// askLocked sends one HEAD in the background. The client bounds how many are in flight. The caller
// holds mu.
//
// +checklocks:l.mu
func (l *FolderLengths) askLocked(doc archive.ID) {
	done := make(chan struct{})
	l.asked[doc] = done
	l.all.Work.Go(func() {
		defer close(done)
		began := l.all.Now()
		key := cache.Key{Document: doc, Representation: l.all.Of(doc)}
		ctx, cancel := context.WithTimeout(context.Background(), 2*lengthPatience)
		defer cancel()
		info, err := l.all.Service.ContentInfo(ctx, doc, key.Representation)
		l.mu.Lock()
		defer l.mu.Unlock()
		if err == nil && info.Size != archive.SizeUnknown {
			l.learnLocked(key, info.Size)
		} else {
			l.silent++
		}
		refused := err != nil && archive.KindOf(err) != archive.KindNotFound
		if refused || l.silent > l.answered+maxSilent || l.all.Now().Sub(began) > lengthPatience {
			l.gaveUp = l.all.Now()
		}
	})
}

// learnLocked remembers a length: that of an archived document for ever. The caller holds mu.
//
// +checklocks:l.mu
func (l *FolderLengths) learnLocked(key cache.Key, size int64) {
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
		l.all.Facts.Learn(key, size)
		return
	}
	if l.known == nil {
		l.known = map[archive.ID]int64{}
	}
	l.known[key.Document] = size
}
