package blob_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/archivefs/archivefs/archive"
)

// A connection with an occasional byte is cut, and the request is not repeated forever.
func TestAStoreThatTricklesIsCut(t *testing.T) {
	patient, impatient, s3 := broken(t)
	content := strings.Repeat("0123456789", 200_000)
	keep(t, patient, content)
	n := receiving(s3, func(_ int, w http.ResponseWriter, r *http.Request) bool {
		w = &trickling{w, r}
		s3.Pass(w, r)
		return true
	})
	ended := make(chan error, 1)
	go func() {
		r, err := impatient.Open(t.Context(), digest(content))
		if err == nil {
			_, err = io.Copy(io.Discard, r)
			_ = r.Close()
		}
		ended <- err
	}()
	select {
	case err := <-ended:
		if archive.KindOf(err) != archive.KindUnreachable {
			t.Errorf("got %v, want unreachable", err)
		}
		if n.Load() > 4 {
			t.Errorf("it was asked %d times", n.Load())
		}
	case <-time.After(time.Minute):
		t.Error("it is still read from")
	}
	s3.Fail(nil)
	if got := read(t, impatient, digest(content)); got != content {
		t.Errorf("%d bytes of %d", len(got), len(content))
	}
}

// trickling sends a byte of an answer's body every 100 ms, as long as the request lasts.
type trickling struct {
	http.ResponseWriter
	r *http.Request
}

// Write implements io.Writer.
func (w *trickling) Write(p []byte) (int, error) {
	for i := range p {
		if _, err := w.ResponseWriter.Write(p[i : i+1]); err != nil {
			return i, err
		}
		_ = http.NewResponseController(w.ResponseWriter).Flush()
		select {
		case <-time.After(100 * time.Millisecond):
		case <-w.r.Context().Done():
			return i, w.r.Context().Err()
		}
	}
	return len(p), nil
}
