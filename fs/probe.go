package fs

import (
	"context"
	"time"

	"github.com/archivefs/archivefs/archive"
)

// prober finds out what the service has of a document.
type prober interface {
	ContentInfo(ctx context.Context, doc archive.ID, rep archive.Representation) (*archive.Content, error)
}

// Bounds of asking a second document for what the first one lacks.
const (
	// confirmPatience is how long a listing waits for it.
	confirmPatience = 2 * time.Second
	// confirmLimit is when it is given up.
	confirmLimit = 30 * time.Second
)

// chooseRepresentation finds out what the service has, by documents that are listed, before
// documents are named and measured. What cannot be found out now is left open: names then
// get .pdf, and lengths are estimated. Callers that come meanwhile wait for the one that
// asks.
func (f *FileSystem) chooseRepresentation(ctx context.Context, docs []archive.Document) {
	if len(docs) == 0 || !f.wantsEvidence() {
		return
	}
	found := f.probing.DoChan("", func() (any, error) {
		f.work.Begin()
		defer f.work.End()
		if f.wantsEvidence() {
			f.probe(context.WithoutCancel(ctx), f.evidence.candidates(docs))
		}
		return struct{}{}, nil
	})
	select {
	case <-found:
	case <-ctx.Done():
	}
}

// used is the representation that ContentAuto came to so far, 0 for none.
func (f *FileSystem) used() archive.Representation {
	return archive.Representation(f.rep.Load()) //nolint:gosec // stored by chosen
}

// wantsEvidence reports whether it is not certain yet what stands for documents. A service
// that failed when a second document was asked about is left alone for a while.
func (f *FileSystem) wantsEvidence() bool {
	rep := f.used()
	if f.opts.Mode != ContentAuto || rep != 0 && f.evidence.sure(rep) {
		return false
	}
	failing := f.evidence.failing()
	return failing.IsZero() || f.now().Sub(failing) >= f.opts.TTL
}

// probe finds out the best representation that the first of the documents has. Where that is
// not the best of all, the others are asked about too: the first may be broken. While that
// takes long it is believed.
func (f *FileSystem) probe(ctx context.Context, docs []archive.ID) {
	best := f.used()
	if best == 0 {
		var err error
		if best, err = f.bestOf(ctx, docs[0], archive.Data); err != nil { // document data is one of the eight operations
			f.unanswered(docs[0], err)
			return
		}
		docs = docs[1:]
	}
	if !f.evidence.begin() {
		return
	}
	confirmed := make(chan struct{})
	f.work.Go(func() {
		defer close(confirmed)
		f.confirm(ctx, docs, best)
	})
	timer := time.NewTimer(confirmPatience)
	defer timer.Stop()
	select {
	case <-confirmed:
	case <-timer.C:
		f.chosen(best)
	}
}

// confirm asks about documents until two have shown that the service has nothing better than
// best, and chooses what it has. Documents that are gone show nothing, nor does a service
// that fails. Where there is no second document the word of one is taken, until there is.
func (f *FileSystem) confirm(ctx context.Context, docs []archive.ID, best archive.Representation) {
	ctx, cancel := context.WithTimeout(ctx, confirmLimit)
	defer cancel()
	for _, doc := range docs {
		if f.evidence.sure(best) {
			break
		}
		found, err := f.bestOf(ctx, doc, best)
		switch {
		case err == nil:
			best = found
		case archive.KindOf(err) == archive.KindNotFound:
			f.evidence.missed(doc)
		default:
			f.unanswered(doc, err)
			f.evidence.end(f.now())
			return
		}
	}
	f.chosen(best)
	f.evidence.end(time.Time{})
}

// unanswered notes that it could not be found out what a document has. While the service is
// away it is what it was before.
func (f *FileSystem) unanswered(doc archive.ID, err error) {
	f.log.Debugf("find out what the service has: %v", err)
	f.evidence.missed(doc)
	if archive.Away(err) {
		f.chooseAsBefore()
	}
}

// bestOf returns the best representation that a document has, asking for nothing that is not
// better than fallback.
func (f *FileSystem) bestOf(ctx context.Context, doc archive.ID, fallback archive.Representation) (archive.Representation, error) {
	for rep := archive.Original; rep < fallback; rep++ {
		if f.evidence.knows(rep, doc) {
			continue
		}
		_, err := f.archive.ContentInfo(ctx, doc, rep)
		if archive.KindOf(err) == archive.KindUnsupported {
			err = f.touchContent(ctx, doc, rep)
		}
		switch {
		case err == nil:
			f.evidence.has(rep)
			return rep, nil
		case archive.KindOf(err) != archive.KindUnsupported:
			return 0, err
		}
		f.evidence.lacks(rep, doc)
	}
	return fallback, nil
}

// touchContent asks for content and throws the answer away, for services that refuse HEAD.
func (f *FileSystem) touchContent(ctx context.Context, doc archive.ID, rep archive.Representation) error {
	c, err := f.archive.Content(ctx, archive.ContentRequest{Document: doc, Representation: rep})
	if err != nil {
		return err
	}
	return c.Body.Close()
}
