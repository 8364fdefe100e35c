package apiclient

import (
	"context"
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/pace"
	"github.com/archivefs/archivefs/internal/retry"
)

// errStalled is why the context of a stalled request ends.
var errStalled = errors.New("too little progress")

// answerPace is the slowest pace, in bytes a second, of an answer without content; that of contents is
// pace.Least. It is so fast that in practice other answers have a deadline, which only a long listing extends.
const answerPace = 64 << 10

// attempt is one request in flight.
type attempt struct {
	sender *sender
	op     Operation
	as     func(http.Header) // adds the credentials
	slot   *slot
	caller context.Context // of the caller
	ctx    context.Context // of the request; ends also when it stalls
	cancel context.CancelCauseFunc
	unhook func() bool // from the pause
	guard  *pace.Watch
	counts *counters
	body   *sending // nil: none
	// A request that was dialled but not connected was not sent.
	dialled, connected atomic.Bool
	written            atomic.Bool // the request was written to the connection
	answered           atomic.Bool // the head of the answer has come
	conn               atomic.Pointer[net.Conn]
}

func newAttempt(ctx context.Context, s *sender, op Operation, as *caller, own *slot) *attempt {
	a := &attempt{sender: s, op: op, as: as.authorize, slot: own, caller: ctx}
	ctx, a.cancel = context.WithCancelCause(ctx)
	a.unhook = context.AfterFunc(s.pause.until(), func() { a.cancel(errPaused) }) //nolint:contextcheck // a pause is nobody's request
	a.guard = &pace.Watch{Limit: s.config.Stall, Expire: func() { a.cancel(errStalled) }}
	a.guard.Begin()
	a.counts = s.stats.begin(op, a.guard)
	a.ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn: func(string) { a.dialled.Store(true) },
		GotConn: func(got httptrace.GotConnInfo) {
			a.connected.Store(true)
			a.conn.Store(&got.Conn)
		},
		WroteRequest: func(info httptrace.WroteRequestInfo) { a.wrote(info.Err) },
	})
	return a
}

// roundTrip sends r and returns the answer of any status. Errors of its body are *archive.Error
// values, and its Close gives the slot back.
func (a *attempt) roundTrip(r *request) (*http.Response, error) {
	req, err := a.newRequest(r)
	if err != nil {
		a.guard.End(0, pace.Least)
		a.release()
		return nil, &archive.Error{Op: a.op.doing, Kind: archive.KindInvalid, Err: bare(err)}
	}
	resp, err := a.sender.http.Do(req)
	a.guard.End(0, pace.Least)
	if err != nil {
		failure := a.failure(err)
		a.release()
		return nil, failure
	}
	a.answered.Store(true)
	if a.sender.config.Watch != nil {
		a.sender.config.Watch(resp)
	}
	body := &receiving{attempt: a, source: resp.Body, least: answerPace}
	if resp.StatusCode/100 == 2 && a.op.is(returnsContent) {
		body.least = pace.Least
		a.guard.Renew()
	}
	resp.Body = a.limit(body, a.sender.down)
	return resp, nil
}

