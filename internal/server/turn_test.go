package server

import (
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/archivefs/archivefs/internal/server/turns"
)

// As many requests run as the options allow; further ones wait, and are answered 429 in the end.
func TestTurns(t *testing.T) {
	t.Parallel()
	s, err := Open(t.Context(), Options{Data: t.TempDir(), Database: NewDatabase(t), Blobs: NewBlobs(t), Credentials: Credentials{APIKey: "k"}, MaxRequests: 2, MaxUploads: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	handler := s.Handler()
	ask := func(method, path string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader("x"))
		r.Header.Set("API-Key", "k")
		handler.ServeHTTP(w, r)
		return w
	}
	s.SetPatience(time.Millisecond)
	wantBusy := func(w *httptest.ResponseRecorder) {
		t.Helper()
		if w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") != "1" || !strings.Contains(w.Body.String(), ":busy") {
			t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
		}
	}
	s.front.uploads.Take(t.Context(), turns.Party{}, 0)
	wantBusy(ask(http.MethodPost, "/api/v2/file-upload"))
	if w := ask(http.MethodGet, "/api/v2/inboxes"); w.Code != http.StatusOK {
		t.Errorf("beside an upload: %d", w.Code)
	}
	s.front.places.Take(t.Context(), turns.Party{}, 0)
	s.front.places.Take(t.Context(), turns.Party{}, 0)
	wantBusy(ask(http.MethodGet, "/api/v2/inboxes"))
	if w := ask(http.MethodGet, "/readyz"); w.Code != http.StatusOK {
		t.Errorf("readiness while all is busy: %d", w.Code)
	}
	s.SetPatience(time.Minute)
	waited := make(chan *httptest.ResponseRecorder)
	go func() { waited <- ask(http.MethodGet, "/api/v2/inboxes") }()
	for s.Stats(t.Context()).Waiting == 0 {
		time.Sleep(time.Millisecond) // until it waits
	}
	s.front.places.Leave(turns.Party{})
	if w := <-waited; w.Code != http.StatusOK {
		t.Errorf("after its turn came: %d", w.Code)
	}
	stats := s.Stats(t.Context())
	if stats.Folders != 0 || stats.Documents != 0 {
		t.Errorf("%+v", stats)
	}
	if stats.Refused["busy"] != 1 || stats.Uploads != 1 || stats.Requests != 0 || len(stats.Databases) == 0 {
		t.Errorf("%+v", stats)
	}
	for _, o := range stats.Operations {
		if o.Route == "/api/v2/inboxes" && (o.Statuses != [5]int64{1: 2, 3: 1} || o.Latency == [16]int64{} || o.Sent == 0) {
			t.Errorf("%+v", o)
		}
	}
}

// A request that waits too long for a preview, or in too long a line, is answered 429; the indexer retries later.
func TestALongQueueForPreviewsIsSentAway(t *testing.T) {
	t.Parallel()
	s := opened(t, Options{Data: t.TempDir(), Database: NewDatabase(t), Blobs: NewBlobs(t), Credentials: Credentials{APIKey: "k"}})
	s.stopBackground()
	m, err := s.AddMandator(t.Context(), "M")
	if err != nil {
		t.Fatal(err)
	}
	id := put(t, s, m, "a.txt", "lighthouse")
	for key := range int64(maxAtWork) {
		s.renderer.workers.Take(t.Context(), turns.Party{Key: key + 1}, 0)
	}
	s.SetPatience(time.Millisecond)
	handler := s.Handler()
	for _, path := range []string{"/page/" + strconv.Itoa(int(id)*pagesPerDocument+1) + "/preview", "/document/" + strconv.Itoa(int(id)) + "/ocr-result"} {
		w := httptest.NewRecorder()
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, base+path, nil)
		r.Header.Set("API-Key", "k")
		handler.ServeHTTP(w, r)
		if w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") == "" || !strings.Contains(w.Body.String(), ":busy") {
			t.Errorf("%s: %d %v %s", path, w.Code, w.Header(), w.Body)
		}
	}
	workOff(t, s)
	wantFound(t, s, "lighthouse", 0)
	if b, err := s.db.Index.Texts(t.Context()); err != nil || b["waiting"] != 1 || len(b) != 1 {
		t.Errorf("%+v, %v", b, err)
	}
	gave, err := s.db.Index.Unread(t.Context(), "", 9)
	if err != nil || len(gave) != 0 {
		t.Errorf("the index has given up %v, %v", gave, err)
	}
}

func TestADatabaseThatIsClosedIsNotReady(t *testing.T) {
	t.Parallel()
	s := quiet(t)
	if err := s.Ready(t.Context()); err != nil {
		t.Errorf("ready: %v", err)
	}
	s.health.mu.Lock()
	s.health.at = time.Time{}
	s.health.mu.Unlock()
	s.health.draining.Store(true)
	if err := s.Ready(t.Context()); err == nil || err.Error() != "the service is ending" {
		t.Errorf("draining: %v", err)
	}
	s.health.draining.Store(false)
	if err := s.db.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Ready(t.Context()); err == nil || err.Error() != "the database does not answer" {
		t.Errorf("closed: %v", err)
	}
}

// The count of documents is cached.
func TestHoldings(t *testing.T) {
	t.Parallel()
	s := quiet(t)
	folder, err := s.AddMandator(t.Context(), "M")
	if err != nil {
		t.Fatal(err)
	}
	fill(t, s, folder, 3)
	want := func(documents int64) {
		t.Helper()
		if stats := s.Stats(t.Context()); stats.Folders != 1 || stats.Documents != documents {
			t.Errorf("%d folders, %d documents, want %d", stats.Folders, stats.Documents, documents)
		}
	}
	want(3)
	fill(t, s, folder, 1)
	want(3)
	s.held.mu.Lock()
	s.held.at = s.held.at.Add(-countedFor)
	s.held.mu.Unlock()
	want(4)
}
