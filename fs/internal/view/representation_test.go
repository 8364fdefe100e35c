package view

import (
	"context"
	"io"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/cache"
	"github.com/archivefs/archivefs/fs/internal/background"
)

func TestExtensionOf(t *testing.T) {
	tests := []struct{ contentType, want string }{
		{"application/pdf", ".pdf"},
		{"APPLICATION/PDF", ".pdf"},
		{" application/pdf ; version=1.7", ".pdf"},
		{"application/json", ".json"},
		{"text/plain; charset=utf-8", ".txt"},
		{"text/html", ".html"},
		{"text/xml", ".xml"},
		{"application/xml", ".xml"},
		{"image/jpeg", ".jpg"},
		{"image/tiff", ".tif"},
		{"application/pdf; charset", ".pdf"},
		{"application/vnd.openxmlformats-officedocument.wordprocessingml.document", ".docx"},
		{"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", ".xlsx"},
		{"application/vnd.oasis.opendocument.text", ".odt"},
		{"application/msword", ".doc"},
		{"application/zip", ".zip"},
		{"text/csv", ".csv"},
		{"image/png", ".png"},
		{"image/gif", ".gif"},
		{"message/rfc822", ".eml"},
		{"application/octet-stream", ""},
		{"application/x-never-heard-of", ""},
		{"", ""},
		{"/", ""},
		{";", ""},
		{"../../etc", ""},
	}
	for _, tt := range tests {
		t.Run(tt.contentType, func(t *testing.T) {
			if got := extensionOf(tt.contentType); got != tt.want {
				t.Fatalf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestOrderOfRepresentations(t *testing.T) {
	all := []archive.Representation{archive.Original, archive.PDF, archive.Data}
	tests := []struct {
		name  string
		mode  Mode
		known archive.Representation
		want  []archive.Representation
	}{
		{"original", Original, 0, all[:1]},
		{"pdf", PDF, 0, all[1:2]},
		{"data", Data, 0, all[2:]},
		{"auto, nothing known", Auto, 0, all},
		{"auto, originals are there", Auto, archive.Original, all},
		{"auto, no originals", Auto, archive.PDF, all[1:]},
		{"auto, neither", Auto, archive.Data, all[2:]},
		{"a mode that was asked for stays", Original, archive.Data, all[:1]},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := newRepresentations()
			r.Mode = tt.mode
			if tt.known != 0 {
				r.choose(tt.known)
				if tt.mode != Auto {
					r.auto.Store(uint32(tt.known))
				}
			}
			if got := r.Order(); !slices.Equal(got, tt.want) {
				t.Fatalf("got %v, want %v", got, tt.want)
			}
		})
	}
}

func TestAddedExtension(t *testing.T) {
	tests := []struct {
		name, contentType string
		mode              Mode
		known             archive.Representation
		want              string
	}{
		{"the PDF rendition", "image/jpeg", PDF, 0, ".pdf"},
		{"document data", "image/jpeg", Data, 0, ".json"},
		{"the original, as listed", "image/jpeg", Original, 0, ".jpg"},
		{"the original, of a type not told", "", Original, 0, ".pdf"},
		{"the original, of any bytes", "application/octet-stream", Original, 0, ""},
		{"auto, nothing known", "message/rfc822", Auto, 0, ".eml"},
		{"auto, no originals", "message/rfc822", Auto, archive.PDF, ".pdf"},
		{"auto, neither", "message/rfc822", Auto, archive.Data, ".json"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := newRepresentations()
			r.Mode = tt.mode
			r.choose(tt.known)
			if got := r.Extension(&archive.Document{ID: 1, Name: "a", ContentType: tt.contentType}); got != tt.want {
				t.Fatalf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// anyService has the methods that a test does not need.
type anyService interface{ Contents }

// blockedInfo is a service whose answers to HEAD are held back.
type blockedInfo struct {
	anyService
	asked  atomic.Int32
	answer chan struct{}
}

func (b *blockedInfo) ContentInfo(ctx context.Context, _ archive.ID, _ archive.Representation) (*archive.Content, error) {
	b.asked.Add(1)
	select {
	case <-b.answer:
		return &archive.Content{Size: 1}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func TestRepresentationIsAskedForOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service := &blockedInfo{answer: make(chan struct{})}
		r := newRepresentations()
		r.Mode, r.Service = Auto, service
		for range 5 {
			go choose(t.Context(), r, []archive.Document{{ID: 1}})
		}
		interrupted, interrupt := context.WithCancel(t.Context())
		interrupt()
		choose(interrupted, r, []archive.Document{{ID: 1}}) // returns at once
		synctest.Wait()
		close(service.answer)
		synctest.Wait()
		if n := service.asked.Load(); n != 1 || !r.Settled() {
			t.Errorf("asked %d times, settled: %t", n, r.Settled())
		}
	})
}

// newRepresentations returns those of a mount under Auto with an empty cache.
func newRepresentations() *Representations {
	log := logrus.New()
	log.SetOutput(io.Discard)
	return &Representations{
		Mode: Auto, Cached: func(cache.Key) bool { return false }, Pause: time.Minute, Log: log, Now: time.Now, Work: new(background.Work),
	}
}
