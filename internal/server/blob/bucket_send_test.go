package blob_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	"github.com/archivefs/archivefs/archive"
)

// spoil lets some bytes of a request's body reach the service.
func spoil(r *http.Request, after int64, then io.Reader) {
	r.Body = io.NopCloser(io.MultiReader(io.LimitReader(r.Body, after), then))
}

// sending are faults of requests with a body.
var sending = map[string]func(w http.ResponseWriter, r *http.Request) bool{
	"cut": func(_ http.ResponseWriter, r *http.Request) bool {
		spoil(r, r.ContentLength/2, iotest.ErrReader(io.ErrUnexpectedEOF))
		return false
	},
	"altered": func(_ http.ResponseWriter, r *http.Request) bool {
		spoil(r, r.ContentLength-1, strings.NewReader("#"))
		return false
	},
	"failed": func(w http.ResponseWriter, _ *http.Request) bool {
		w.WriteHeader(http.StatusInternalServerError)
		return true
	},
	"busy": func(w http.ResponseWriter, _ *http.Request) bool {
		w.WriteHeader(http.StatusServiceUnavailable)
		return true
	},
	"done, and not reported": func(w http.ResponseWriter, r *http.Request) bool {
		panic(http.ErrAbortHandler)
	},
	"silent": func(_ http.ResponseWriter, r *http.Request) bool {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
		return true
	},
}

func isLarge(r *http.Request) bool { return r.Method == http.MethodPut && r.ContentLength > 0 }

// A failing service keeps neither a content nor a part of it. After one or two failures a content is
// sent again.
func TestSendingFails(t *testing.T) {
	patient, impatient, s3 := broken(t)
	for name, fault := range sending {
		for kind, content := range map[string]string{"small": strings.Repeat("small ", 1000), "in parts": strings.Repeat("in parts", s3part/4)} {
			if name == "silent" && kind != "small" {
				continue // it takes long, and each part is sent like a small content
			}
			bucket := patient
			if name == "silent" {
				bucket = impatient
			}
			t.Run(name+"/"+kind, func(t *testing.T) {
				s3.Fail(func(w http.ResponseWriter, r *http.Request) bool { return isLarge(r) && fault(w, r) })
				staged := stage(t, bucket, content)
				err := bucket.Publish(t.Context(), staged)
				s3.Fail(nil)
				if err == nil {
					t.Fatal("published")
				}
				if kind := archive.KindOf(err); name != "altered" && kind != archive.KindUnreachable {
					t.Errorf("got %v of kind %v, want unreachable", err, kind)
				}
				wantMissing(t, bucket, content)
				if objects, unfinished := inBucket(t, s3); objects+unfinished != 0 {
					t.Errorf("left %d objects and %d unfinished ones", objects, unfinished)
				}
				var failures atomic.Int32
				s3.Fail(func(w http.ResponseWriter, r *http.Request) bool {
					return name != "altered" && isLarge(r) && failures.Add(1) <= 2 && fault(w, r)
				})
				if err := bucket.Publish(t.Context(), staged); err != nil {
					t.Fatal(err)
				}
				s3.Fail(nil)
				if got := read(t, bucket, digest(content)); got != content {
					t.Errorf("%d bytes of %d", len(got), len(content))
				}
				if err := errors.Join(bucket.Remove(t.Context(), digest(content)), bucket.Remove(t.Context(), digest(content))); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// Walk removes old parts that could not be removed before.
func TestWalkDropsParts(t *testing.T) {
	bucket, _, s3 := broken(t)
	s3.Fail(func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Query().Get("partNumber") == "2" || r.Method == http.MethodDelete {
			w.WriteHeader(http.StatusForbidden)
			return true
		}
		return false
	})
	if err := bucket.Publish(t.Context(), stage(t, bucket, strings.Repeat("x", s3part+1))); archive.KindOf(err) != archive.KindServer {
		t.Errorf("got %v", err)
	}
	s3.Fail(nil)
	for _, tt := range []struct {
		before time.Duration
		want   int
	}{{-time.Hour, 1}, {time.Hour, 0}} {
		if found := walk(t, bucket, time.Now().Add(tt.before)); len(found) != 0 {
			t.Errorf("walked over %q", found)
		}
		if _, unfinished := inBucket(t, s3); unfinished != tt.want {
			t.Errorf("%d unfinished, want %d", unfinished, tt.want)
		}
	}
}
