// Package watch lists folders again and again that somebody has looked at lately, so that what others
// put there appears by itself. It knows nothing of listings or files: a folder is any comparable value.
//
// It costs nothing while nobody looks: no goroutine runs and no timer.
package watch

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"
)

const (
	// lately is how long a folder is listed again after somebody looked at it.
	lately = 10 * time.Minute
	// most is how many folders are listed again; those that were looked at last stay.
	most = 16
	// jitter is the share of the time between two listings by which it varies at random.
	jitter = 0.1
	// longest is the longest time between two listings while they fail.
	longest = 5 * time.Minute
)

// Watch lists folders again. It is safe for concurrent use. Its fields are set before anything else is
// used. A nil Watch watches nothing.
type Watch[F comparable] struct {
	// Every is the time between two listings of a folder; 0 watches none.
	Every time.Duration
	// List lists a folder. It returns an error if the service is away.
	List func(ctx context.Context, folder F) error
	// Go runs a function in the background. Context ends at the end of the mount.
	Go      func(func())
	Context context.Context //nolint:containedctx // the watch lives as long as the mount

	mu sync.Mutex
	// folders are those that are watched.
	folders map[F]*turn // +checklocks:mu
	// runs says that a goroutine lists them.
	runs bool // +checklocks:mu
	// failures counts listings in a row that failed.
	failures int // +checklocks:mu
	// hastened is closed when all folders are due; nil before run waits for one.
	hastened chan struct{} // +checklocks:mu
}

// turn is a watched folder. It is guarded by mu of Watch.
type turn struct {
	seen time.Time // when somebody looked at it last
	due  time.Time // when it is listed next
}

// Looked notes that somebody has listed a folder, which is watched from now on.
func (w *Watch[F]) Looked(folder F) {
	if w == nil || w.Every <= 0 || w.Context.Err() != nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	if t := w.folders[folder]; t != nil {
		t.seen = now
		return
	}
	if w.folders == nil {
		w.folders = map[F]*turn{}
	}
	if len(w.folders) >= most {
		w.dropOldestLocked()
	}
	w.folders[folder] = &turn{seen: now, due: now.Add(w.pauseLocked())}
	if !w.runs {
		w.runs = true
		w.Go(w.run)
	}
}

// Used notes that somebody uses what is in a folder. That keeps it watched, if it is.
func (w *Watch[F]) Used(folder F) {
	if w == nil || w.Every <= 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if t := w.folders[folder]; t != nil {
		t.seen = time.Now()
	}
}

// Hasten lists all watched folders now, because the service may be reached again.
func (w *Watch[F]) Hasten() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.failures = 0
	for _, t := range w.folders {
		t.due = time.Now()
	}
	if w.hastened != nil {
		close(w.hastened)
		w.hastened = nil
	}
}

// Watches reports whether a folder is watched.
func (w *Watch[F]) Watches(folder F) bool {
	if w.Every <= 0 {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.folders[folder] != nil
}

// dropOldestLocked drops the folder at which nobody has looked for the longest time.
// +checklocks:w.mu
func (w *Watch[F]) dropOldestLocked() {
	var oldest F
	var seen time.Time
	for f, t := range w.folders {
		if seen.IsZero() || t.seen.Before(seen) {
			oldest, seen = f, t.seen
		}
	}
	delete(w.folders, oldest)
}

// pauseLocked returns the time until the next listing of a folder: longer while listings fail.
// +checklocks:w.mu
func (w *Watch[F]) pauseLocked() time.Duration {
	d := w.Every
	for range w.failures {
		d = min(2*d, max(longest, w.Every))
	}
	return time.Duration(float64(d) * (1 + jitter*(2*rand.Float64()-1))) //nolint:gosec // to spread requests
}

// run lists folders one after the other until none is watched any more.
func (w *Watch[F]) run() {
	for {
		folder, due, hastened, ok := w.next()
		if !ok {
			return
		}
		select {
		case <-time.After(time.Until(due)):
		case <-hastened:
		case <-w.Context.Done():
			w.mu.Lock()
			defer w.mu.Unlock()
			w.folders, w.runs = nil, false
			return
		}
		if due, ok := w.due(folder); !ok || time.Now().Before(due) {
			continue
		}
		w.listed(folder, w.List(w.Context, folder))
	}
}

// next returns the folder that is due next, after it has dropped those that nobody looks at, and what
// ends the wait for it early. ok is false if none is left; then run ends.
func (w *Watch[F]) next() (folder F, due time.Time, hastened <-chan struct{}, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for f, t := range w.folders {
		switch {
		case time.Since(t.seen) > lately:
			delete(w.folders, f)
		case !ok || t.due.Before(due):
			folder, due, ok = f, t.due, true
		}
	}
	w.runs = ok
	if w.hastened == nil {
		w.hastened = make(chan struct{})
	}
	return folder, due, w.hastened, ok
}

// due returns when a folder is due, false if it is not watched any more.
func (w *Watch[F]) due(folder F) (time.Time, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	t := w.folders[folder]
	if t == nil || time.Since(t.seen) > lately {
		return time.Time{}, false
	}
	return t.due, true
}

func (w *Watch[F]) listed(folder F, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil {
		w.failures++
	} else {
		w.failures = 0
	}
	if t := w.folders[folder]; t != nil {
		t.due = time.Now().Add(w.pauseLocked())
	}
}
