package server

import (
	"bytes"
	"context"
	"errors"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/server/engine"
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
	// untilInstalled is how often it is looked whether somebody has installed a program that was missing.
	untilInstalled = 6 * time.Hour
	// indexAnew is how often the indexer looks for work without a signal: retries, and the work of
	// another instance that ended.
	indexAnew = time.Minute
)

// searched is the search index, which is updated while the service is idle.
type searched interface {
	IndexSaid(ctx context.Context) (more bool, err error)
	Installed(ctx context.Context, packages []string) error
	ClaimContents(ctx context.Context, state store.Reading, limit int) ([]store.Unindexed, error)
	AddText(ctx context.Context, u store.Unindexed, text string, state store.Reading, reason string) error
	Renew(ctx context.Context, u store.Unindexed) error
	PutOff(ctx context.Context, u store.Unindexed, reason string) error
	Release(ctx context.Context, u store.Unindexed, reason string, then time.Time) error
}

// indexer updates the index, piece by piece: with texts that are read at once, or that are recognised, one
// content at a time.
type indexer struct {
	index searched
	state store.Reading // of the contents that it handles, and how many it claims at a time
	limit int
	// text reads a text. scan says that a part of it must be recognised. It calls next before a piece of long work.
	text     func(ctx context.Context, u store.Unindexed, next func() error) (text []byte, scan bool, err error)
	activity *activity
	wake     <-chan struct{}
	scans    chan struct{} // has room for one: a Scan that was not handled yet
	log      logrus.FieldLogger
}

// startIndexing starts the indexer.
func (s *Server) startIndexing(ctx context.Context, on searched) {
	s.activity.begin()() // opening an archive counts as activity
	texts, scans := s.newIndexers(on)
	s.inBackground(ctx, texts.run)
	s.inBackground(ctx, scans.run)
}

func (s *Server) newIndexers(on searched) (texts, scans *indexer) {
	found := make(chan struct{}, 1)
	return &indexer{on, store.Waiting, mostClaimed, s.renderer.textOf, s.activity, s.activity.changed, found, s.log},
		&indexer{on, store.Scan, 1, s.renderer.recognised, s.activity, found, found, s.log}
}

func (i *indexer) run(ctx context.Context) {
	anew := time.NewTicker(indexAnew)
	defer anew.Stop()
	for looked := (time.Time{}); ; {
		if i.state == store.Waiting && time.Since(looked) > untilInstalled {
			if err := i.index.Installed(ctx, engine.Installed()); err == nil {
				looked = time.Now()
			} else if ctx.Err() == nil {
				i.log.WithError(err).Warn("texts that lacked a program are not read again")
			}
		}
		i.catchUp(ctx)
		select {
		case <-i.wake:
		case <-anew.C:
		case <-ctx.Done():
			return
		}
	}
}

// catchUp works until nothing is left, or until an error, after which it continues later. It works a quarter of the
// time: a mount that answers from its cache sends no requests here, and must not be slowed down either.
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
	for more = i.state == store.Waiting; more && time.Now().Before(ends); {
		if more, err = i.index.IndexSaid(ctx); err != nil {
			return false, err
		}
	}
	if more {
		return true, nil
	}
	claimed, err := i.index.ClaimContents(ctx, i.state, i.limit)
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
	text, scan, err := i.read(ctx, u)
	ends, words := ctx.Err() != nil, string(text)
	ctx = context.WithoutCancel(ctx) // a claimed content is finished, or given back
	missing, lacks := errors.AsType[*engine.MissingError](err)
	switch {
	case ends:
		return i.index.Release(ctx, u, "", time.Now())
	case archive.KindOf(err) == archive.KindBusy:
		return i.index.Release(ctx, u, "", time.Now().Add(indexAnew))
	case lacks:
		return i.index.AddText(ctx, u, words, store.NoEngine, missing.Package)
	case errors.Is(err, engine.ErrUnreadable):
		return i.index.AddText(ctx, u, words, store.Unreadable, err.Error())
	case err != nil:
		i.log.WithError(err).WithFields(logrus.Fields{"content": u.Digest, "attempt": u.Attempts}).Warn("the text of a content could not be extracted")
		return i.index.PutOff(ctx, u, err.Error())
	case scan:
		defer signal(i.scans)
		return i.index.AddText(ctx, u, words, store.Scan, "")
	case render.Blank(text):
		return i.index.AddText(ctx, u, "", store.NoText, "")
	}
	return i.index.AddText(ctx, u, words, store.Read, "")
}

// read reads the text of a content. A panic counts as a failure of this content alone.
func (i *indexer) read(ctx context.Context, u store.Unindexed) (text []byte, scan bool, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			i.log.WithFields(logrus.Fields{"content": u.Digest, "panic": cause, "stack": string(debug.Stack())}).Error("extracting a text failed")
			err = errors.New("the program failed at it")
		}
	}()
	return i.text(engine.Unhurried(ctx), u, func() error {
		return errors.Join(i.activity.quiet(ctx, quietFor, quietAtMost), i.index.Renew(ctx, u))
	})
}

// textOf extracts the text of a content; it is empty if there is none.
func (m *renderer) textOf(ctx context.Context, u store.Unindexed, _ func() error) (text []byte, scan bool, err error) {
	source := render.Source{ContentType: u.ContentType, Size: u.Size}
	err = m.rendered(ctx, turns.Nobody, u.Digest, source, func(source render.Source) (err error) {
		text, err = render.Text(ctx, source)
		return err
	})
	if scan = err == nil && render.Scanned(source, text); scan {
		err = engine.Need("tesseract")
	}
	return text, scan, err
}

// recognised returns the text of a scan, which is kept.
func (m *renderer) recognised(ctx context.Context, u store.Unindexed, next func() error) (text []byte, _ bool, err error) {
	if digest, err := m.known.Rendition(ctx, u.Digest, render.Recognised); err == nil && digest != "" {
		if text, err := m.keptText(ctx, digest); err == nil {
			return text, false, nil
		}
	}
	content, err := m.vault.Open(ctx, u.Digest)
	if err != nil {
		return nil, false, err
	}
	defer func() { _ = content.Close() }()
	text, err = render.Recognise(ctx, render.Source{Content: content, ContentType: u.ContentType, Size: u.Size}, next)
	if err == nil {
		_, err = m.keepMade(ctx, u.Digest, render.Recognised, bytes.NewReader(text))
	}
	return text, false, err
}

// activity tells background work when the service is idle.
type activity struct {
	running atomic.Int64
	made    time.Time
	last    atomic.Int64  // when a request began or ended, in nanoseconds since made (monotonic)
	changed chan struct{} // has room for one: a change that was not handled yet
}

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
func (a *activity) change() { signal(a.changed) }

// signal sends to a channel that has room for one, unless it is full.
func signal(to chan<- struct{}) {
	select {
	case to <- struct{}{}:
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
	select {
	case <-time.After(d):
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
	var running sync.WaitGroup
	running.Go(func() { work(ctx) })
	stop = func() {
		cancel()
		running.Wait()
	}
	b.stops = append(b.stops, stop)
	return stop
}

func (b *background) stopBackground() {
	for _, stop := range b.stops {
		stop()
	}
}
