package fs

import (
	"slices"
	"sync"
	"time"

	"github.com/archivefs/archivefs/archive"
)

// evidence is what documents have shown of what the service lacks. One without an original
// may be broken; two say that there is no such operation.
type evidence struct {
	mu      sync.Mutex
	lacking map[archive.Representation]witness // guarded by mu
	failed  archive.ID                         // the document that could not be asked about last; guarded by mu
	asking  bool                               // others are being asked about; guarded by mu
	gaveUp  time.Time                          // when others could not be asked about; guarded by mu
}

// witness is the first document that was found to lack a representation.
type witness struct {
	document archive.ID
	others   bool // another one lacks it as well
}

// lacks notes that the document has no such representation.
func (e *evidence) lacks(rep archive.Representation, doc archive.ID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.lacking == nil {
		e.lacking = map[archive.Representation]witness{}
	}
	w, known := e.lacking[rep]
	if !known {
		w.document = doc
	}
	w.others = w.others || w.document != doc
	e.lacking[rep] = w
}

// has notes that a document has the representation, which the service therefore has.
func (e *evidence) has(rep archive.Representation) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.lacking, rep)
}

// knows reports whether the document lacks the representation as far as is known, so that
// there is no need to ask.
func (e *evidence) knows(rep archive.Representation, doc archive.ID) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	w, known := e.lacking[rep]
	return known && (w.others || w.document == doc)
}

// sure reports whether the service lacks all that would be better than rep.
func (e *evidence) sure(rep archive.Representation) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	for better := archive.Original; better < rep; better++ {
		if !e.lacking[better].others {
			return false
		}
	}
	return true
}

// missed notes a document that could not be asked about.
func (e *evidence) missed(doc archive.ID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.failed = doc
}

// begin reports whether documents may be asked about now to confirm what others said: not
// twice at a time.
func (e *evidence) begin() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.asking {
		return false
	}
	e.asking = true
	return true
}

// end ends what begin began; gaveUp is when that failed, else zero.
func (e *evidence) end(gaveUp time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.asking, e.gaveUp = false, gaveUp
}

// failing is when documents could not be asked about to confirm what others said, zero when
// they could.
func (e *evidence) failing() time.Time {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.gaveUp
}

// candidates are the documents of a listing to ask about, at most three: the first, and two
// from afar, which are less likely broken for the same reason. The one that could not be
// asked about the last time comes after the others.
func (e *evidence) candidates(docs []archive.Document) []archive.ID {
	e.mu.Lock()
	defer e.mu.Unlock()
	var ids []archive.ID
	for _, i := range []int{0, len(docs) - 1, len(docs) / 2} {
		if !slices.Contains(ids, docs[i].ID) {
			ids = append(ids, docs[i].ID)
		}
	}
	if i := slices.Index(ids, e.failed); i >= 0 {
		ids = append(slices.Delete(ids, i, i+1), e.failed)
	}
	return ids
}
