package server

import (
	"context"
	"errors"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/server/poppler"
	"github.com/archivefs/archivefs/internal/server/render"
	"github.com/archivefs/archivefs/internal/server/store"
	"github.com/archivefs/archivefs/internal/server/turns"
)

const (
	// quietFor is how long nothing must have been done before the index is worked on.
	quietFor = time.Second
	// quietAtMost is how long a service that is never quiet goes without.
	quietAtMost = 30 * time.Second
	// aMoment is how long it is worked without a look whether somebody wants something.
	aMoment = 200 * time.Millisecond
	// restsFor is how long it rests after it has worked, as a multiple of that.
	restsFor = 3
	// mostClaimed is how many contents an instance has in hand.
	mostClaimed = 16
	// untilInstalled is how long a PDF waits for somebody to install what can read it.
	untilInstalled = 6 * time.Hour
	// indexAnew is how often it is looked for work that nobody told of: that of another instance
	// which ended, and what is tried again.
	indexAnew = time.Minute
)

// searched is the index of what is searched, which is worked on while nothing else is done.
type searched interface {
	IndexSaid(ctx context.Context) (more bool, err error)
	ClaimContents(ctx context.Context, limit int) ([]store.Unindexed, error)
	AddText(ctx context.Context, u store.Unindexed, text string) error
	PutOff(ctx context.Context, u store.Unindexed, reason string) error
	Release(ctx context.Context, u store.Unindexed, reason string, then time.Time) error
}

// indexer works on the index, piece by piece.
type indexer struct {
	index    searched
	text     func(ctx context.Context, u store.Unindexed) (string, error)
	activity *activity
	log      logrus.FieldLogger
}

// startIndexing begins to work on the index.
func (s *Server) startIndexing(ctx context.Context, on searched) {
	s.activity.begin()() // who opens an archive wants something of it
	s.inBackground(ctx, s.newIndexer(on).run)
}

func (s *Server) newIndexer(on searched) *indexer {
	return &indexer{index: on, text: s.renderer.textOf, activity: s.activity, log: s.log}
}

func (i *indexer) run(ctx context.Context) {
	anew := time.NewTicker(indexAnew)
	defer anew.Stop()
	for {
		i.catchUp(ctx)
		select {
		case <-i.activity.changed:
		case <-anew.C:
		case <-ctx.Done():
			return
		}
	}
}

// catchUp works until nothing is left, or until something fails: then it goes on later. It works a
// quarter of the time: what a mount answers from its cache asks for nothing here, and must not be kept
// waiting either.
func (i *indexer) catchUp(ctx context.Context) {
	for more := true; more; {
		err := i.activity.quiet(ctx, quietFor, quietAtMost)
		if began := time.Now(); err == nil {
			more, err = i.piece(ctx)
			if more && err == nil {
				err = pause(ctx, restsFor*time.Since(began))
			}
		}
		if err != nil {
			if ctx.Err() == nil {
				i.log.WithError(err).Warn("searches may be slow, or miss what documents hold: the index could not be worked on")
			}
			return
		}
	}
}

// piece works for a moment, and reports whether there may be more to do.
func (i *indexer) piece(ctx context.Context) (more bool, err error) {
	ends := time.Now().Add(aMoment)
	for more = true; more && time.Now().Before(ends); {
		if more, err = i.index.IndexSaid(ctx); err != nil {
			return false, err
		}
	}
	if more {
		return true, nil
	}
	claimed, err := i.index.ClaimContents(ctx, mostClaimed)
	if err != nil {
		return false, err
	}
	for _, u := range claimed {
		if time.Now().After(ends) {
			_ = i.activity.quiet(ctx, quietFor, quietAtMost) // at the end, content gives back what is in hand
			ends = time.Now().Add(aMoment)
		}
		err = errors.Join(err, i.content(ctx, u))
	}
	return len(claimed) > 0, err
}

// content takes the text of a content into the index. The error is that of the database.
func (i *indexer) content(ctx context.Context, u store.Unindexed) error {
	text, err := i.text(ctx, u)
	ends := ctx.Err() != nil
	ctx = context.WithoutCancel(ctx) // what is in hand is finished, or given back
	switch {
	case ends:
		return i.index.Release(ctx, u, "", time.Now())
	case err == nil:
		return i.index.AddText(ctx, u, text)
	case archive.KindOf(err) == archive.KindBusy:
		return i.index.Release(ctx, u, "", time.Now().Add(indexAnew))
	case errors.Is(err, poppler.ErrMissing):
		return i.index.Release(ctx, u, err.Error(), time.Now().Add(untilInstalled))
	}
	i.log.WithError(err).WithFields(logrus.Fields{"content": u.Digest, "attempt": u.Attempts}).Warn("the text of a content could not be found out")
	return i.index.PutOff(ctx, u, err.Error())
}

// textOf finds out the text of a content; it is empty when there is none. A mistake in the program
// is a failure of this content alone.
func (m *renderer) textOf(ctx context.Context, u store.Unindexed) (_ string, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			m.log.WithFields(logrus.Fields{"content": u.Digest, "panic": cause, "stack": string(debug.Stack())}).Error("a text failed")
			err = errors.New("the program failed at it")
		}
	}()
	var text []byte
	err = m.rendered(ctx, turns.Nobody, u.Digest, render.Source{ContentType: u.ContentType, Size: u.Size}, func(source render.Source) (err error) {
		text, err = render.Text(ctx, source)
		return err
	})
	return string(text), err
}

// activity tells work that can wait when nothing else is done.
type activity struct {
	running atomic.Int64
	made    time.Time
	last    atomic.Int64  // when something began or ended, in nanoseconds since made, whatever became of the clock
	changed chan struct{} // of one place: something was changed since it was taken
}

func newActivity() *activity { return &activity{made: time.Now(), changed: make(chan struct{}, 1)} }

// begin tells that something is done, until the returned function is called.
func (a *activity) begin() (end func()) {
	a.running.Add(1)
	a.last.Store(int64(time.Since(a.made)))
	return func() {
		a.last.Store(int64(time.Since(a.made)))
		a.running.Add(-1)
	}
}

// change tells that something was changed.
func (a *activity) change() {
	select {
	case a.changed <- struct{}{}:
	default:
	}
}

// quiet waits until nothing was done for some time, or too much was for too long. The error is
// that of ctx.
func (a *activity) quiet(ctx context.Context, enough, atMost time.Duration) error {
	for ends := time.Now().Add(atMost); time.Now().Before(ends); {
		rest := enough
		if a.running.Load() == 0 {
			if rest -= time.Since(a.made) - time.Duration(a.last.Load()); rest <= 0 {
				break
			}
		}
		if err := pause(ctx, rest); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// pause waits, or returns the error of the context that ended before.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// background is what goes on beside the requests.
type background struct {
	stops []func() // only who opens the archive adds to them
}

// inBackground does some work until stop, or until all is stopped; both wait for the piece
// that is under way. It goes on when ctx is done.
func (b *background) inBackground(ctx context.Context, work func(context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		work(ctx)
	}()
	stop = func() {
		cancel()
		<-ended
	}
	b.stops = append(b.stops, stop)
	return stop
}

func (b *background) stopBackground() {
	for _, stop := range b.stops {
		stop()
	}
}
