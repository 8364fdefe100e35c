package server

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/pace"
	"github.com/archivefs/archivefs/internal/server/gate"
	"github.com/archivefs/archivefs/internal/server/limits"
	"github.com/archivefs/archivefs/internal/server/refusal"
	"github.com/archivefs/archivefs/internal/server/stall"
)

const (
	// streamBuffer is how many bytes of a streamed answer are sent at a time.
	streamBuffer = 64 << 10
	// atOnce is the length in bytes of an answer that never waits for its client: net/http buffers that much.
	atOnce = 2 << 10
)

// errStalled ends the sending to a client that is too slow.
var errStalled = errors.New("the client reads too slowly")

// response counts the bytes of an answer, and keeps data of the request for the access log and the metrics.
type response struct {
	http.ResponseWriter
	id       string          // of the request
	progress *stall.Progress // nil: not needed
	tally    *tally          // of the operation, nil before there is one
	who      identity        // whose request it is, zero without credentials
	refused  string          // the problem that was answered
	denied   gate.Reason     // its reason, if it is about the credentials
	gone     bool            // the client left during the answer
	status   int
	received int64 // bytes of the request's body
	bytes    int64 // of the answer's body
	form     url.Values
}

func (w *response) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *response) Write(p []byte) (written int, err error) {
	w.begun()
	for first := true; first || len(p) > 0 && err == nil; first = false {
		part := p[:min(int64(len(p)), w.progress.Stretch())]
		watched := w.watch(int64(len(part)))
		var n int
		n, err = w.ResponseWriter.Write(part)
		written, p = written+n, p[n:]
		err = w.sent(watched, int64(n), err)
		w.gone = w.gone || err != nil
	}
	return written, err
}

// ReadFrom implements io.ReaderFrom, so that the kernel copies contents of files, or sections of
// them (sendfile(2)). For other sources only the writes are watched, because reading may take long.
func (w *response) ReadFrom(r io.Reader) (written int64, err error) {
	limited, ok := r.(*io.LimitedReader)
	if !ok {
		limited = &io.LimitedReader{R: r, N: math.MaxInt64}
	}
	_, direct := w.ResponseWriter.(io.ReaderFrom)
	if _, file := limited.R.(*os.File); !direct || !file {
		return io.CopyBuffer(struct{ io.Writer }{w}, r, make([]byte, streamBuffer))
	}
	w.begun()
	part := io.LimitedReader{R: limited.R}
	for limited.N > 0 && part.N == 0 && err == nil {
		part.N = min(limited.N, w.progress.Stretch())
		watched := w.watch(part.N)
		var n int64
		n, err = io.Copy(w.ResponseWriter, &part)
		written, limited.N = written+n, limited.N-n
		err = w.sent(watched, n, err)
	}
	return written, err
}

// begun notes that the answer has begun.
func (w *response) begun() {
	if w.status == 0 {
		w.status = http.StatusOK
	}
}

// watch starts to watch the sending of n bytes, unless they are too few to stall.
func (w *response) watch(n int64) bool {
	if w.progress == nil || w.bytes+n <= atOnce {
		return false
	}
	w.progress.Writes.Begin()
	return true
}

// sent counts sent bytes, and ends the watch.
func (w *response) sent(watched bool, n int64, err error) error {
	w.bytes += n
	if watched && !w.progress.Writes.End(n, pace.Least) {
		return errStalled
	}
	return err
}

// finish is called when the handler returns. It cuts an answer to a client that was too slow, so
// that nobody takes a part of it for the whole. The request may have no body (nil).
func (w *response) finish(body *inbound) {
	if w.progress.Writes.Expired() {
		panic(http.ErrAbortHandler)
	}
	if body != nil && body.expected && !body.ended && w.received > 0 && w.progress.HTTP1 {
		w.linger(body)
	}
	w.progress.Finish(body == nil || body.ended)
}

// lingering is for how long a client may go on sending once it was answered.
const lingering = 5 * time.Second

// linger takes what a client still sends that was told to send and is refused: if the connection were closed at once, as
// net/http does after Expect, the client would lose the answer (RFC 9112, section 9.6).
func (w *response) linger(body *inbound) {
	control := http.NewResponseController(w)
	if errors.Join(control.Flush(), control.SetReadDeadline(time.Now().Add(lingering))) == nil {
		_, _ = io.Copy(io.Discard, body.ReadCloser)
	}
}

