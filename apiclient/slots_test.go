package apiclient

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/archivefs/archivefs/archive"
)

// held is a service whose requests about documents, or all, hang until they are let go.
type held struct {
	all       bool
	release   chan struct{}
	now, peak atomic.Int32 // requests in flight
}

func (h *held) serve(w http.ResponseWriter, r *http.Request) {
	n := h.now.Add(1)
	defer h.now.Add(-1)
	for p := h.peak.Load(); n > p && !h.peak.CompareAndSwap(p, n); p = h.peak.Load() {
	}
	if h.all || strings.HasSuffix(r.URL.Path, "/pdf") || strings.HasSuffix(r.URL.Path, "/data") {
		<-h.release
	}
	reply(w, http.StatusOK, mediaJSON, "[]")
}

// download fetches a document and gives its slot back.
func download(ctx context.Context, c *Client, doc archive.ID) error {
	content, err := c.Content(ctx, archive.ContentRequest{Document: doc, Representation: archive.PDF})
	if err != nil {
		return err
	}
	return errors.Join(content.Body.Close(), content.Body.Close()) // a second Close does nothing
}

func TestConnectionsAreBoundedAndSomeAreKeptForWhatIsShort(t *testing.T) {
	for _, tt := range []struct{ connections, documents int32 }{{16, 12}, {5, 4}, {4, 3}, {2, 1}} {
		synctest.Test(t, func(t *testing.T) {
			service := held{release: make(chan struct{})}
			c := newBubbleService(t, service.serve, func(cfg *Config) { cfg.Connections = int(tt.connections) })
			errs := make(chan error)
			for i := range 20 {
				go func() { errs <- download(t.Context(), c, archive.ID(i+1)) }()
			}
			synctest.Wait()
			if n := service.now.Load(); n != tt.documents {
				t.Errorf("%d of %d connections are used for documents, want %d", n, tt.connections, tt.documents)
			}
			if _, err := c.Documents(t.Context(), 7, archive.ListOptions{}); err != nil {
				t.Errorf("list while documents hang: %v", err)
			}
			if err := c.Delete(t.Context(), 4); err != nil {
				t.Errorf("delete while documents hang: %v", err)
			}
			close(service.release)
			for range 20 {
				if err := <-errs; err != nil {
					t.Error(err)
				}
			}
			if n := service.peak.Load(); n > tt.connections {
				t.Errorf("%d requests at once, want at most %d", n, tt.connections)
			}
		})
	}
}

func TestWhatIsShortMayUseAllConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service := held{all: true, release: make(chan struct{})}
		c := newBubbleService(t, service.serve, func(cfg *Config) { cfg.Connections = 4 })
		errs := make(chan error)
		for i := range 9 {
			go func() {
				_, err := c.Documents(t.Context(), archive.ID(i+1), archive.ListOptions{})
				errs <- err
			}()
		}
		synctest.Wait()
		if n := service.now.Load(); n != 4 {
			t.Errorf("%d requests at once, want 4", n)
		}
		close(service.release)
		for range 9 {
			if err := <-errs; err != nil {
				t.Error(err)
			}
		}
	})
}

// Who stops waiting for a slot leaves none taken behind.
func TestWaitForASlotThatIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service := held{all: true, release: make(chan struct{})}
		c := newBubbleService(t, service.serve, func(cfg *Config) { cfg.Connections = 2 })
		first := make(chan error, 3)
		for range 2 {
			go func() {
				_, err := c.Inboxes(t.Context())
				first <- err
			}()
		}
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		go func() { first <- download(ctx, c, 4) }() // has the slot of documents, waits for one of all
		synctest.Wait()
		cancel()
		if err := <-first; !errors.Is(err, context.Canceled) {
			t.Errorf("error is %v", err)
		}
		close(service.release)
		for range 2 {
			if err := <-first; err != nil {
				t.Error(err)
			}
		}
		for range 3 {
			if err := download(t.Context(), c, 4); err != nil {
				t.Error(err)
			}
		}
	})
}
