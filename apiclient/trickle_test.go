package apiclient

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/archivefs/archivefs/archive"
)

// trickle answers a body of which a byte comes every four seconds.
func trickle(contentType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", contentType)
		for i := range len(body) {
			chunk(w, body[i:i+1])
			select {
			case <-time.After(4 * time.Second):
			case <-r.Context().Done():
				return
			}
		}
	}
}

func TestAnAnswerThatTricklesIsATimeout(t *testing.T) {
	long := strings.Repeat(" ", 2000)
	upload := archive.Upload{Folder: 1, Name: "a"}
	for _, tt := range []struct {
		name    string
		handler http.HandlerFunc
		do      func(context.Context, *Client) error
		limits  time.Duration // how often --timeout it takes at most
		ok      bool          // the status has told the success
	}{
		{"id of an upload", trickle("text/plain", long+"17"), func(ctx context.Context, c *Client) error {
			_, err := c.Upload(ctx, upload, newBlob("x"))
			return err
		}, 1, false},
		{"listing", trickle(mediaJSON, long+"[]"), func(ctx context.Context, c *Client) error {
			_, err := c.Documents(ctx, 7, archive.ListOptions{})
			return err
		}, 2, false},
		{"folders", trickle(mediaJSON, long+`{"folders":[]}`), func(ctx context.Context, c *Client) error {
			_, err := c.Structure(ctx, 0, true)
			return err
		}, 2, false},
		{"document data", trickle(mediaJSON, long+"{}"), func(ctx context.Context, c *Client) error {
			_, err := c.Data(ctx, 7)
			return err
		}, 2, false},
		{"acknowledgement", trickle("text/plain", long), func(ctx context.Context, c *Client) error {
			return c.Archive(ctx, 7, archive.ArchiveTarget{Folder: 1})
		}, 1, true},
		{"refusal", func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusConflict)
			trickle("text/plain", long)(w, r)
		}, func(ctx context.Context, c *Client) error {
			_, err := c.CreateFolder(ctx, 7, "new")
			if archive.KindOf(err) != archive.KindConflict {
				return err
			}
			return &archive.Error{Kind: archive.KindTimeout} // as far as this test is concerned
		}, 1, false},
		{"content", trickle("application/pdf", long), func(ctx context.Context, c *Client) error {
			content, err := c.Content(ctx, archive.ContentRequest{Document: 7, Representation: archive.PDF})
			if err != nil {
				return err
			}
			defer func() { _ = content.Body.Close() }()
			_, err = io.Copy(io.Discard, content.Body)
			return err
		}, 1, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newBubbleService(t, tt.handler)
				began := time.Now()
				err := tt.do(t.Context(), c)
				// A repetition begins after a pause.
				if took := time.Since(began); took > tt.limits*DefaultStall+2*time.Second {
					t.Errorf("it took %s", took)
				}
				if tt.ok != (err == nil) || err != nil && archive.KindOf(err) != archive.KindTimeout {
					t.Errorf("error is %v", err)
				}
			})
		})
	}
}

// A service that sends 1xx, or its header, drop by drop has not answered.
func TestWhatComesBeforeAnAnswerMayNotTrickle(t *testing.T) {
	for name, handler := range map[string]http.HandlerFunc{
		"1xx": func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			for r.Context().Err() == nil {
				w.WriteHeader(http.StatusProcessing)
				time.Sleep(4 * time.Second)
			}
		},
		"header": func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			for _, err = io.WriteString(conn, "HTTP/1.1 200 OK\r\nX: "); err == nil; _, err = io.WriteString(conn, "X") {
				time.Sleep(4 * time.Second)
			}
			_ = conn.Close()
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newBubbleService(t, handler)
				began := time.Now()
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				_, err := c.Upload(ctx, archive.Upload{Folder: 1, Name: "a"}, newBlob("x"))
				wantKind(t, err, OpFileUpload, archive.KindTimeout)
				if took := time.Since(began); took > DefaultStall {
					t.Errorf("after %s", took)
				}
				time.Sleep(4 * time.Second) // in which the service notices
			})
		})
	}
}

// What is sent too slowly is cut, as what is taken is.
func TestAnUploadThatTricklesIsATimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newBubbleService(t, func(_ http.ResponseWriter, r *http.Request) {
			for {
				if _, err := r.Body.Read(make([]byte, 1<<10)); err != nil {
					return
				}
				time.Sleep(4 * time.Second)
			}
		})
		began := time.Now()
		_, err := c.Upload(t.Context(), archive.Upload{Folder: 1, Name: "a"}, newBlob(strings.Repeat("x", 1<<20)))
		wantKind(t, err, OpFileUpload, archive.KindTimeout)
		if took := time.Since(began); took > 2*DefaultStall {
			t.Errorf("after %s", took)
		}
		time.Sleep(time.Minute) // in which the service notices
	})
}

// A listing that is long, and comes at the pace of a slow line, is no stall.
func TestALongListingOverASlowLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newBubbleService(t, func(w http.ResponseWriter, _ *http.Request) {
			chunk(w, "[")
			for range 120 {
				chunk(w, strings.Repeat(" ", 100<<10))
				time.Sleep(time.Second)
			}
			chunk(w, "]")
		})
		if _, err := c.Documents(t.Context(), 7, archive.ListOptions{}); err != nil {
			t.Error(err)
		}
	})
}
