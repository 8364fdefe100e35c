package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/server/store"
)

func TestEveryKindHasAStatus(t *testing.T) {
	t.Parallel()
	table := outcomes()
	used := []int{400, 401, 403, 404, 408, 409, 413, 429, 500, 503}
	for kind := range archive.KindEnd {
		if o, ok := table[kind]; !ok || !slices.Contains(used, o.status) || o.name == "" {
			t.Errorf("%v: %+v", kind, o)
		}
	}
}

func TestInnerErrorsAreNotTold(t *testing.T) {
	t.Parallel()
	s, w := quiet(t), httptest.NewRecorder()
	s.front.answer(&response{ResponseWriter: w}, fmt.Errorf("open /secret/path: %w", errors.New("disk full")))
	if w.Code != http.StatusInternalServerError || strings.Contains(w.Body.String(), "secret") {
		t.Errorf("%d %s", w.Code, w.Body.String())
	}
}

// If a dependency of the service is unreachable, the answer is 503 with a Retry-After.
func TestWhatIsAwayIsWorthAnotherTry(t *testing.T) {
	t.Parallel()
	s, w := quiet(t), httptest.NewRecorder()
	s.front.answer(&response{ResponseWriter: w}, fmt.Errorf("keep content: %w", &archive.Error{Op: "bucket", Kind: archive.KindUnreachable, Err: errors.New("secret")}))
	if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" || strings.Contains(w.Body.String(), "secret") {
		t.Errorf("%d %v %s", w.Code, w.Header(), w.Body.String())
	}
}

func TestAPanicIsAnsweredOrCutsTheConnection(t *testing.T) {
	t.Parallel()
	s := quiet(t)
	for _, test := range []struct {
		name string
		do   http.HandlerFunc
		cut  bool
	}{
		{"before the answer", func(http.ResponseWriter, *http.Request) { panic("bug") }, false},
		{"within the answer", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("half")); panic("bug") }, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := httptest.NewRecorder()
			cut := false
			func() {
				defer func() {
					err, _ := recover().(error)
					cut = errors.Is(err, http.ErrAbortHandler)
				}()
				s.front.logged(s.front.recovered(test.do)).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
			}()
			if cut != test.cut || !cut && w.Code != http.StatusInternalServerError {
				t.Errorf("cut %v, status %d", cut, w.Code)
			}
		})
	}
}

// failingList fails after some documents.
type failingList struct {
	wholeArchive
	after int
}

func (c failingList) List(_ context.Context, _ store.Query, each func(store.Listed) error) error {
	for n := range c.after {
		d := store.Listed{ID: archive.ID(n + 1), Keywords: "[]", Metadata: "[]"}
		if err := each(d); err != nil {
			return err
		}
	}
	return errors.New("the disk is gone")
}

func TestAListThatFailsIsNeverTakenForWhole(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		after int
		cut   bool
	}{{0, false}, {3, false}, {5000, true}} {
		s := quiet(t)
		id, err := s.AddMandator(t.Context(), "M")
		if err != nil {
			t.Fatal(err)
		}
		s.catalog = failingList{wholeArchive: s.catalog, after: test.after}
		w := httptest.NewRecorder()
		cut := false
		func() {
			defer func() { cut = recover() != nil }()
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, fmt.Sprintf("/api/v2/document/list?folder-id=%d", id), nil)
			s.own(listed).ServeHTTP(w, r)
		}()
		if cut != test.cut || !cut && w.Code != http.StatusInternalServerError {
			t.Errorf("after %d documents: cut %v, status %d", test.after, cut, w.Code)
		}
	}
}

// own answers requests of the default tenant, with no credentials.
func (s *Server) own(next handler) http.Handler {
	return s.front.problems(func(w *response, r *request) error {
		r.catalog = s.catalog
		return next(w, r)
	})
}

func quiet(t *testing.T) *Server {
	t.Helper()
	s, err := Open(t.Context(), Options{Data: t.TempDir(), Database: NewDatabase(t), Blobs: NewBlobs(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}
