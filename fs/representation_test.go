package fs

import (
	"context"
	"io"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/archivefs/archivefs/archive"
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
		mode  ContentMode
		known archive.Representation
		want  []archive.Representation
	}{
		{"original", ContentOriginal, 0, all[:1]},
		{"pdf", ContentPDF, 0, all[1:2]},
		{"data", ContentData, 0, all[2:]},
		{"auto, nothing known", ContentAuto, 0, all},
		{"auto, originals are there", ContentAuto, archive.Original, all},
		{"auto, no originals", ContentAuto, archive.PDF, all[1:]},
		{"auto, neither", ContentAuto, archive.Data, all[2:]},
		{"a mode that was asked for stays", ContentOriginal, archive.Data, all[:1]},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := newLogged(io.Discard)
			f.opts.Mode = tt.mode
			if tt.known != 0 {
				f.chosen(tt.known)
				if tt.mode != ContentAuto {
					f.rep.Store(uint32(tt.known))
				}
			}
			if got := f.order(); !slices.Equal(got, tt.want) {
				t.Fatalf("got %v, want %v", got, tt.want)
			}
		})
	}
}

func TestAddedExtension(t *testing.T) {
	tests := []struct {
		name, contentType string
		mode              ContentMode
		known             archive.Representation
		want              string
	}{
		{"the PDF rendition", "image/jpeg", ContentPDF, 0, ".pdf"},
		{"document data", "image/jpeg", ContentData, 0, ".json"},
		{"the original, as listed", "image/jpeg", ContentOriginal, 0, ".jpg"},
		{"the original, of a type not told", "", ContentOriginal, 0, ".pdf"},
		{"the original, of any bytes", "application/octet-stream", ContentOriginal, 0, ""},
		{"auto, nothing known", "message/rfc822", ContentAuto, 0, ".eml"},
		{"auto, no originals", "message/rfc822", ContentAuto, archive.PDF, ".pdf"},
		{"auto, neither", "message/rfc822", ContentAuto, archive.Data, ".json"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := newLogged(io.Discard)
			f.opts.Mode = tt.mode
			f.chosen(tt.known)
			if got := f.addedExtension(&archive.Document{ID: 1, Name: "a", ContentType: tt.contentType}); got != tt.want {
				t.Fatalf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// anyService is embedded for Archive, which has a method of its own name.
type anyService interface{ Archive }

// blockedInfo is a service whose answers to HEAD wait.
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
		f := newLogged(io.Discard)
		f.opts.Mode, f.service.Archive = ContentAuto, service
		for range 5 {
			go f.chooseRepresentation(t.Context(), []archive.Document{{ID: 1}})
		}
		interrupted, interrupt := context.WithCancel(t.Context())
		interrupt()
		f.chooseRepresentation(interrupted, []archive.Document{{ID: 1}}) // waits for nothing
		synctest.Wait()
		close(service.answer)
		synctest.Wait()
		if n := service.asked.Load(); n != 1 || !f.settled() {
			t.Errorf("asked %d times, settled: %t", n, f.settled())
		}
	})
}
