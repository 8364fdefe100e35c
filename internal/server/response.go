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
// that nobody takes a part of it for the whole.
func (w *response) finish(bodyRead bool) {
	if w.progress.Writes.Expired() {
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
	w.body("text/plain; charset=utf-8", []byte(s))
}

// foreign sends bytes derived from an uploaded file. No browser may guess their type.
func (w *response) foreign(contentType string, body []byte) {
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.body(contentType, body)
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

// body answers 200. A failed write is ignored: if the client is gone, the operation has still succeeded.
func (w *response) body(contentType string, body []byte) {
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(http.StatusOK)
	_, _ = w.Write(body)
}

// inbound is a request's body. It ends with an error of KindTimeout if the sender is too slow.
type inbound struct {
	io.ReadCloser
	w     *response
	ended bool
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
