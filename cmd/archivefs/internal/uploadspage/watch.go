package uploadspage

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/archivefs/archivefs/fs"
)

const (
	// fresh is how long a status is shown before the mount is asked again.
	fresh = time.Second
	// slowest is the longest pause before a mount that does not answer is asked again.
	slowest = time.Minute
	// plotted is the time that the plot of the traffic shows.
	plotted = 5 * time.Minute
)

// watch asks the mount for its status when somebody looks, once at a time.
type watch struct {
	mount Mount

	mu   sync.Mutex
	last seen // +checklocks:mu
	// asked is when the running request began, or the last one; ended when the last one ended.
	asked, ended time.Time // +checklocks:mu
	// answer is closed when the running request has ended; nil if none runs.
	answer chan struct{} // +checklocks:mu
	// outdated: the mount is asked although it was just now, or is being asked.
	outdated bool // +checklocks:mu
	// pause is how long not to ask a mount that did not answer.
	pause time.Duration // +checklocks:mu
}

// seen is what is known of the mount.
type seen struct {
	status  *fs.Status // the last one; nil for none
	at      time.Time  // of status
	err     error      // of the last request
	silent  bool       // the mount does not answer
	samples []sample   // of the last minutes, the oldest first
}

// sample is the traffic with the service up to a time, in bytes.
type sample struct {
	at             time.Time
	sent, received int64
}

// why is why there is no current status, nil if there is one.
func (s *seen) why() error {
	if s.silent {
		return ErrSilent
	}
	return s.err
}

func newWatch(mount Mount) *watch { return &watch{mount: mount} }

// look returns what is known, not older than fresh nor than the last outdate if the mount answers
// within patience.
func (w *watch) look(ctx context.Context) seen {
	// What comes may answer a question that is outdated by now.
	for answer, wait := w.ask(); answer != nil && comes(ctx, answer, wait); answer, wait = w.ask() {
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.last
	now.samples = slices.Clone(now.samples) // the next answer changes them
	now.silent = errors.Is(now.err, ErrSilent) || w.answer != nil && time.Since(w.asked) >= patience
	return now
}

// comes reports whether an answer comes in time.
func comes(ctx context.Context, answer <-chan struct{}, wait time.Duration) bool {
	limit := time.NewTimer(wait)
	defer limit.Stop()
	select {
	case <-answer:
		return true
	case <-limit.C:
	case <-ctx.Done():
	}
	return false
}

// ask asks the mount, unless what is known is fresh, and returns how long the answer may still take.
func (w *watch) ask() (answer <-chan struct{}, wait time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.answer == nil && (w.outdated || time.Since(w.ended) >= max(fresh, w.pause)) {
		w.answer, w.asked, w.outdated = make(chan struct{}), time.Now(), false
		go func() {
			status, err := w.mount.Status()
			w.note(status, err)
		}()
	}
	return w.answer, patience - time.Since(w.asked)
}

// note keeps an answer.
func (w *watch) note(status *fs.Status, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	close(w.answer)
	now := time.Now()
	w.answer, w.ended, w.last.err = nil, now, err
	switch {
	case errors.Is(err, ErrSilent):
		w.pause = min(max(2*w.pause, patience), slowest)
		return
	case err != nil:
		w.pause = 0
		return
	}
	w.pause = 0
	w.last.status, w.last.at = status, now
	s := sample{at: now}
	for i := range status.Requests {
		s.sent += status.Requests[i].Sent
		s.received += status.Requests[i].Received
	}
	w.last.samples = append(slices.DeleteFunc(w.last.samples, func(o sample) bool { return now.Sub(o.at) > plotted }), s)
}

// outdate makes the next look ask the mount.
func (w *watch) outdate() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.outdated = true
}
