// Package view decides which representation of its document a file shows, and of which length.
//
// It knows nothing of FUSE.
package view

import (
	"context"
	"errors"
	"mime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gabriel-vasile/mimetype"
	"github.com/sirupsen/logrus"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/cache"
	"github.com/archivefs/archivefs/fs/internal/background"
)

// Mode says which representation of a document its file holds.
type Mode string

// The modes. Auto takes the original, else the PDF rendition, else the JSON of document data.
const (
	Auto     Mode = "auto"
	Original Mode = "original"
	PDF      Mode = "pdf"
	Data     Mode = "data"
)

// Contents is the part of the archive service that Representations use.
type Contents interface {
	ContentInfo(ctx context.Context, doc archive.ID, rep archive.Representation) (*archive.Content, error)
	Content(ctx context.Context, req archive.ContentRequest) (*archive.Content, error)
}

// Representations knows the representation in which documents are read. Under Auto it finds out
// what the service has. It is safe for concurrent use.
type Representations struct {
	// Mode is the configured mode.
	Mode Mode
	// Service is asked about documents.
	Service Contents
	// Cached reports whether the cache holds a content.
	Cached func(cache.Key) bool
	// Kept stores the choice of Auto beyond the end of the mount; nil stores nothing.
	Kept cache.Store[struct{}, archive.Representation]
	// Pause is the time without checks after the service failed one.
	Pause time.Duration
	Log   logrus.FieldLogger
	Now   func() time.Time
	// Work counts the checks in the background.
	Work *background.Work

	// auto is the representation that Auto chose, 0 while there is none.
	auto atomic.Uint32
	// evidence is the basis of the choice.
	evidence evidence
	mu       sync.Mutex
	// checked is closed at the end of the check that is in flight, nil while none is.
	checked chan struct{} // +checklocks:mu
}

// Order lists the representations to try for a document's bytes, best first.
func (r *Representations) Order() []archive.Representation {
	switch r.Mode {
	case Original:
		return []archive.Representation{archive.Original}
	case PDF:
		return []archive.Representation{archive.PDF}
	case Data:
		return []archive.Representation{archive.Data}
	case Auto:
	}
	all := []archive.Representation{archive.Original, archive.PDF, archive.Data}
	if known := r.used(); known != 0 {
		return all[known-archive.Original:]
	}
	return all
}

// Of returns the representation in which a document is read. Under Auto a file that was copied in
// reads as uploaded while it is cached.
func (r *Representations) Of(doc archive.ID) archive.Representation {
	best := r.Order()[0]
	if r.Mode == Auto && best != archive.Original && r.Cached(cache.Key{Document: doc, Representation: archive.Original}) {
		return archive.Original
	}
	return best
}

// Settled reports whether the representation of documents is known, and so which one the listed length belongs to.
func (r *Representations) Settled() bool { return r.Mode != Auto || r.auto.Load() != 0 }

// Found records that a document has a representation, and none of those before it in Order.
func (r *Representations) Found(rep archive.Representation) {
	r.evidence.has(rep)
	r.choose(rep)
}

// Lacks records that a document does not have a representation.
func (r *Representations) Lacks(rep archive.Representation, doc archive.ID) {
	r.evidence.lacks(rep, doc)
}

// AsBefore restores the last choice while the service is away: names and cached contents depend on it.
func (r *Representations) AsBefore() {
	if r.Settled() || r.Kept == nil {
		return
	}
	switch rep, _, _ := r.Kept.Load(struct{}{}); rep {
	case archive.Original, archive.PDF, archive.Data:
		r.choose(rep)
	}
}

// used is the representation that Auto has chosen so far, 0 for none.
func (r *Representations) used() archive.Representation {
	return archive.Representation(r.auto.Load()) //nolint:gosec // stored by choose
}

// choose stores the choice of Auto. Only two documents can replace a better choice.
func (r *Representations) choose(rep archive.Representation) {
	before := r.used()
	if r.Mode != Auto || rep == before || before != 0 && rep > before && !r.evidence.sure(rep) {
		return
	}
	if !r.auto.CompareAndSwap(uint32(before), uint32(rep)) {
		return // another caller was faster
	}
	r.Log.Infof("documents are read as %s", rep)
	if r.Kept != nil {
		r.Kept.Save(struct{}{}, rep, r.Now())
	}
}

// Extension returns the extension that is added to a document without one, by its content. It may be empty.
func (r *Representations) Extension(doc *archive.Document) string {
	switch r.Order()[0] {
	case archive.PDF:
		return ".pdf"
	case archive.Data:
		return ".json"
	case archive.Original:
	}
	if doc.ContentType == "" {
		return ".pdf"
	}
	return extensionOf(doc.ContentType)
}

// extensionOf returns the extension of a media type, the same on every machine; empty if none is known.
func extensionOf(contentType string) string {
	t, _, err := mime.ParseMediaType(contentType)
	if err != nil && !errors.Is(err, mime.ErrInvalidMediaParameter) {
		return ""
	}
	switch t {
	case "application/pdf":
		return ".pdf"
	case "application/json":
		return ".json"
	case "application/octet-stream":
		return ""
	case "text/plain":
		return ".txt"
	case "text/html":
		return ".html"
	case "image/jpeg":
		return ".jpg"
	case "image/tiff":
		return ".tif"
	case "message/rfc822":
		return ".eml"
	case "application/xml", "text/xml":
		return ".xml"
	}
	if known := mimetype.Lookup(t); known != nil {
		return known.Extension()
	}
	return ""
}
