package proxy

import (
	"bytes"
	"context"
	"crypto/sha256"
	"io"
	"maps"
	"mime"
	"mime/multipart"
	"net"
	"net/http"
	"net/http/httptest"
	"time"
)

// Passed is a content that the service was given.
type Passed struct {
	Sum  [sha256.Size]byte
	Time uint64 // on the clock of the run, before the service got it
}

// serve passes a request on, or does to it what the script says.
func (p *Proxy) serve(w http.ResponseWriter, r *http.Request) {
	f := p.strike(operationOf(r))
	if f == nil {
		f = &Fault{}
	} else {
		p.say("proxy: %s: %s %s", f.name(), r.Method, r.URL)
	}
	switch f.Deed { // the others strike later
	case ResetBefore:
		reset(w)
		return
	case ResetDuring:
		_, _ = io.CopyN(io.Discard, r.Body, r.ContentLength/2) // what comes of it
		reset(w)
		return
	case AnswerBefore:
		refusal(w, f.Status)
		return
	case Away:
		p.goAway(f.For)
		return
	case Delay:
		p.hang(r, f.For)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		reset(w) // half a request is none
		return
	}
	if f.Deed == HangBefore {
		p.hang(r, f.For)
		reset(w)
		return
	}
	p.answer(w, r, f, p.pass(r, f, body))
}

// pass gives the service the whole request and returns its answer.
func (p *Proxy) pass(r *http.Request, f *Fault, body []byte) *httptest.ResponseRecorder {
	p.working.Add(1)
	defer p.working.Done()
	if f.Deed == Slow {
		p.slow.Add(1)
		defer p.slow.Add(-1)
		p.linger(f.For)
	}
	p.note(r, body)
	whole := r.Clone(context.WithoutCancel(r.Context()))
	whole.Body = io.NopCloser(bytes.NewReader(body))
	answer := httptest.NewRecorder()
	p.service.ServeHTTP(answer, whole)
	return answer
}

// answer tells the client what the service answered, or something else.
func (p *Proxy) answer(w http.ResponseWriter, r *http.Request, f *Fault, answer *httptest.ResponseRecorder) {
	body := answer.Body.Bytes()
	deed := f.Deed
	if deed == Garbage && operationOf(r) == Content {
		deed = Truncate // other bytes of the right length would be a lie that nobody can see
	}
	switch deed { // the others struck before
	case ResetAfter:
		reset(w)
		return
	case AnswerAfter:
		refusal(w, f.Status)
		return
	case HangAfter:
		p.hang(r, f.For)
		reset(w)
		return
	case Trickle:
		if operationOf(r) != Content {
			body = append(bytes.Repeat([]byte(" "), blanks), body...)
			answer.Header().Del("Content-Length")
		}
	case Garbage:
		body = []byte("{\"\xff garbage")
		answer.Header().Del("Content-Length")
	}
	maps.Copy(w.Header(), answer.Header())
	w.WriteHeader(answer.Code)
	if deed == Truncate {
		_, _ = w.Write(body[:len(body)/2])
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler) // the connection ends here
	}
	if deed == Trickle {
		body = p.trickle(w, r, f.For, body)
	}
	_, _ = w.Write(body)
}

// blanks come before an answer that trickles, in the fashion of JSON, and are most of it.
const blanks = 200

// trickle answers a byte every so often, and returns what is left when the client gives up or the
// proxy is healed.
func (p *Proxy) trickle(w http.ResponseWriter, r *http.Request, every time.Duration, body []byte) (rest []byte) {
	p.mu.Lock()
	healed := p.healed
	p.mu.Unlock()
	tick := time.NewTicker(max(every, time.Millisecond))
	defer tick.Stop()
	for i := range body {
		_, _ = w.Write(body[i : i+1])
		_ = http.NewResponseController(w).Flush()
		select {
		case <-tick.C:
		case <-healed:
			return body[i+1:]
		case <-r.Context().Done():
			return nil
		}
	}
	return nil
}

// hang waits for the client to go away or the proxy to be healed, no longer than most when
// that is given.
func (p *Proxy) hang(r *http.Request, most time.Duration) {
	p.mu.Lock()
	healed := p.healed
	p.mu.Unlock()
	var over <-chan time.Time
	if most > 0 {
		timer := time.NewTimer(most)
		defer timer.Stop()
		over = timer.C
	}
	select {
	case <-healed:
	case <-over:
	case <-r.Context().Done():
	}
}

// linger waits, whether or not the client still does, but no longer than the service is there:
// what takes effect long after its connection broke nobody can look for.
func (p *Proxy) linger(d time.Duration) {
	p.mu.Lock()
	gone := p.gone
	p.mu.Unlock()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-gone:
	case <-timer.C:
	}
}

// reset breaks the connection without an answer.
func reset(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return // it is broken already
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // close sends RST
	}
	_ = conn.Close()
}

// note remembers the file that a request carries, if it carries one.
func (p *Proxy) note(r *http.Request, body []byte) {
	kind, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "multipart/form-data" {
		return
	}
	parts := multipart.NewReader(bytes.NewReader(body), params["boundary"])
	for {
		part, err := parts.NextPart()
		if err != nil {
			return
		}
		if part.FileName() == "" {
			continue
		}
		content, err := io.ReadAll(part)
		if err != nil {
			return
		}
		p.mu.Lock()
		p.passed = append(p.passed, Passed{Sum: sha256.Sum256(content), Time: p.clock()})
		p.mu.Unlock()
		return
	}
}
