package server_test

import (
	"bufio"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/archivefs/archivefs/internal/server"
)

// A request with Expect: 100-continue (RFC 9110, 10.1.1) is refused at once, without its body.
func TestARefusalDoesNotWaitForTheBody(t *testing.T) {
	t.Parallel()
	h := start(t, func(o *server.Options) { o.MaxUpload, o.Stall = 1<<20, time.Hour })
	furnish(t, h)
	address := h.serving()
	const (
		urlencoded = "Content-Type: application/x-www-form-urlencoded"
		data       = "Content-Type: multipart/form-data; boundary=XX"
		key        = "API-Key: " + testKey
		length     = "Content-Length: 1000"
	)
	for _, test := range []struct {
		name, line string
		headers    []string
		status     int
	}{
		{"no credentials", "POST /api/v2/file-upload", []string{data, length}, http.StatusUnauthorized},
		{"in chunks", "POST /api/v2/file-upload", []string{data, "Transfer-Encoding: chunked"}, http.StatusUnauthorized},
		{"another type", "POST /api/v2/folder/create", []string{key, length, "Content-Type: text/plain"}, http.StatusBadRequest},
		{"no id", "POST /api/v2/document/x/archive", []string{key, length, urlencoded}, http.StatusBadRequest},
		{"no operation", "POST /api/v2/no/such", []string{key, length, urlencoded}, http.StatusNotFound},
		{"another method", "POST /api/v2/inboxes", []string{key, length, urlencoded}, http.StatusMethodNotAllowed},
		{"a large form", "POST /api/v2/folder/create", []string{key, "Content-Length: 2000000", urlencoded}, http.StatusRequestEntityTooLarge},
		{"a large file", "POST /api/v2/file-upload", []string{key, "Content-Length: 99999999", data}, http.StatusRequestEntityTooLarge},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			conn := raw(t, address, test.line+" HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\n"+strings.Join(test.headers, "\r\n")+"\r\n\r\n")
			if err := conn.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
				t.Fatal(err)
			}
			got, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(got.Body)
			_ = got.Body.Close()
			if err != nil {
				t.Fatal(err)
			}
			wantProblem(t, answer{status: got.StatusCode, header: got.Header, body: string(body)}, test.status, "")
			if !got.Close { // the next bytes may or may not be the body
				t.Error("the connection goes on")
			}
		})
	}
}
