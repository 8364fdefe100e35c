package server

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/archivefs/archivefs/internal/server/store"
)

const (
	// readyFor is how long the result of a check is used.
	readyFor = time.Second
	// readyWithin is how long database and contents may take to answer.
	readyWithin = 5 * time.Second
)

// errDraining: the service is shutting down.
var errDraining = errors.New("the service is ending")

// health checks whether requests can be answered. It remembers the last result, so that checks may
// be frequent.
type health struct {
	db       *store.Store
	vault    *vault
	log      logrus.FieldLogger
	draining atomic.Bool

	mu  sync.Mutex
	at  time.Time // +checklocks:mu
	err error     // +checklocks:mu
}

// Ready returns why requests cannot be answered now, nil if they can. The reason may be public; its
// cause is logged.
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

func (h *health) check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	for _, part := range []struct {
		check func(context.Context) error
		why   string
	}{
		{h.db.Check, "the database does not answer"},
		{h.vault.Check, "the contents cannot be reached"},
	} {
		if err := part.check(ctx); err != nil {
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

// say answers with one line.
func (w *response) say(status int, line string) error {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(line + "\n")) // the client may be gone
	return nil
}
