package staging

import (
	"sync"

	"github.com/archivefs/archivefs/internal/spool"
)

// repeats are uploads under whose names a program has begun to write again before they had settled. A
// device whose connection broke does not know what arrived, and begins again. So what it writes may be
// the same file.
type repeats struct {
	mu sync.Mutex
	// again maps the earlier upload to the later one.
	again map[*spool.Upload]*spool.Upload // +checklocks:mu
}

// note notes that again is written under the name of up, if that has not settled. Both may be nil.
func (r *repeats) note(up, again *spool.Upload) {
	if up == nil || again == nil || !up.Record().Settling {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.again == nil {
		r.again = map[*spool.Upload]*spool.Upload{}
	}
	r.again[up] = again
}

// of returns what is written under the name of up since, nil for nothing.
func (r *repeats) of(up *spool.Upload) *spool.Upload {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.again[up]
}

// forget forgets an upload that is no more.
func (r *repeats) forget(up *spool.Upload) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.again, up)
}

// covers reports whether the same bytes as those of up were written again, and are archived or wait for
// it. Then these stand for all that up stood for.
func (r *repeats) covers(up *spool.Upload, in *spool.Spool) bool {
	again := r.of(up)
	if again == nil || up.State() != spool.Committed {
		return false
	}
	_, there := in.Get(again.ID())
	a, b := up.Record(), again.Record()
	waits := there && (b.State == spool.Committed || b.State == spool.Sending)
	if a.Doubtful || !waits && b.State != spool.Confirmed || a.Size != b.Size || a.SHA256 != b.SHA256 {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for earlier, later := range r.again {
		if later == up {
			r.again[earlier] = again
		}
	}
	return true
}
