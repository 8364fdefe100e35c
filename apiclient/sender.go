package apiclient

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sirupsen/logrus"
	"golang.org/x/time/rate"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/pace"
	"github.com/archivefs/archivefs/internal/retry"
)

// sender sends the requests of a Client with its credentials, and repeats them if allowed. While a
// circuit breaker is open it sends none. It counts and logs them.
type sender struct {
	config   Config // without its credentials
	base     *url.URL
	proxy    string // its name; empty for none
	http     *http.Client
	caller   atomic.Pointer[caller]
	people   atomic.Pointer[people] // nil: all requests are sent with the credentials of caller
	up, down *rate.Limiter          // of contents; nil: none
	log      logrus.FieldLogger
	// expectless: the origin, or a proxy before it, refuses requests with Expect.
	expectless atomic.Bool

	connections *connections
	pause       pause

	slots    *slots
	circuit  *circuit
	contents contents
	known    func() bool // Client.Expect; nil: nothing is
	stats    statsTable
}

func newSender(cfg Config, base *url.URL, transport http.RoundTripper, made *connections) *sender {
	s := &sender{
		config:      cfg,
		connections: made,
		base:        base,
		http:        &http.Client{Transport: transport, CheckRedirect: checkRedirect},
		up:          newLimiter(cfg.UploadLimit),
		down:        newLimiter(cfg.DownloadLimit),
		log:         cfg.Log,
		slots:       newSlots(cfg.Connections),
	}
	s.caller.Store(newCaller(cfg.Credentials))
	s.config.Credentials = Credentials{}
	s.circuit = newCircuit(func(ctx context.Context) error {
		s.http.CloseIdleConnections()
		return s.probe(ctx)
	})
	return s
}

// repeat sends r, and repeats it if allowed, until read accepts the answer. read closes the body
// of the answer, or keeps it when it returns nil. The error is that of the last attempt. While the
// circuit breaker is open, or during a pause, nothing is sent.
func (s *sender) repeat(ctx context.Context, r *request, read func(*http.Response) error) error {
	unpaused, stop := s.pause.within(ctx)
	defer stop()
	err := s.circuit.pass(unpaused, r.op)
	if paused := s.pause.refused(r.op); paused != nil && ctx.Err() == nil {
		return paused
	}
	if err != nil {
		return err
	}
	began := time.Now()
	plan := &retryPlan{policy: r.repeat, never: s.config.RetryFor < 0, budget: retry.NewBudget(began, s.config.RetryFor)}
	for {
		expects := r.header.Get("Expect") != "" && !s.expectless.Load()
		err := s.once(ctx, r, read)
		if expects && statusOf(err) == http.StatusExpectationFailed { // RFC 9110, section 10.1.1
			s.log.WithError(err).Info("the service, or a proxy, does not know Expect; requests are sent without it")
			s.expectless.Store(true)
			continue
		}
		if err == nil {
			if s.contents.succeeded(r.op) {
				s.log.Info("contents can be had again")
			}
			return nil
		}
		if archive.KindOf(err) == archive.KindTimeout {
			// A firewall that has forgotten one idle connection has forgotten the others.
			s.http.CloseIdleConnections()
		}
		hopeless := s.contents.hopeless(r.op, err) || errors.Is(err, errPaused)
		if wait, again := plan.next(err); again && !hopeless && ctx.Err() == nil {
			s.stats.add(r.op, func(stats *archive.OperationStats) { stats.Retries++ })
			s.log.WithField("operation", r.op.name).WithField("wait", wait).WithError(err).Debug("request failed, trying again")
			if retry.Sleep(unpaused, wait) == nil {
				continue
			}
		}
		switch {
		case ctx.Err() != nil:
			return ended(ctx, r.op, err)
		case !hopeless:
			s.giveUp(r, began, err)
		}
		return err
	}
}

// giveUp tells the circuit breakers that r is not repeated any more.
func (s *sender) giveUp(r *request, began time.Time, err error) {
	if s.contents.failed(r.op, err) {
		s.log.WithError(err).Info("contents cannot be had; until one can, none is waited for")
	}
	if s.circuit.failed(began, err, r) {
		s.log.WithError(err).Info("the service is away; until it answers, requests fail at once")
	}
}

