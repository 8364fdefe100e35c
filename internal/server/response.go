package server

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
)

// streamBuffer is how much of an answer that is streamed goes out at a time, in bytes.
const streamBuffer = 64 << 10

// response counts what is answered and remembers what was asked, for the access log.
type response struct {
	http.ResponseWriter
	status int
	bytes  int64
	form   url.Values
}

// WriteHeader implements http.ResponseWriter.
func (w *response) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write implements io.Writer.
func (w *response) Write(p []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	n, err := w.ResponseWriter.Write(p) //nolint:gosec // bytes of strangers are sent with their type, and nosniff
	w.bytes += int64(n)
	return n, err
}

// ReadFrom implements io.ReaderFrom, so that the kernel copies contents (sendfile(2)).
func (w *response) ReadFrom(r io.Reader) (int64, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	n, err := io.Copy(w.ResponseWriter, r)
	w.bytes += n
	return n, err
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

// empty answers 200 without a body.
func (w *response) empty() {
	w.Header().Set("Content-Length", "0")
	w.WriteHeader(http.StatusOK)
}

// body answers 200. A client that went away before it had the answer is no failure of
// the operation, so a failed write is not told.
func (w *response) body(contentType string, body []byte) {
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(http.StatusOK)
	_, _ = w.Write(body)
}
