package server

import (
	"context"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/archivefs/archivefs/archive"
)

// patience is how long a request waits for its turn before it is sent away.
const patience = 10 * time.Second

// places bounds how many do something at a time.
type places struct {
	free    chan struct{} // has a value for each place that is taken
	waiters atomic.Int64
}

func newPlaces(n int) *places { return &places{free: make(chan struct{}, n)} }

func (p *places) taken() int   { return len(p.free) }
func (p *places) waiting() int { return int(p.waiters.Load()) }

// take waits for a place. It reports false when none became free in time, or ctx ended.
func (p *places) take(ctx context.Context, patience time.Duration) bool {
	select {
	case p.free <- struct{}{}:
		return true
	default:
	}
	p.waiters.Add(1)
	defer p.waiters.Add(-1)
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case p.free <- struct{}{}:
		return true
	case <-late.C:
	case <-ctx.Done():
	}
	return false
}

func (p *places) leave() { <-p.free }

// inTurn lets so many requests in at a time as the options say, and so many uploads among
// them. Nothing of a request's body is read before its turn. One that waited too long is
// answered 429, after which clients may repeat whatever they asked.
func (s *Server) inTurn(t traits, next handler) handler {
	return func(w *response, r *http.Request) error {
		if t&upload != 0 {
			if !s.uploads.take(r.Context(), s.patience) {
				return sentAway("uploads")
			}
			defer s.uploads.leave()
		}
		if !s.places.take(r.Context(), s.patience) {
			return sentAway("requests")
		}
		defer s.places.leave()
		return next(w, r)
	}
}

func sentAway(tooMany string) error {
	return refuse(archive.KindBusy, "too many %s are under way; try again in a moment", tooMany)
}