// Unwrap lets http.ResponseController find the connection.
func (w *response) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// json answers a value.
func (w *response) json(value any) error {
	body, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("encode answer: %w", err)
	}
	w.body(http.StatusOK, "application/json", body)
	return nil
}

// stream sends the JSON that write writes, of any length. Errors of sending are ignored: the client is gone.
func (w *response) stream(write func(out *bufio.Writer)) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusOK)
	out := bufio.NewWriterSize(w, streamBuffer)
	write(out)
	_ = out.Flush()
}

// text answers text/plain.
func (w *response) text(s string) {
	w.body(http.StatusOK, "text/plain; charset=utf-8", []byte(s))
}

// foreign sends bytes derived from an uploaded file. No browser may guess their type.
func (w *response) foreign(contentType string, body []byte) {
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.body(http.StatusOK, contentType, body)
}

// done ends a change: with 200 and no body, or with its error, which may name a field.
func (w *response) done(field string, err error) error {
	if err != nil {
		return refusal.Blame(field, err)
	}
	w.Header().Set("Content-Length", "0")
	w.WriteHeader(http.StatusOK)
	return nil
}

// body answers. A failed write is ignored: if the client is gone, the operation has still succeeded.
func (w *response) body(status int, contentType string, body []byte) {
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

// inbound is a request's body. It ends with an error of KindTimeout if the sender is too slow.
type inbound struct {
	io.ReadCloser
	w        *response
	expected bool // it had Expect: 100-continue (RFC 9110, section 10.1.1)
	ended    bool
}

func (b *inbound) Read(p []byte) (int, error) {
	progress := b.w.progress
	progress.Reads.Begin()
	n, err := b.ReadCloser.Read(p)
	inTime := progress.Reads.End(int64(n), pace.Least)
	b.w.received += int64(n)
	b.ended = b.ended || errors.Is(err, io.EOF)
	if !inTime || errors.Is(err, os.ErrDeadlineExceeded) {
		if progress.HTTP1 {
			b.w.Header().Set("Connection", "close")
		}
		return n, refusal.New(archive.KindTimeout, "the body arrives too slowly: nothing for %s, or less than %s a second", progress.Limit, limits.Amount(pace.Least))
	}
	return n, err
}

// problem is an error answer (RFC 9457). Instance is the id of the request, as in the log; Field is
// the parameter or form field that is wrong, Errors are all of them.
type problem struct {
	Type     string         `json:"type"`
	Title    string         `json:"title"`
	Status   int            `json:"status"`
	Detail   string         `json:"detail,omitempty"`
	Instance string         `json:"instance,omitempty"`
	Field    string         `json:"field,omitempty"`
	Errors   []problemField `json:"errors,omitempty"`
}

type problemField struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
}

// outcome is the answer for a kind of error.
type outcome struct {
	status int
	name   string // end of the problem's type
}

// outcomes is the only table from kinds to statuses. Kinds for errors of a client's own requests cannot occur and
// become 500. Unreachable is about a dependency of this service, such as a bucket. Busy: the request waited too long
// for its turn. Timeout: the client stopped in the middle of a body.
func outcomes() map[archive.Kind]outcome {
	failed := outcome{http.StatusInternalServerError, "server"}
	return map[archive.Kind]outcome{
		archive.KindOther:        failed,
		archive.KindInvalid:      {http.StatusBadRequest, "invalid"},
		archive.KindUnauthorized: {http.StatusUnauthorized, "credentials"},
		archive.KindForbidden:    {http.StatusForbidden, "forbidden"},
		archive.KindNotFound:     {http.StatusNotFound, "not-found"},
		archive.KindConflict:     {http.StatusConflict, "conflict"},
		archive.KindTooLarge:     {http.StatusRequestEntityTooLarge, "too-large"},
		archive.KindUnsupported:  {http.StatusNotFound, "operation"},
		archive.KindBusy:         {http.StatusTooManyRequests, "busy"},
		archive.KindServer:       failed,
		archive.KindUnreachable:  {http.StatusServiceUnavailable, "unavailable"},
		archive.KindForeign:      {http.StatusServiceUnavailable, "unavailable"},
		archive.KindInterrupted:  failed,
		archive.KindTimeout:      {http.StatusRequestTimeout, "timeout"},
		archive.KindProtocol:     failed,
	}
}

