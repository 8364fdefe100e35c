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
	// quietFor is how long the service must be idle before the index is updated.
	quietFor = time.Second
	// quietAtMost is how long updates of the index wait for a busy service.
	quietAtMost = 30 * time.Second
	// aMoment is how long the indexer works before it checks for requests.
	aMoment = 200 * time.Millisecond
	// restsFor is the pause after work, as a multiple of its duration.
	restsFor = 3
	// mostClaimed is how many contents an instance claims at a time.
	mostClaimed = 16
	// untilInstalled is how long a PDF waits for somebody to install poppler-utils.
	untilInstalled = 6 * time.Hour
	// indexAnew is how often the indexer looks for work without a signal: retries, and the work of
	// another instance that ended.
	indexAnew = time.Minute
)

// searched is the search index, which is updated while the service is idle.
type searched interface {
	IndexSaid(ctx context.Context) (more bool, err error)
	ClaimContents(ctx context.Context, limit int) ([]store.Unindexed, error)
	AddText(ctx context.Context, u store.Unindexed, text string) error
	PutOff(ctx context.Context, u store.Unindexed, reason string) error
	Release(ctx context.Context, u store.Unindexed, reason string, then time.Time) error
}

// indexer updates the index, piece by piece.
type indexer struct {
	index    searched
	text     func(ctx context.Context, u store.Unindexed) (string, error)
	activity *activity
	log      logrus.FieldLogger
}

// startIndexing starts the indexer.
func (s *Server) startIndexing(ctx context.Context, on searched) {
	s.activity.begin()() // opening an archive counts as activity
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

// catchUp works until nothing is left, or until an error, after which it continues later. It works
// a quarter of the time: a mount that answers from its cache sends no requests here, and must not
// be slowed down either.
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
				i.log.WithError(err).Warn("the search index could not be updated; searches may be slow or incomplete")
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
			_ = i.activity.quiet(ctx, quietFor, quietAtMost) // at shutdown, content gives back what is claimed
			ends = time.Now().Add(aMoment)
		}
		err = errors.Join(err, i.content(ctx, u))
	}
	return len(claimed) > 0, err
}

// content adds the text of a content to the index. The error is that of the database.
func (i *indexer) content(ctx context.Context, u store.Unindexed) error {
	text, err := i.text(ctx, u)
	ends := ctx.Err() != nil
	ctx = context.WithoutCancel(ctx) // a claimed content is finished, or given back
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
	i.log.WithError(err).WithFields(logrus.Fields{"content": u.Digest, "attempt": u.Attempts}).Warn("the text of a content could not be extracted")
	return i.index.PutOff(ctx, u, err.Error())
}

// textOf extracts the text of a content; it is empty if there is none. A panic counts as a failure
// of this content alone.
func (m *renderer) textOf(ctx context.Context, u store.Unindexed) (_ string, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			m.log.WithFields(logrus.Fields{"content": u.Digest, "panic": cause, "stack": string(debug.Stack())}).Error("extracting a text failed")
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

// activity tells background work when the service is idle.
type activity struct {
	running atomic.Int64
	made    time.Time
	last    atomic.Int64  // when a request began or ended, in nanoseconds since made (monotonic)
	changed chan struct{} // has room for one: a change that was not handled yet
}

func newActivity() *activity { return &activity{made: time.Now(), changed: make(chan struct{}, 1)} }

// begin marks the service as busy until the returned function is called.
func (a *activity) begin() (end func()) {
	a.running.Add(1)
	a.last.Store(int64(time.Since(a.made)))
	return func() {
		a.last.Store(int64(time.Since(a.made)))
		a.running.Add(-1)
	}
}

// change signals a change.
func (a *activity) change() {
	select {
	case a.changed <- struct{}{}:
	default:
	}
}

// quiet waits until the service is idle, or was busy for too long. The error is that of ctx.
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

// pause waits. It returns the error of ctx if that ends first.
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

// background is work that runs independently of requests.
type background struct {
	stops []func() // only Open adds to them
}

// inBackground runs work until stop, or until all work is stopped; both wait for the current piece.
// It continues when ctx is done.
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
