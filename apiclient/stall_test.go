package apiclient

import (
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/pace"
)

func TestProgressKeepsARequestAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newBubbleService(t, func(w http.ResponseWriter, r *http.Request) {
			for { // an upload of which a little is taken every 20 s
				if _, err := io.CopyN(io.Discard, r.Body, 32<<10); err != nil {
					break
				}
				time.Sleep(20 * time.Second)
			}
			reply(w, http.StatusOK, "text/plain", "17")
		})
		started := time.Now()
		id, err := c.Upload(t.Context(), archive.Upload{Folder: 1, Name: "a"}, newBlob(strings.Repeat("x", 900<<10)))
		if err != nil || id != 17 || time.Since(started) < 2*time.Minute {
			t.Errorf("id %d, %v after %s", id, err, time.Since(started))
		}
	})
}

// The counters say how long the service has been silent, before a request that waits for it has failed.
func TestSilenceOfTheService(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newBubbleService(t, func(w http.ResponseWriter, r *http.Request) {
			if _, err := io.Copy(io.Discard, r.Body); err != nil {
				t.Error(err)
			}
			time.Sleep(20 * time.Second)
			reply(w, http.StatusOK, "text/plain", "17")
		})
		ended := make(chan error)
		go func() {
			_, err := c.Upload(t.Context(), archive.Upload{Folder: 1, Name: "a"}, newBlob("x"))
			ended <- err
		}()
		time.Sleep(12 * time.Second)
		if s := c.Stats(); len(s) != 1 || s[0].Silent != 12*time.Second || s[0].Requests != 0 {
			t.Errorf("after 12 s: %+v", s)
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if s := c.Stats(); len(s) != 1 || s[0].Silent != 0 || s[0].Requests != 1 {
			t.Errorf("after the answer: %+v", s)
		}
	})
}

// piece is what a content brings in 30 s at the least pace.
var piece = strings.Repeat("x", 30*pace.Least)

// drip sends three pieces of a body, pause apart, then hangs if it is told to.
func drip(pause time.Duration, then http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", strconv.Itoa(3*len(piece)))
		for range 2 {
			chunk(w, piece)
			time.Sleep(pause)
		}
		if then != nil {
			then(w, r)
			return
		}
		chunk(w, piece)
	}
}

func TestStallOfABody(t *testing.T) {
	for _, tc := range []struct {
		name    string
		handler http.HandlerFunc
		want    string
		kind    archive.Kind
	}{
		{"slow", drip(29*time.Second, nil), piece + piece + piece, 0},
		{"stalled", drip(time.Second, hang), piece + piece, archive.KindTimeout},
		{"cut", drip(time.Second, cut), piece + piece, archive.KindInterrupted},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newBubbleService(t, tc.handler)
				content, err := c.Content(t.Context(), archive.ContentRequest{Document: 4, Representation: archive.PDF})
				if err != nil {
					t.Fatal(err)
				}
				got, err := io.ReadAll(content.Body)
				if string(got) != tc.want {
					t.Errorf("read %d bytes, want %d", len(got), len(tc.want))
				}
				if tc.kind == 0 && err != nil {
					t.Error(err)
				}
				if tc.kind != 0 {
					wantKind(t, err, OpPDF, tc.kind)
				}
				if err := content.Body.Close(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func TestASlowReaderIsNoStall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newBubbleService(t, answer(http.StatusOK, "", strings.Repeat("x", 1<<20)))
		content, err := c.Content(t.Context(), archive.ContentRequest{Document: 4, Representation: archive.PDF})
		if err != nil {
			t.Fatal(err)
		}
		buf := make([]byte, 100<<10)
		read := 0
		for err == nil {
			var n int
			n, err = content.Body.Read(buf)
			read += n
			time.Sleep(10 * time.Minute)
		}
		if err != io.EOF || read != 1<<20 { //nolint:errorlint // io.Reader demands this very value
			t.Errorf("read %d bytes, %v", read, err)
		}
		if err := content.Body.Close(); err != nil {
			t.Error(err)
		}
	})
}
