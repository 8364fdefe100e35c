package view

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/archivefs/archivefs/archive"
)

// Bounds of asking a second document for what the first one lacks.
const (
	// confirmPatience is how long a listing waits for it.
	confirmPatience = 2 * time.Second
	// confirmLimit is when it is given up.
	confirmLimit = 30 * time.Second
)

// Choose finds out what the service has, by documents that are listed, before
// documents are named and measured. What cannot be found out now is left open: names then
// get .pdf, and lengths are estimated. Callers that come meanwhile wait for the one that
// asks.
func (r *Representations) Choose(ctx context.Context, docs []archive.Document) {
	if len(docs) == 0 || !r.wantsEvidence() {
		return
	}
	found := r.probing.DoChan("", func() (any, error) {
		r.Work.Begin()
		defer r.Work.End()
		if r.wantsEvidence() {
			r.probe(context.WithoutCancel(ctx), r.evidence.candidates(docs))
		}
		return struct{}{}, nil
	})
	select {
	case <-found:
	case <-ctx.Done():
	}
}

// wantsEvidence reports whether it is not certain yet what stands for documents. A service
// that failed when a second document was asked about is left alone for a while.
func (r *Representations) wantsEvidence() bool {
	rep := r.used()
	if r.Mode != Auto || rep != 0 && r.evidence.sure(rep) {
		return false
	}
	failing := r.evidence.failing()
	return failing.IsZero() || r.Now().Sub(failing) >= r.Pause
}

// probe finds out the best representation that the first of the documents has. Where that is
// not the best of all, the others are asked about too: the first may be broken. While that
// takes long it is believed.
func (r *Representations) probe(ctx context.Context, docs []archive.ID) {
	best := r.used()
	if best == 0 {
		var err error
		if best, err = r.bestOf(ctx, docs[0], archive.Data); err != nil { // document data is one of the eight operations
			r.unanswered(docs[0], err)
			return
		}
		docs = docs[1:]
	}
	if !r.evidence.begin() {
		return
	}
	confirmed := make(chan struct{})
	r.Work.Go(func() {
		defer close(confirmed)
		r.confirm(ctx, docs, best)
	})
	timer := time.NewTimer(confirmPatience)
	defer timer.Stop()
	select {
	case <-confirmed:
	case <-timer.C:
		r.choose(best)
	}
}

// confirm asks about documents until two have shown that the service has nothing better than
// best, and chooses what it has. Documents that are gone show nothing, nor does a service
// that fails. Where there is no second document the word of one is taken, until there is.
func (r *Representations) confirm(ctx context.Context, docs []archive.ID, best archive.Representation) {
	ctx, cancel := context.WithTimeout(ctx, confirmLimit)
	defer cancel()
	for _, doc := range docs {
		if r.evidence.sure(best) {
			break
		}
		found, err := r.bestOf(ctx, doc, best)
		switch {
		case err == nil:
			best = found
		case archive.KindOf(err) == archive.KindNotFound:
			r.evidence.missed(doc)
		default:
			r.unanswered(doc, err)
			r.evidence.end(r.Now())
			return
		}
	}
	r.choose(best)
	r.evidence.end(time.Time{})
}

// unanswered notes that it could not be found out what a document has. While the service is
// away it is what it was before.
func (r *Representations) unanswered(doc archive.ID, err error) {
	r.Log.Debugf("find out what the service has: %v", err)
	r.evidence.missed(doc)
	if archive.Away(err) {
		r.AsBefore()
	}
}

// bestOf returns the best representation that a document has, asking for nothing that is not
// better than fallback.
func (r *Representations) bestOf(ctx context.Context, doc archive.ID, fallback archive.Representation) (archive.Representation, error) {
	for rep := archive.Original; rep < fallback; rep++ {
		if r.evidence.knows(rep, doc) {
			continue
		}
		_, err := r.Service.ContentInfo(ctx, doc, rep)
		if archive.KindOf(err) == archive.KindUnsupported {
			err = r.touchContent(ctx, doc, rep)
		}
		switch {
		case err == nil:
			r.evidence.has(rep)
			return rep, nil
		case archive.KindOf(err) != archive.KindUnsupported:
			return 0, err
		}
		r.evidence.lacks(rep, doc)
	}
	return fallback, nil
}

// touchContent asks for content and throws the answer away, for services that refuse HEAD.
func (r *Representations) touchContent(ctx context.Context, doc archive.ID, rep archive.Representation) error {
	c, err := r.Service.Content(ctx, archive.ContentRequest{Document: doc, Representation: rep})
	if err != nil {
		return err
	}
	return c.Body.Close()
}

// evidence is what documents have shown of what the service lacks. One without an original
// may be broken; two say that there is no such operation.
type evidence struct {
	mu      sync.Mutex
	lacking map[archive.Representation]witness // +checklocks:mu
	// failed is the document that could not be asked about last.
	failed archive.ID // +checklocks:mu
	// asking: others are being asked about.
	asking bool // +checklocks:mu
	// gaveUp is when others could not be asked about.
	gaveUp time.Time // +checklocks:mu
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
