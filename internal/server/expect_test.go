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

// What was asked for and is refused in its middle gets its answer, although it is still being sent (RFC 9112, section 9.6).
func TestARefusalInTheMiddleOfABody(t *testing.T) {
	t.Parallel()
	h := start(t)
	furnish(t, h)
	conn := raw(t, h.serving(), "POST /api/v2/file-upload HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nAPI-Key: "+testKey+
		"\r\nContent-Type: multipart/form-data; boundary=XX\r\nContent-Length: 99999999\r\n\r\n")
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	answers := bufio.NewReader(conn)
	asked := "HTTP/1.1 100 Continue\r\n\r\n"
	if got, err := answers.Peek(len(asked)); err != nil || string(got) != asked {
		t.Fatalf("%q, %v", got, err)
	}
	if _, err := answers.Discard(len(asked)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, "--XX\r\nContent-Disposition: form-data; name=\"unknown\"; filename=\"f\"\r\n\r\n"+strings.Repeat("x", 8<<20)); err != nil {
		t.Fatalf("the rest of what is being sent: %v", err)
	}
	got, err := http.ReadResponse(answers, nil)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(got.Body)
	if _, _ = got.Body.Close(), conn.Close(); err != nil || !got.Close {
		t.Errorf("%v, %v", err, got.Header)
	}
	wantProblem(t, answer{status: got.StatusCode, header: got.Header, body: string(body)}, http.StatusBadRequest, "unknown")
}
