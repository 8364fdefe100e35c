// Package view decides what a file shows of its document: which representation, of which length, and
// which of its contents those who have it open read.
//
// It knows nothing of FUSE.
package view

import (
	"context"
	"errors"
	"mime"
	"sync/atomic"
	"time"

	"github.com/gabriel-vasile/mimetype"
	"github.com/sirupsen/logrus"
	"golang.org/x/sync/singleflight"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/cache"
	"github.com/archivefs/archivefs/fs/internal/background"
)

// Mode says which representation of a document its file holds.
type Mode string

// The modes. Auto takes the original, where the service does not have that the PDF rendition, and
// where it has neither the JSON of document data.
const (
	Auto     Mode = "auto"
	Original Mode = "original"
	PDF      Mode = "pdf"
	Data     Mode = "data"
)

// Contents is what Representations ask of the archive service.
type Contents interface {
	ContentInfo(ctx context.Context, doc archive.ID, rep archive.Representation) (*archive.Content, error)
	Content(ctx context.Context, req archive.ContentRequest) (*archive.Content, error)
}

// Representations knows in which representation documents are read. Under Auto it finds out what
// the service has. It is safe for concurrent use.
type Representations struct {
	// Mode is what was asked for.
	Mode Mode
	// Service answers what documents have.
	Service Contents
	// Cached reports whether the cache holds a content.
	Cached func(cache.Key) bool
	// Kept outlives the mount with what Auto came to; nil where nothing does.
	Kept cache.Store[struct{}, archive.Representation]
	// Pause is how long a service is left alone that failed when it was asked.
	Pause time.Duration
	Log   logrus.FieldLogger
	Now   func() time.Time
	// Work counts what goes on in the background.
	Work *background.Work

	// auto is the representation that Auto came to, 0 while it is not known.
	auto atomic.Uint32
	// evidence is what it rests on.
	evidence evidence
	// probing finds it out, once for all who wait for it.
	probing singleflight.Group
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

// Of is the representation in which a document is read. Under Auto a file that was put in here
// reads as it was uploaded while it is cached.
func (r *Representations) Of(doc archive.ID) archive.Representation {
	best := r.Order()[0]
	if r.Mode == Auto && best != archive.Original && r.Cached(cache.Key{Document: doc, Representation: archive.Original}) {
		return archive.Original
	}
	return best
}

// Settled reports whether it is known in which representation documents are read, and so whose
// length the listed one is.
func (r *Representations) Settled() bool { return r.Mode != Auto || r.auto.Load() != 0 }

// Found notes that a document has a representation, and none of those before it in Order.
func (r *Representations) Found(rep archive.Representation) {
	r.evidence.has(rep)
	r.choose(rep)
}

// Lacks notes that a document does not have a representation.
func (r *Representations) Lacks(rep archive.Representation, doc archive.ID) {
	r.evidence.lacks(rep, doc)
}

// AsBefore takes what the service had when it was asked last, for while it is away: names and cached
// contents depend on it.
func (r *Representations) AsBefore() {
	if r.Settled() || r.Kept == nil {
		return
	}
	switch rep, _, _ := r.Kept.Load(struct{}{}); rep {
	case archive.Original, archive.PDF, archive.Data:
		r.choose(rep)
	}
}

// used is the representation that Auto came to so far, 0 for none.
func (r *Representations) used() archive.Representation {
	return archive.Representation(r.auto.Load()) //nolint:gosec // stored by choose
}

// choose remembers the representation that Auto came to. In place of a better one it takes the word
// of two documents.
func (r *Representations) choose(rep archive.Representation) {
	before := r.used()
	if r.Mode != Auto || rep == before || before != 0 && rep > before && !r.evidence.sure(rep) {
		return
	}
	if !r.auto.CompareAndSwap(uint32(before), uint32(rep)) {
		return // another caller was quicker
	}
	r.Log.Infof("documents are read as %s", rep)
	if r.Kept != nil {
		r.Kept.Save(struct{}{}, rep, r.Now())
	}
}

// Extension is the one that a document without an extension is shown with: that of what its file
// holds. It may be empty.
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

// extensionOf is the extension that files of a media type have, the same on every machine;
// empty when none is known.
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