// newRequest builds the HTTP request. It has no GetBody, so the transport cannot repeat it.
func (a *attempt) newRequest(r *request) (*http.Request, error) {
	address := a.sender.base.String() + r.path
	if len(r.query) > 0 {
		address += "?" + r.query.Encode()
	}
	req, err := http.NewRequestWithContext(a.ctx, r.method, address, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", acceptJSON)
	req.Header.Set("User-Agent", a.sender.config.UserAgent)
	maps.Copy(req.Header, r.header)
	if a.sender.expectless.Load() {
		req.Header.Del("Expect")
	}
	a.as(req.Header)
	if r.body != nil {
		a.body = &sending{progress: a.sent, source: r.body.open()}
		req.Body, req.ContentLength = a.limit(a.body, a.sender.up), r.body.size
		req.Header.Set("Content-Type", r.body.contentType)
	}
	return req, nil
}

// sent counts n bytes of the body that the transport read.
func (a *attempt) sent(n int) {
	a.guard.Earn(int64(n), pace.Least)
	a.counts.sent.Add(int64(n))
}

// wrote gives the service its full time for the answer, once the body was sent without an error.
func (a *attempt) wrote(err error) {
	if err != nil || a.body == nil || a.written.Swap(true) {
		return
	}
	a.guard.Renew()
	if left := unsent(*a.conn.Load()); left > pace.Least {
		go a.follow(left)
	}
}

// follow watches the system send the last left bytes of the body: on a slow line that may take longer than the answer.
func (a *attempt) follow(left int) {
	tick := time.NewTicker(max(a.sender.config.Stall/followed, time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-a.ctx.Done():
			return
		}
		now := unsent(*a.conn.Load())
		if now == 0 {
			a.guard.Renew()
			return
		}
		a.guard.Earn(int64(max(left-now, 0)), pace.Least)
		left = now
	}
}

// followed is how often follow checks within the limit.
const followed = 20

// release ends the attempt and frees its slot. It also ends the body, which may still be sent when the answer arrives.
func (a *attempt) release() {
	a.sender.stats.end(a.counts, a.guard)
	if a.body != nil {
		a.body.end()
	}
	a.unhook()
	a.cancel(nil)
	a.sender.slots.leave(a.slot)
}

// errSendingEnded ends the transport's reads of a body whose request is over.
var errSendingEnded = errors.New("the request has ended")

// sending is the body of a request. It reports progress and keeps a failure to read. Its source is never read after end
// has returned, so the owner may close it; the transport itself does not promise that.
type sending struct {
	progress func(n int) // called after each read

	mu     sync.Mutex
	source io.Reader // +checklocks:mu
	failed error     // +checklocks:mu
	ended  bool      // +checklocks:mu
}

func (s *sending) Read(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return 0, errSendingEnded
	}
	n, err := s.source.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		s.failed = err
	}
	s.progress(n)
	return n, err
}

func (s *sending) Close() error {
	s.end()
	return nil
}

// end waits for a running read and prevents others.
func (s *sending) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
}

// failure returns why the source could not be read, or nil.
func (s *sending) failure() error {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failed
}

// receiving is the body of an answer. Its errors are *archive.Error values, except io.EOF. It must keep the least pace.
type receiving struct {
	attempt *attempt
	source  io.ReadCloser
	least   int64 // the slowest pace
	closing sync.Once
}

func (b *receiving) Read(p []byte) (int, error) {
	b.attempt.guard.Begin()
	n, err := b.source.Read(p)
	b.attempt.guard.End(int64(n), b.least)
	b.attempt.counts.received.Add(int64(n))
	if err != nil && !errors.Is(err, io.EOF) {
		err = b.attempt.failure(err)
	}
	return n, err
}

// Close ends the request, also while another goroutine reads.
func (b *receiving) Close() error {
	var err error
	b.closing.Do(func() {
		err = b.source.Close()
		b.attempt.release()
	})
	return err
}

// newLimiter returns a limiter to so many bytes a second, in pieces of a tenth of them; nil for no limit.
func newLimiter(bytes int64) *rate.Limiter {
	if bytes == 0 {
		return nil
	}
	return rate.NewLimiter(rate.Limit(bytes), int(max(bytes/10, 1<<10)))
}

// limit returns body, limited if it is that of a content and there is a limit.
func (a *attempt) limit(body io.ReadCloser, to *rate.Limiter) io.ReadCloser {
	if to == nil || !a.op.is(bulky) {
		return body
	}
	return &limited{body, a, to}
}

// limited is a body that passes no faster than the limiter allows.
type limited struct {
	io.ReadCloser
	attempt *attempt
	limiter *rate.Limiter
}

// Read implements io.Reader. The watch does not run while it waits, which the end of the request ends.
func (l *limited) Read(p []byte) (int, error) {
	n, err := l.ReadCloser.Read(p[:min(len(p), l.limiter.Burst())])
	if wait := l.limiter.ReserveN(time.Now(), n).Delay(); n > 0 && wait > 0 {
		l.attempt.guard.End(0, pace.Least)
		defer l.attempt.guard.Begin()
		if ended := retry.Sleep(l.attempt.ctx, wait); ended != nil {
			return n, l.attempt.failure(ended)
		}
	}
	return n, err
}

// drainLimit is how much of an unneeded answer is read, so that its connection can be reused.
const drainLimit = 64 << 10

// discard reads the rest of body, up to drainLimit, and closes it. After an error the connection is not reused.
func discard(body io.ReadCloser) {
	_, _ = io.CopyN(io.Discard, body, drainLimit)
	_ = body.Close()
}
