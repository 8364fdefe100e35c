package apiclient

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/archivefs/archivefs/archive"
)

// bucketService answers lists, and contents while it has them; else 503, as a service does
// that cannot reach its bucket.
type bucketService struct {
	mu     sync.Mutex
	away   map[string]bool // by document, "" for all; guarded by mu
	status int             // of what is away; guarded by mu
	asked  int             // requests for contents; guarded by mu
}

func newBucketService(away string) *bucketService {
	return &bucketService{away: map[string]bool{away: true}, status: http.StatusServiceUnavailable}
}

func (s *bucketService) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	id, ok := strings.CutSuffix(r.URL.Path, "/pdf")
	if !ok {
		reply(w, http.StatusOK, mediaJSON, "[]")
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked++
	if s.away[""] || s.away[strings.TrimPrefix(id, "/document/")] {
		w.Header().Set("Retry-After", "5")
		reply(w, s.status, "", "")
		return
	}
	reply(w, http.StatusOK, "application/pdf", "%PDF-1.7")
}

// lose has the bucket answer no more, back has it answer again.
func (s *bucketService) lose() { s.set(true) }
func (s *bucketService) back() { s.set(false) }

func (s *bucketService) set(away bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.away[""] = away
}

// patient is how often a document is asked for by who waits 30 s, as the bucket service says.
const patient = 7

// wantRead reads a document, and fails the test unless that costs so many requests and ends
// as it should.
func (s *bucketService) wantRead(t *testing.T, c *Client, doc archive.ID, requests int, kind archive.Kind) {
	t.Helper()
	s.mu.Lock()
	s.asked = 0
	s.mu.Unlock()
	err := download(t.Context(), c, doc)
	s.mu.Lock()
	defer s.mu.Unlock()
	if archive.KindOf(err) != kind || (err == nil) != (kind == 0) || s.asked != requests {
		t.Fatalf("document %d: %d requests, want %d; %v", doc, s.asked, requests, err)
	}
}

// Who reads many documents while the service cannot reach its bucket waits as Retry-After says
// once, keeps what is no content, and has contents as soon as they are there.
func TestWhileContentsAreAwayOneReaderWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newBucketService("")
		c := newBubbleService(t, s.ServeHTTP)
		s.wantRead(t, c, 4, patient, archive.KindBusy)
		began := time.Now()
		for doc := range archive.ID(50) {
			s.wantRead(t, c, 5+doc, 1, archive.KindBusy)
			wantBack(t, c)
		}
		if took := time.Since(began); took != 0 {
			t.Errorf("the others wait for %s", took)
		}
		if _, err := c.ContentInfo(t.Context(), 4, archive.Original); archive.KindOf(err) != archive.KindBusy || time.Since(began) != 0 {
			t.Errorf("a length after %s: %v", time.Since(began), err)
		}
		s.back()
		s.wantRead(t, c, 4, 1, 0)
		s.lose()
		s.wantRead(t, c, 4, patient, archive.KindBusy) // another time, which may be short
	})
}

// One document whose content cannot be had, for whatever reason, costs the others nothing.
func TestAMissingContentIsNotAllOfThem(t *testing.T) {
	for _, tt := range []struct {
		name   string
		status int
		first  int // requests for it
		kind   archive.Kind
	}{
		{"that is asked to be waited for", http.StatusServiceUnavailable, patient, archive.KindBusy},
		{"that is lost", http.StatusInternalServerError, patient, archive.KindServer},
		{"that is not there", http.StatusNotFound, 1, archive.KindNotFound},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newBucketService("4")
				s.status = tt.status
				c := newBubbleService(t, s.ServeHTTP)
				s.wantRead(t, c, 5, 1, 0)
				s.wantRead(t, c, 4, tt.first, tt.kind)
				for doc := range archive.ID(10) {
					s.wantRead(t, c, 5+doc, 1, 0)
				}
			})
		})
	}
}

// Another 503 than that of a content, and another end of a content than 503, are waited out
// while contents are away.
func TestWhileContentsAreAwayTheRestIsRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fail := map[string][]http.HandlerFunc{"/document/4/pdf": {busy("40")}}
		var mu sync.Mutex
		c := newBubbleService(t, func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			next := fail[r.URL.Path]
			if len(next) > 0 {
				fail[r.URL.Path] = next[1:]
			}
			mu.Unlock()
			if len(next) > 0 {
				next[0](w, r)
				return
			}
			reply(w, http.StatusOK, "text/plain", "[]")
		})
		fail["/document/list"] = []http.HandlerFunc{busy("2")}
		fail["/document/5/pdf"] = []http.HandlerFunc{cut}
		wantKind(t, download(t.Context(), c, 4), OpPDF, archive.KindBusy)
		if took, err := timedList(t, c); took != 2*time.Second || err != nil {
			t.Errorf("a list after %s: %v", took, err)
		}
		if err := download(t.Context(), c, 5); err != nil {
			t.Error(err)
		}
	})
}

// A reader that gave up says nothing about contents.
func TestAReaderThatGivesUpSaysNothingOfContents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newBucketService("")
		c := newBubbleService(t, s.ServeHTTP)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := download(ctx, c, 4); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
		s.wantRead(t, c, 4, patient, archive.KindBusy)
	})
}
