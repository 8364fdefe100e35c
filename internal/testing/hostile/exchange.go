package hostile

import (
	"bytes"
	"compress/gzip"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// exchange is one request and its answer. The actions of faults are written in its
// steps: receive, handle, begin, write, send, abort, reset, wait.
type exchange struct {
	s      *Service
	w      http.ResponseWriter
	r      *http.Request
	cfg    Config
	record *Request // guarded by s.journal.mu
	hide   int      // listings that a new document is left out of

	read, whole bool // the body was read; all of it arrived
	handled     bool
	op          *operation // nil when the request is refused by answer
	call        *call
	answer      answer
}

// serve is what happens where no fault strikes.
func serve(x *exchange) {
	if x.handle() {
		x.send()
	}
}

// receive reads and judges the request and reports whether all of it arrived.
func (x *exchange) receive() bool {
	if !x.read {
		body, err := io.ReadAll(x.r.Body)
		x.read, x.whole = true, err == nil
		if x.whole {
			x.judge(body)
		}
	}
	return x.whole
}

// handle carries the request out, once, and keeps the answer. It reports false when
// the client broke off before its request was whole.
func (x *exchange) handle() bool {
	if !x.receive() {
		return false
	}
	if x.op != nil && !x.handled {
		x.s.content.mu.Lock()
		defer x.s.content.mu.Unlock()
		x.s.note(x.record, func(r *Request) { r.Handled = true })
		x.handled, x.call.hide = true, x.hide
		x.answer = x.op.handle(&x.s.store, x.call)
	}
	return true
}

// judge finds the operation and takes the parameters, or fills in the refusal.
func (x *exchange) judge(body []byte) {
	x.call = &call{r: x.r, cfg: x.cfg}
	path, below := strings.CutPrefix(x.r.URL.Path, x.cfg.BasePath)
	if !below || !strings.HasPrefix(path, "/") {
		x.refuse(http.StatusNotFound, true, "outside of the base path")
		return
	}
	if why, violation := x.cfg.Credentials.refusal(x.r); why != "" {
		x.refuse(http.StatusUnauthorized, violation, why)
		return
	}
	op := find(x.s.operations, x.r.Method, path)
	switch {
	case op == nil && absent(x.r.Method, path), op != nil && x.cfg.lacks(op):
		x.refuse(x.cfg.lackStatus(), false, "no such operation")
		return
	case op == nil:
		x.refuse(http.StatusNotFound, true, "no such operation")
		return
	}
	if x.cfg.Negotiates && !acceptable(x.r, op.media()) {
		x.refuse(http.StatusNotAcceptable, false, "only "+op.media())
		return
	}
	p := &parser{op: op, rec: x.record, call: x.call}
	x.s.note(x.record, func(*Request) { p.parse(body) })
	if len(p.problems) > 0 {
		x.refuse(http.StatusBadRequest, true, p.problems...)
		return
	}
	x.op = op
}

// refuse makes the refusal of a request, and notes it where it breaks the
// specification.
func (x *exchange) refuse(status int, violation bool, why ...string) {
	if violation {
		x.s.violate(x.r, why)
	}
	x.answer = x.call.refuse(status, strings.Join(why, "; "))
}

// lacks reports whether the deployment is without op.
func (cfg Config) lacks(op *operation) bool {
	if !op.further || cfg.OnlyEight {
		return op.further
	}
	return slices.Contains(cfg.Without, op.method+" "+op.path)
}

func (cfg Config) lackStatus() int {
	if cfg.WithoutStatus != 0 {
		return cfg.WithoutStatus
	}
	return http.StatusNotFound
}

// send answers with the whole body.
func (x *exchange) send() {
	x.begin()
	x.write(x.answer.body)
}

// begin sends status and header.
func (x *exchange) begin() {
	x.s.note(x.record, func(r *Request) { r.Status = x.answer.status })
	x.compress()
	header := x.w.Header()
	maps.Copy(header, x.answer.header)
	if x.cfg.CloseConnections {
		header.Set("Connection", "close")
	}
	switch {
	case x.r.Method == http.MethodHead:
		x.answer.body = nil
	case x.answer.status == http.StatusNoContent, x.answer.status == http.StatusNotModified:
		x.answer.body = nil
	case x.answer.chunked:
		defer x.flush()
	default:
		header.Set("Content-Length", strconv.Itoa(len(x.answer.body)))
	}
	x.w.WriteHeader(x.answer.status)
}

// compress compresses the answer where the configuration says so.
func (x *exchange) compress() {
	wanted := x.cfg.Gzip == GzipAlways ||
		x.cfg.Gzip == GzipAccepted && strings.Contains(x.r.Header.Get("Accept-Encoding"), "gzip")
	if !wanted || x.answer.status != http.StatusOK {
		return
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, _ = z.Write(x.answer.body) // a buffer takes everything
	_ = z.Close()
	x.answer.body = packed.Bytes()
	x.answer.header = x.answer.header.Clone()
	x.answer.header.Set("Content-Encoding", "gzip")
	x.answer.header.Del("Content-Length")
}

// write sends a part of the body. That the client may be gone is its affair.
func (x *exchange) write(part []byte) {
	_, _ = x.w.Write(part) //nolint:gosec // tests ask for bodies like these
}

// flush sends what is buffered.
func (x *exchange) flush() { _ = http.NewResponseController(x.w).Flush() }

// first is the first n bytes of the body, or all when it has no more.
func (x *exchange) first(n int) []byte { return x.answer.body[:min(n, len(x.answer.body))] }

// abort ends the connection after what was written, without ending the body.
func (x *exchange) abort() {
	x.flush()
	panic(http.ErrAbortHandler)
}

// reset ends the connection without an answer, by RST where the connection is TCP.
func (x *exchange) reset() {
	conn, _, err := http.NewResponseController(x.w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}

// wait waits at a gate and reports whether it was passed; otherwise the client went
// away (as far as that shows: its request must have been read) or the test ended.
func (x *exchange) wait(g *Gate) bool { return g.wait(x.s.stop, x.r.Context().Done()) }

// outwait is wait for what goes on without the client.
func (x *exchange) outwait(g *Gate) bool { return g.wait(x.s.stop, nil) }