// once sends r once and hands the answer to read.
func (s *sender) once(ctx context.Context, r *request, read func(*http.Response) error) error {
	resp, err := s.send(ctx, r) //nolint:bodyclose // read closes it or hands it on
	if err == nil {
		err = read(resp)
	}
	if err != nil {
		s.stats.add(r.op, func(stats *archive.OperationStats) { stats.Failures++ })
	}
	return err
}

// send sends r once and returns an answer of status 2xx (or 304, if r has If-None-Match), whose
// body the caller closes. Every error is an *archive.Error.
func (s *sender) send(ctx context.Context, r *request) (*http.Response, error) {
	unpaused, stop := s.pause.within(ctx)
	defer stop()
	queued := time.Now()
	who := s.of(ctx)
	as, err := s.callerOf(who, r.op)
	if err != nil {
		return nil, err
	}
	own, err := s.slots.enter(unpaused, who, r.op)
	if err != nil {
		if paused := s.pause.refused(r.op); paused != nil && ctx.Err() == nil {
			return nil, paused
		}
		return nil, ended(ctx, r.op, nil)
	}
	if paused := s.pause.refused(r.op); paused != nil { // it may have freed the slot
		s.slots.leave(own)
		return nil, paused
	}
	probe, err := as.lockout.enter()
	if err != nil {
		s.slots.leave(own)
		return nil, &archive.Error{Op: r.op.doing, Kind: archive.KindUnauthorized, Person: as.person, Err: err}
	}
	started := time.Now()
	a := newAttempt(ctx, s, r.op, as, own)
	resp, err := a.roundTrip(r)
	took := time.Since(started)
	if err == nil {
		if err = s.refusal(r, resp, as); err != nil {
			discard(resp.Body)
		}
	}
	if heard(err) && s.circuit.answered() {
		s.log.Info("the service answers again")
	}
	as.lockout.leave(probe, archive.KindOf(err) == archive.KindUnauthorized, err == nil)
	s.observe(r.op, resp, started.Sub(queued), took, err)
	if err != nil {
		return nil, err
	}
	return resp, nil
}

// of returns the person on whose behalf a request with ctx is sent.
func (s *sender) of(ctx context.Context) person {
	if s.config.Person == nil {
		return person{}
	}
	uid, some := s.config.Person(ctx)
	return person{uid, some}
}

func (s *sender) observe(op Operation, resp *http.Response, waited, took time.Duration, err error) {
	s.stats.add(op, func(stats *archive.OperationStats) {
		stats.Requests++
		stats.Total += took
		stats.Latency.Add(took)
		stats.Waited += waited
		stats.Waits.Add(waited)
	})
	entry := s.log.WithField("operation", op.name).WithField("duration", took).WithField("waited", waited)
	if resp != nil {
		entry = entry.WithField("status", resp.StatusCode)
	}
	if err != nil {
		entry = entry.WithError(err)
	}
	if failed, ok := errors.AsType[*transportError](err); ok {
		entry = entry.WithField("cause", failed.cause)
	}
	entry.Debug("request")
}

// probe requests the top of the archive. send reports the answer to the circuit breaker. What an answer says to
// be missing is believed only after a probe: something in between can answer that to everything.
func (s *sender) probe(ctx context.Context) error {
	r := get(OpStructure, "/archivestructure", url.Values{"lazy": {"true"}})
	r.top = true
	err := s.once(ctx, r, decoding(r, func(j *jsonReader) error { //nolint:bodyclose // once closes it
		_, err := (&folderReader{jsonReader: j, lazy: true, had: func() bool { return s.had(ctx) }}).structure()
		return err
	}))
	if err != nil {
		s.log.WithError(err).Debug("probe of the service")
	}
	return err
}

// had reports whether the top of the archive has listed something before to the client itself.
func (s *sender) had(ctx context.Context) bool {
	return s.known != nil && (s.people.Load() == nil || !s.of(ctx).some) && s.known()
}

