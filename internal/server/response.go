package server

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"os"
	"strconv"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/server/gate"
	"github.com/archivefs/archivefs/internal/server/limits"
	"github.com/archivefs/archivefs/internal/server/refusal"
	"github.com/archivefs/archivefs/internal/server/stall"
)

const (
	// streamBuffer is how much of an answer that is streamed goes out at a time, in bytes.
	streamBuffer = 64 << 10
	// atOnce is how long an answer is that never waits for its client, in bytes: net/http
	// buffers that much.
	atOnce = 2 << 10
)

// errStalled is what sending ends with when the client is too slow.
var errStalled = errors.New("the client takes too little")

// response counts what is answered and remembers what was asked, for the access log and
// the metrics.
type response struct {
	http.ResponseWriter
	id       string          // of the request
	progress *stall.Progress // nil where nobody looks at it
	tally    *tally          // of the operation, nil before there is one
	who      identity        // whose request it is, zero without credentials
	refused  string          // name of the problem that was answered
	denied   gate.Reason     // why that is about the credentials, if it is
	gone     bool            // the client, while it was answered
	status   int
	received int64 // bytes of the request's body
	bytes    int64 // of the answer's body
	form     url.Values
}

// WriteHeader implements http.ResponseWriter.
func (w *response) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write implements io.Writer.
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

// ReadFrom implements io.ReaderFrom, so that the kernel copies contents (sendfile(2)): those
// of a file, or a stretch of one. Of anything else only the sending is watched: reading it
// may take its time.
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

// begun says that the answer has begun.
func (w *response) begun() {
	if w.status == 0 {
		w.status = http.StatusOK
	}
}

// watch begins to watch the sending of n bytes, unless they cannot stall.
func (w *response) watch(n int64) bool {
	if w.progress == nil || w.bytes+n <= atOnce {
		return false
	}
	w.progress.Writes.Begin()
	return true
}

// sent counts what was sent, and ends the watch.
func (w *response) sent(watched bool, n int64, err error) error {
	w.bytes += n
	if watched && !w.progress.Writes.End(n) {
		return errStalled
	}
	return err
}

// finish is called when the handler has ended. An answer whose client is too slow is cut,
// so that nobody takes a part of it for the whole.
func (w *response) finish(bodyRead bool) {
	if w.progress.Writes.Stalled() {
		panic(http.ErrAbortHandler)
	}
	w.progress.Finish(bodyRead)
}

// Unwrap lets http.ResponseController find the connection.
func (w *response) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// json answers a value.
func (w *response) json(value any) error {
	body, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("encode answer: %w", err)
	}
	w.body("application/json", body)
	return nil
}

// stream answers JSON of any length that write makes. A client that went away is no
// failure, so that nobody looks whether the writing went well.
func (w *response) stream(write func(out *bufio.Writer)) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusOK)
	out := bufio.NewWriterSize(w, streamBuffer)
	write(out)
	_ = out.Flush()
}

// text answers text/plain.
func (w *response) text(s string) {
	w.body("text/plain; charset=utf-8", []byte(s))
}

// foreign answers bytes that were made of a stranger's, whose type no browser shall guess.
func (w *response) foreign(contentType string, body []byte) {
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.body(contentType, body)
}

// done ends a change: with 200 and no body, or with its error, for which a field may be to blame.
func (w *response) done(field string, err error) error {
	if err != nil {
		return refusal.Blame(field, err)
	}
	w.Header().Set("Content-Length", "0")
	w.WriteHeader(http.StatusOK)
	return nil
}

// body answers 200. A client that went away before it had the answer is no failure of
// the operation, so a failed write is not told.
func (w *response) body(contentType string, body []byte) {
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(http.StatusOK)
	_, _ = w.Write(body)
}

// inbound is a request's body. One whose sender is too slow ends with an error of KindTimeout.
type inbound struct {
	io.ReadCloser
	w     *response
	ended bool
}

// Read implements io.Reader.
func (b *inbound) Read(p []byte) (int, error) {
	progress := b.w.progress
	progress.Reads.Begin()
	n, err := b.ReadCloser.Read(p)
	inTime := progress.Reads.End(int64(n))
	b.w.received += int64(n)
	b.ended = b.ended || errors.Is(err, io.EOF)
	if !inTime || errors.Is(err, os.ErrDeadlineExceeded) {
		if progress.HTTP1 {
			b.w.Header().Set("Connection", "close")
		}
		return n, refusal.New(archive.KindTimeout, "the body comes too slowly: for %s nothing came, or less than %s a second", progress.Limit, limits.Amount(stall.Pace))
	}
	return n, err
}
