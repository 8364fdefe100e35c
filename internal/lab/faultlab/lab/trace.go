//go:build linux

package lab

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// trace is the file "trace" of a run that is kept: what programs said and were told, and
// what the service carried out, in the order in which the lab learned of it. The program's
// own log lies beside it. The zero value writes nothing.
type trace struct {
	mu  sync.Mutex
	out io.WriteCloser // nil: nothing is kept; guarded by mu
}

// begin writes to a file in dir from now on.
func (t *trace) begin(dir string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	f, err := os.OpenFile(filepath.Join(dir, "trace"), os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o600) //nolint:gosec // in a directory of the lab
	t.out = f
	return err
}

func (t *trace) end() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.out == nil {
		return nil
	}
	out := t.out
	t.out = nil
	return out.Close()
}

// say adds a line.
func (t *trace) say(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.out != nil {
		now := time.Now().UTC().Format("15:04:05.000")
		fmt.Fprintf(t.out, now+" "+format+"\n", args...) //nolint:errcheck // nothing depends on it
	}
}

// overhear is the service, of which each answer is written down.
func (t *trace) overhear(service http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		t.say("service: %s %s", r.Method, r.URL)
		service.ServeHTTP(w, r)
		if answer, ok := w.(*httptest.ResponseRecorder); ok {
			t.say("service: %s %s: %d, %d bytes", r.Method, r.URL, answer.Code, answer.Body.Len())
		}
	})
}
