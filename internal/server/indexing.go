package server

import (
	"context"
	"time"

	"github.com/sirupsen/logrus"
)

const (
	// quietFor is how long nothing must have been done before the index is worked on.
	quietFor = time.Second
	// quietAtMost is how long a service that is never quiet goes without.
	quietAtMost = 30 * time.Second
	// aMoment is how long it is worked without a look whether somebody wants something.
	aMoment = 200 * time.Millisecond
	// indexAnew is how often it is looked for work that nobody told of: that of another instance
	// which ended, and what is tried again.
	indexAnew = time.Minute
)

// searched is the index of what is searched, which is worked on while nothing else is done.
type searched interface {
	IndexSaid(ctx context.Context) (more bool, err error)
}

// indexer works on the index, piece by piece.
type indexer struct {
	index    searched
	activity *activity
	log      logrus.FieldLogger
	cancel   context.CancelFunc
	ended    chan struct{}
}

// startIndexing begins to work on the index, until stop is called.
func (s *Server) startIndexing(ctx context.Context, on searched) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	i := &indexer{index: on, activity: s.activity, log: s.log, cancel: cancel, ended: make(chan struct{})}
	s.indexer = i
	s.activity.begin()() // who opens an archive wants something of it
	go func() {
		defer close(i.ended)
		i.run(ctx)
	}()
}

// stop ends the work and waits for the piece that is under way.
func (i *indexer) stop() {
	if i != nil {
		i.cancel()
		<-i.ended
	}
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

// catchUp works until nothing is left, or until something fails: then it goes on later.
func (i *indexer) catchUp(ctx context.Context) {
	for more := true; more; {
		err := i.activity.quiet(ctx, quietFor, quietAtMost)
		if err == nil {
			more, err = i.piece(ctx)
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
	return more, nil
}