// backoff spaces out repetitions: from 100 ms, doubled up to 1 s, half more or less at random.
var backoff = retry.Backoff{First: 100 * time.Millisecond, Longest: time.Second, Less: 0.5, More: 0.5}

// retryPlan is the schedule of one request's repetitions.
type retryPlan struct {
	policy   repetition
	never    bool // Config.RetryFor is negative
	budget   *retry.Budget
	failures int // without a Retry-After
	timedOut bool
}

// next returns how long to wait after err until the request is sent again, if it is.
func (p *retryPlan) next(err error) (wait time.Duration, again bool) {
	var e *archive.Error
	if p.never || !errors.As(err, &e) || !p.policy.allows(e) {
		return 0, false
	}
	stalled := e.Kind == archive.KindTimeout
	if asked := e.RetryAfter; asked > 0 && !stalled {
		return asked, asked <= p.budget.Most(time.Now()) && p.budget.Grant(asked)
	}
	p.failures++
	wait = backoff.After(p.failures)
	if stalled { // once, beyond the budget: a stall takes longer than any sensible budget
		again = !p.timedOut
		p.timedOut = true
		return wait, again
	}
	return wait, wait <= p.budget.Left(time.Now())
}

// allows reports whether a request that failed with e may be sent again.
func (p repetition) allows(e *archive.Error) bool {
	if permanent(e) {
		return false
	}
	if p == onlyUnsent {
		return e.Kind == archive.KindUnreachable || e.Status == http.StatusTooManyRequests
	}
	switch e.Kind {
	case archive.KindForeign: // a page, or another form, comes again
		return e.Status/100 == 5
	case archive.KindBusy, archive.KindServer, archive.KindUnreachable, archive.KindInterrupted, archive.KindTimeout:
		return true
	}
	return false
}

// permanent reports whether no repetition helps: the certificate is not trusted, the host name
// does not exist, or the server does not speak TLS.
func permanent(err error) bool {
	var distrust *tls.CertificateVerificationError
	var name *net.DNSError
	return errors.As(err, &distrust) || errors.As(err, &name) && name.IsNotFound || errors.Is(err, http.ErrSchemeMismatch)
}

// statsTable counts requests by operation. Its zero value is empty.
type statsTable struct {
	mu   sync.Mutex
	rows map[Operation]*counters // +checklocks:mu
}

type counters struct {
	sent, received atomic.Int64           // bytes of bodies
	rest           archive.OperationStats // guarded by statsTable.mu
	inFlight       map[*pace.Watch]bool   // of the requests in flight; guarded by statsTable.mu
}

// begin adds a request in flight to the counters of op, and returns these.
func (t *statsTable) begin(op Operation, guard *pace.Watch) *counters {
	t.mu.Lock()
	defer t.mu.Unlock()
	row := t.ofLocked(op)
	row.inFlight[guard] = true
	return row
}

func (t *statsTable) end(row *counters, guard *pace.Watch) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(row.inFlight, guard)
}

// +checklocks:t.mu
func (t *statsTable) ofLocked(op Operation) *counters {
	row := t.rows[op]
	if row == nil {
		if t.rows == nil {
			t.rows = make(map[Operation]*counters)
		}
		row = &counters{rest: archive.OperationStats{Operation: op.name}, inFlight: map[*pace.Watch]bool{}}
		t.rows[op] = row
	}
	return row
}

func (t *statsTable) add(op Operation, change func(*archive.OperationStats)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	change(&t.ofLocked(op).rest)
}

// all returns the counters of every operation, by name.
func (t *statsTable) all() []archive.OperationStats {
	t.mu.Lock()
	defer t.mu.Unlock()
	rows := make([]archive.OperationStats, 0, len(t.rows))
	for _, row := range t.rows {
		stats := row.rest
		stats.Sent, stats.Received = row.sent.Load(), row.received.Load()
		for guard := range row.inFlight {
			stats.Silent = max(stats.Silent, guard.Silent())
		}
		rows = append(rows, stats)
	}
	slices.SortFunc(rows, func(a, b archive.OperationStats) int { return strings.Compare(a.Operation, b.Operation) })
	return rows
}
