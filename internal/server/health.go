package server

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sirupsen/logrus"
)

const (
	// readyFor is how long it is believed that all is well, or not.
	readyFor = time.Second
	// readyWithin is how long database and contents may take to say so.
	readyWithin = 5 * time.Second
)

// errDraining says that the service ends, and takes what is under way to its end.
var errDraining = errors.New("the service is ending")

// health says whether requests can be answered. It remembers what was found out last, so that anybody may
// ask as often as they like.
type health struct {
	db       database
	vault    *vault
	log      logrus.FieldLogger
	draining atomic.Bool

	mu  sync.Mutex
	at  time.Time // +checklocks:mu
	err error     // +checklocks:mu
}

// Ready says why requests cannot be answered now, nil when they can. The reason may be told
// to anybody; what is behind it is logged.
func (s *Server) Ready(ctx context.Context) error { return s.health.ready(ctx) }

func (h *health) ready(ctx context.Context) error {
	if h.draining.Load() {
		return errDraining
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.at.IsZero() || time.Since(h.at) >= readyFor {
		h.err = h.check(context.WithoutCancel(ctx))
		h.at = time.Now()
	}
	return h.err
}

// checker is what can find out whether it works.
type checker interface {
	Check(ctx context.Context) error
}

func (h *health) check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	for _, part := range []struct {
		is  any
		why string
	}{
		{h.db, "the database does not answer"},
		{h.vault.contents, "the contents cannot be reached"},
	} {
		c, ok := part.is.(checker)
		if !ok {
			continue
		}
		if err := c.Check(ctx); err != nil {
			h.log.WithError(err).Error("not ready: " + part.why)
			return errors.New(part.why)
		}
	}
	return nil
}

// healthz answers GET /healthz as long as the process answers anything.
func healthz(w *response, _ *request) error {
	return w.say(http.StatusOK, "ok")
}

// readyz answers GET /readyz: 200, or 503 and the reason in a line.
func (h *health) readyz(w *response, r *request) error {
	if err := h.ready(r.Context()); err != nil {
		return w.say(http.StatusServiceUnavailable, err.Error())
	}
	return w.say(http.StatusOK, "ok")
}

// say answers with one line for people and monitors.
func (w *response) say(status int, line string) error {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(line + "\n")) // whoever asked may be gone by now
	return nil
}