const (
	// lostProblem ends the type of the problem of a lost content.
	lostProblem = "lost-content"
	// fullProblem ends the type of the problem of a full disk.
	fullProblem = "full"
)

// full reports whether err is about a full disk or an exceeded quota, of this machine, the database or the bucket.
func full(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// Values of Retry-After, in seconds.
const (
	afterBusy = "1"
	// afterUnavailable is for an unavailable dependency of this service.
	afterUnavailable = "5"
	// afterCare is for a lost content and a full disk, which a person must fix. It exceeds the 30 s for
	// which archivefs waits at most.
	afterCare = "60"
)

// again returns the Retry-After in seconds, empty if unknown.
func (o outcome) again() string {
	switch {
	case o.status == http.StatusTooManyRequests:
		return afterBusy
	case o.status == http.StatusServiceUnavailable:
		return afterUnavailable
	case o.name == lostProblem, o.name == fullProblem:
		return afterCare
	}
	return ""
}

// problemPrefix begins the type of a problem.
const problemPrefix = "urn:archivefs:problem:"

func problemType(name string) string { return problemPrefix + name }

// outcomeOf returns the outcome of an error.
func outcomeOf(err error) outcome {
	if lost(err) != nil {
		return outcome{http.StatusInternalServerError, lostProblem}
	}
	if full(err) {
		return outcome{http.StatusInsufficientStorage, fullProblem}
	}
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		return outcomes()[archive.KindTooLarge]
	}
	return outcomes()[archive.KindOf(err)]
}

// answer writes an error. An error that is not the client's is logged and not reported, except for
// a lost content and a full disk, so that the user knows why. If the answer has begun, or the
// client has gone, the connection is cut, so that nobody takes a part of the answer for the whole.
func (f *front) answer(w *response, err error) {
	if w.gone || errors.Is(err, context.Canceled) {
		panic(http.ErrAbortHandler)
	}
	w.denied = refusal.Denial(err)
	o := outcomeOf(err)
	if o.status >= http.StatusInternalServerError {
		log := f.log.WithError(err).WithField("id", w.id)
		if e := lost(err); e != nil {
			e.note(log)
		} else {
			log.Error("a request failed")
		}
	}
	if w.status != 0 {
		panic(http.ErrAbortHandler)
	}
	if again := o.again(); again != "" && w.Header().Get("Retry-After") == "" {
		w.Header().Set("Retry-After", again)
	}
	w.problem(o.status, describe(problemType(o.name), o.status, err))
}

const (
	failedDetail      = "the service failed; its log says why, beside the id of this request"
	unavailableDetail = "what the service needs itself cannot be reached now; try again in a moment"
)

// describe fills a problem with the public part of err.
func describe(typ string, status int, err error) problem {
	p := problem{Type: typ}
	switch e := lost(err); {
	case e != nil:
		p.Detail = e.public()
	case full(err):
		p.Detail = "the service has no room left, and stored nothing of this; its operator has to make room"
	case status == http.StatusServiceUnavailable:
		p.Detail = unavailableDetail
	case status >= http.StatusInternalServerError:
		p.Detail = failedDetail
	}
	if status >= http.StatusInternalServerError {
		return p
	}
	if refused, ok := errors.AsType[*archive.Error](err); ok {
		p.Detail = refused.Detail
	}
	if blamed, ok := errors.AsType[refusal.Fields](err); ok {
		p.Field = blamed[0].Name
		p.Detail = blamed.Error()
		for _, f := range blamed {
			p.Errors = append(p.Errors, problemField{Name: f.Name, Reason: f.Reason()})
		}
	}
	return p
}

// problem writes a problem with its title.
func (w *response) problem(status int, p problem) {
	p.Title, p.Status = http.StatusText(status), status
	if w.id != "" {
		p.Instance = "urn:archivefs:request:" + w.id
	}
	w.refused = strings.TrimPrefix(p.Type, problemPrefix)
	body, _ := json.Marshal(p) // strings and numbers always encode
	w.Header().Set("Cache-Control", "no-store")
	w.body(status, "application/problem+json", body)
}
