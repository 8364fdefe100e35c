//go:build linux

package office

import (
	"io"
	"math"
	"net/http"
	"sync"
)

// trouble is what the wire does to uploads. It locks itself.
type trouble struct {
	mu      sync.Mutex
	changed *sync.Cond // on mu
	status  int        // guarded by mu: with what uploads are refused; 0 for not
	reason  string     // guarded by mu: why
	most    int64      // guarded by mu: how many bytes of an upload pass; 0 for all
}

func newTrouble() *trouble {
	t := &trouble{}
	t.changed = sync.NewCond(&t.mu)
	return t
}

// Refuse makes the wire refuse uploads with a status, for a reason.
func (w *Wire) Refuse(status int, reason string) {
	w.trouble.mu.Lock()
	defer w.trouble.mu.Unlock()
	w.trouble.status, w.trouble.reason = status, reason
}

// Accept undoes Refuse.
func (w *Wire) Accept() { w.Refuse(0, "") }

// Hold lets only so many bytes of each upload pass for now, or all that are left: 0.
func (w *Wire) Hold(most int64) {
	w.trouble.mu.Lock()
	defer w.trouble.mu.Unlock()
	w.trouble.most = most
	w.trouble.changed.Broadcast()
}

// refuses answers a request that the service shall not get.
func (t *trouble) refuses(rw http.ResponseWriter) bool {
	t.mu.Lock()
	status, reason := t.status, t.reason
	t.mu.Unlock()
	if status != 0 {
		http.Error(rw, reason, status)
	}
	return status != 0
}

// room waits until a body of which n bytes have passed may go on, and returns for how long.
func (t *trouble) room(n int64) int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	for t.most > 0 && n >= t.most {
		t.changed.Wait()
	}
	if t.most == 0 {
		return math.MaxInt64
	}
	return t.most - n
}

// held is the body of an upload.
type held struct {
	io.ReadCloser
	trouble *trouble
	n       int64
}

func (h *held) Read(p []byte) (int, error) {
	p = p[:min(int64(len(p)), h.trouble.room(h.n))]
	n, err := h.ReadCloser.Read(p)
	h.n += int64(n)
	return n, err
}
