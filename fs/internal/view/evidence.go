package view

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/archivefs/archivefs/archive"
)

// Limits of checking a second document for a representation that the first one lacks.
const (
	// confirmPatience is how long a listing waits for the check.
	confirmPatience = 2 * time.Second
	// confirmLimit is when the check is given up.
	confirmLimit = 30 * time.Second
)

// Choose finds out from listed documents which representations the service has, on which added
// extensions and lengths depend. It waits for that, as Settle does, if documents are read as less than
// their originals, which the check may find, and unless named reports that all of them have extensions
// of their own. One check runs at a time. If it fails for now, names get .pdf, and lengths are estimated.
func (r *Representations) Choose(ctx context.Context, docs []archive.Document, named func([]archive.Document) bool) {
	if len(docs) == 0 || !r.wantsEvidence() {
		return
	}
	r.check(ctx, docs)
	if r.Order()[0] != archive.Original || !named(docs) {
		r.Settle(ctx)
	}
}

// check begins a check in the background, unless one is in flight.
func (r *Representations) check(ctx context.Context, docs []archive.Document) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.checked != nil {
		return
	}
	checked := make(chan struct{})
	r.checked = checked
	ctx = context.WithoutCancel(ctx)
	r.Work.Go(func() {
		if r.wantsEvidence() {
			r.probe(ctx, r.evidence.candidates(docs))
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.checked = nil
		close(checked)
	})
}

// Settle waits for the check that is in flight, if one is, or until ctx ends.
func (r *Representations) Settle(ctx context.Context) {
	r.mu.Lock()
	checked := r.checked
	r.mu.Unlock()
	if checked == nil {
		return
	}
	select {
	case <-checked:
	case <-ctx.Done():
	}
}

// wantsEvidence reports whether the representation of documents is still uncertain. It is false for
// a while after the check of a second document failed.
func (r *Representations) wantsEvidence() bool {
	rep := r.used()
	if r.Mode != Auto || rep != 0 && r.evidence.sure(rep) {
		return false
	}
	failing := r.evidence.failing()
	return failing.IsZero() || r.Now().Sub(failing) >= r.Pause
}

// probe finds the best representation of the first document. If that is not the best of all, it also checks the others,
// because the first may be broken. If that takes too long, the first one counts.
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
	select {
	case <-confirmed:
	case <-time.After(confirmPatience):
		r.choose(best)
	}
}

// confirm checks documents until two have shown that the service has nothing better than best, and
// chooses that. Documents that are gone prove nothing, nor does a failing service. Without a second
// document one is enough, until there is another.
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

// unanswered records that a document could not be checked. While the service is away the earlier choice stays.
func (r *Representations) unanswered(doc archive.ID, err error) {
	r.Log.Debugf("find out what the service has: %v", err)
	r.evidence.missed(doc)
	if archive.Away(err) {
		r.AsBefore()
	}
}

// bestOf returns the best representation of a document. It only checks those that are better than fallback.
func (r *Representations) bestOf(ctx context.Context, doc archive.ID, fallback archive.Representation) (archive.Representation, error) {
	for rep := archive.Original; rep < fallback; rep++ {
		if r.evidence.knows(rep, doc) {
			continue
		}
		_, err := r.Service.ContentInfo(ctx, doc, rep)
		if archive.KindOf(err) == archive.KindUnsupported {
			var c *archive.Content // for services that refuse HEAD
			if c, err = r.Service.Content(ctx, archive.ContentRequest{Document: doc, Representation: rep}); err == nil {
				err = c.Body.Close()
			}
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

// evidence collects which representations the service lacks. One document without an original may
// be broken; two prove that there is no such operation.
type evidence struct {
	mu      sync.Mutex
	lacking map[archive.Representation]witness // +checklocks:mu
	// failed is the last document that could not be checked.
	failed archive.ID // +checklocks:mu
	// asking: other documents are being checked.
	asking bool // +checklocks:mu
	// gaveUp is when the check of others failed.
	gaveUp time.Time // +checklocks:mu
}

// witness is the first document found to lack a representation.
type witness struct {
	document archive.ID
	others   bool // another one lacks it as well
}

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

// has records that a document, and so the service, has the representation.
func (e *evidence) has(rep archive.Representation) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.lacking, rep)
}

// knows reports whether the document is already known to lack the representation.
func (e *evidence) knows(rep archive.Representation, doc archive.ID) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	w, known := e.lacking[rep]
	return known && (w.others || w.document == doc)
}

// sure reports whether the service lacks everything better than rep.
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

// missed records a document that could not be checked.
func (e *evidence) missed(doc archive.ID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.failed = doc
}

// begin reports whether a check of other documents may begin now; only one runs at a time.
func (e *evidence) begin() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.asking {
		return false
	}
	e.asking = true
	return true
}

// end ends the check that begin permitted; gaveUp is when it failed, else zero.
func (e *evidence) end(gaveUp time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.asking, e.gaveUp = false, gaveUp
}

// failing returns when the check of other documents failed, zero if it did not.
func (e *evidence) failing() time.Time {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.gaveUp
}

// candidates returns at most three documents of a listing to check: the first, and two far from it, which are less
// likely broken for the same reason. The one that could not be checked last time comes last.
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
