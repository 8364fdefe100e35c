package server

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"maps"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/server/store"
)

// Stats are the counters of a Server since it was opened.
type Stats struct {
	Operations []OperationStats
	// Refused counts refused uploads by the name of the problem.
	Refused map[string]int64
	// Denied counts requests answered 401 or 403 by reason.
	Denied map[string]int64
	// Requests and Uploads are in flight; Waiting requests wait for their turn.
	Requests, Uploads, Waiting int
	// Folders and Documents are at most countedFor old, and 0 if they are not counted.
	Folders, Documents int64
	// Databases are the connection pools, by name.
	Databases map[string]sql.DBStats
}

// OperationStats counts the requests of one route. One without a route counts requests to unknown
// routes, and those without credentials.
type OperationStats struct {
	Method, Route string
	Statuses      [5]int64 // answered with 1xx, 2xx and so on
	Received      int64    // bytes of the bodies of requests
	Sent          int64    // bytes of the bodies of answers
	Latency       archive.Latency
	Total         time.Duration
}

// tally counts the requests of a route, without a lock.
type tally struct {
	method, path string
	traits       traits
	statuses     [5]atomic.Int64
	received     atomic.Int64
	sent         atomic.Int64
	latency      [len(archive.LatencyBounds) + 1]atomic.Int64
	total        atomic.Int64
}

func (t *tally) add(w *response, took time.Duration) {
	class := w.status / 100
	if class == 0 { // the client left before the answer
		class = 4
	}
	t.statuses[min(class, len(t.statuses))-1].Add(1)
	t.received.Add(w.received)
	t.sent.Add(w.bytes)
	t.total.Add(int64(took))
	i, _ := slices.BinarySearch(archive.LatencyBounds[:], took)
	t.latency[i].Add(1)
}

func (t *tally) stats() OperationStats {
	s := OperationStats{
		Method: t.method, Route: t.path, Received: t.received.Load(), Sent: t.sent.Load(), Total: time.Duration(t.total.Load()),
	}
	for i := range t.statuses {
		s.Statuses[i] = t.statuses[i].Load()
	}
	for i := range t.latency {
		s.Latency[i] = t.latency[i].Load()
	}
	return s
}

// counters are all that a Server counts.
type counters struct {
	other    tally // of requests to no operation
	requests atomic.Int64

	mu      sync.Mutex
	tallies []*tally         // +checklocks:mu
	refused map[string]int64 // +checklocks:mu
	denied  map[string]int64 // +checklocks:mu
}

// of makes the tally of a route, or finds that of an earlier Handler.
func (c *counters) of(method, path string, traits traits) *tally {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, t := range c.tallies {
		if t.method == method && t.path == path {
			return t
		}
	}
	t := &tally{method: method, path: path, traits: traits}
	c.tallies = append(c.tallies, t)
	return t
}

// end counts a request that was answered.
func (c *counters) end(w *response, took time.Duration) {
	c.requests.Add(-1)
	t := w.tally
	if t == nil {
		t = &c.other
	}
	t.add(w, took)
	if w.refused == "" {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if t.traits&upload != 0 {
		c.refused[w.refused]++
	}
	if w.denied != "" {
		c.denied[string(w.denied)]++
	}
}

// countedFor is how long a count of documents is used: counting millions takes a while.
const countedFor = 5 * time.Minute

// holdings is the cached size of the archive.
type holdings struct {
	db  *store.Store
	log logrus.FieldLogger

	mu        sync.Mutex
	at        time.Time // +checklocks:mu
	folders   int64     // +checklocks:mu
	documents int64     // +checklocks:mu
}

// count returns how many folders and documents there are.
func (h *holdings) count(ctx context.Context) (folders, documents int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.at.IsZero() || time.Since(h.at) >= countedFor {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readyWithin)
		defer cancel()
		folders, documents, err := h.db.Count(ctx)
		if err == nil {
			h.folders, h.documents = folders, documents
		} else {
			h.log.WithError(err).Warn("documents could not be counted")
		}
		h.at = time.Now()
	}
	return h.folders, h.documents
}

// Stats returns the current counters.
func (s *Server) Stats(ctx context.Context) Stats {
	c := &s.front.counters
	uploads, waiting := s.front.uploads.Count()
	_, more := s.front.places.Count()
	stats := Stats{Requests: int(c.requests.Load()), Uploads: uploads, Waiting: waiting + more}
	stats.Folders, stats.Documents = s.held.count(ctx)
	stats.Databases = s.db.Pools()
	c.mu.Lock()
	defer c.mu.Unlock()
	stats.Refused, stats.Denied = maps.Clone(c.refused), maps.Clone(c.denied)
	for _, t := range append([]*tally{&c.other}, c.tallies...) {
		stats.Operations = append(stats.Operations, t.stats())
	}
	slices.SortFunc(stats.Operations, func(a, b OperationStats) int {
		return cmp.Or(cmp.Compare(a.Route, b.Route), cmp.Compare(a.Method, b.Method))
	})
	return stats
}

const (
	// readyFor is how long the result of a check is used.
	readyFor = time.Second
	// readyWithin is how long database and contents may take to answer.
	readyWithin = 5 * time.Second
)

// errDraining: the service is shutting down.
var errDraining = errors.New("the service is ending")

// health checks whether requests can be answered. It remembers the last result, so that checks may be frequent.
type health struct {
	db       *store.Store
	vault    *vault
	log      logrus.FieldLogger
	draining atomic.Bool

	mu  sync.Mutex
	at  time.Time // +checklocks:mu
	err error     // +checklocks:mu
}

// Ready returns why requests cannot be answered now, nil if they can. The reason may be public; its cause is logged.
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
