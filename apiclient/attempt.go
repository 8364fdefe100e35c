package apiclient

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync"
	"sync/atomic"
	"time"

	"github.com/archivefs/archivefs/archive"
)

// attempt is one request under way.
type attempt struct {
	sender *sender
	op     Operation
	caller context.Context // the caller's; its end is the caller's wish
	ctx    context.Context // the request's; ends also when it stalls
	cancel context.CancelCauseFunc
	guard  *watchdog
	counts *counters
	body   *sending // nil: none
	// dialled and connected tell a request that never left from one that may have
	// arrived.
	dialled, connected atomic.Bool
	written            atomic.Bool // the request has left the program as a whole
	conn               atomic.Pointer[net.Conn]
}

func newAttempt(ctx context.Context, s *sender, op Operation) *attempt {
	a := &attempt{sender: s, op: op, caller: ctx, counts: s.stats.of(op)}
	ctx, a.cancel = context.WithCancelCause(ctx)
	a.guard = newWatchdog(s.stall, func() { a.cancel(errStalled) })
	a.ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn: func(string) { a.dialled.Store(true) },
		GotConn: func(got httptrace.GotConnInfo) {
			a.connected.Store(true)
			a.conn.Store(&got.Conn)
		},
		WroteRequest: func(httptrace.WroteRequestInfo) { a.wrote() },
	})
	return a
}

// roundTrip sends r and returns the answer, whatever its status, with a body that maps
// its errors and gives the connection's slot back when it is closed.
func (a *attempt) roundTrip(r *request) (*http.Response, error) {
	req, err := a.newRequest(r)
	if err != nil {
		a.release()
		return nil, &archive.Error{Op: string(a.op), Kind: archive.KindInvalid, Err: bare(err)}
	}
	resp, err := a.sender.http.Do(req)
	a.guard.rest()
	if err != nil {
		failure := a.failure(err)
		a.release()
		return nil, failure
	}
	if a.sender.watch != nil {
		a.sender.watch(resp)
	}
	pace := answerPace
	if a.op.isContent() && resp.StatusCode/100 == 2 {
		pace = bodyPace
		a.guard.renew()
	}
	resp.Body = &receiving{attempt: a, source: resp.Body, pace: pace}
	return resp, nil
}

// newRequest builds the HTTP request. Its body has no GetBody, so the transport cannot
// send it a second time by itself.
func (a *attempt) newRequest(r *request) (*http.Request, error) {
	address := a.sender.base.String() + r.path
	if len(r.query) > 0 {
		address += "?" + r.query.Encode()
	}
	req, err := http.NewRequestWithContext(a.ctx, r.method, address, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", mediaJSON)
	req.Header.Set("User-Agent", a.sender.userAgent)
	for name, values := range r.header {
		req.Header[name] = values
	}
	a.sender.caller.Load().authorize(req.Header)
	if r.body != nil {
		a.body = &sending{progress: a.sent, source: r.body.open()}
		req.Body, req.ContentLength = a.body, r.body.size
		req.Header.Set("Content-Type", r.body.contentType)
	}
	return req, nil
}

// sent takes note of n bytes of the body that the transport took.
func (a *attempt) sent(n int) {
	a.guard.earn(n, bodyPace)
	a.counts.sent.Add(int64(n))
}

// wrote gives the service all its time for the answer, once the body has left.
func (a *attempt) wrote() {
	if a.body == nil || a.written.Swap(true) {
		return
	}
	a.guard.renew()
	if left := unsent(*a.conn.Load()); left > bodyPace {
		go a.follow(left)
	}
}

// follow watches what the system has yet to send of the body, left bytes: on a slow line that may
// take longer than the answer.
func (a *attempt) follow(left int) {
	tick := time.NewTicker(max(a.sender.stall/followed, time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-a.ctx.Done():
			return
		}
		now := unsent(*a.conn.Load())
		if now == 0 {
			a.guard.renew()
			return
		}
		a.guard.earn(max(left-now, 0), bodyPace)
		left = now
	}
}

// followed is how often follow looks within the limit.
const followed = 20

// release ends the attempt and lets the next request have its slot. An answer may come
// while the body is still being sent, so the body ends only here.
func (a *attempt) release() {
	a.guard.rest()
	if a.body != nil {
		a.body.end()
	}
	a.cancel(nil)
	a.sender.slots.leave(a.op)
}

// errSendingEnded ends the transport's reads of a body whose request is over.
var errSendingEnded = errors.New("the request has ended")

// sending is a request's body on its way: it reports progress, keeps a failure to
// read, and is never read after end has returned, so that the owner of what is sent may
// then let it go. The transport itself gives no such promise.
type sending struct {
	progress func(n int) // called with what was read

	mu     sync.Mutex
	source io.Reader // +checklocks:mu
	failed error     // +checklocks:mu
	ended  bool      // +checklocks:mu
}

// Read implements io.Reader.
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

// Close implements io.Closer.
func (s *sending) Close() error {
	s.end()
	return nil
}

// end waits for a read under way and lets no other follow.
func (s *sending) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
}

// failure returns why the source could not be read, nil when it could.
func (s *sending) failure() error {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failed
}

// receiving is an answer's body. Its errors are *archive.Error values but for io.EOF,
// and its bytes come at the least pace.
type receiving struct {
	attempt *attempt
	source  io.ReadCloser
	pace    int
	closing sync.Once
}

// Read implements io.Reader.
func (b *receiving) Read(p []byte) (int, error) {
	b.attempt.guard.arm()
	n, err := b.source.Read(p)
	b.attempt.guard.rest()
	b.attempt.guard.earn(n, b.pace)
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

// drainLimit is how much of an answer that nobody needs is read, so that its connection
// can be used again.
const drainLimit = 64 << 10

// discard closes body after reading what is left of it, up to drainLimit. What fails
// here fails nobody: the connection is then not used again.
func discard(body io.ReadCloser) {
	_, _ = io.CopyN(io.Discard, body, drainLimit)
	_ = body.Close()
}
