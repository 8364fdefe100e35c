package hostile_test

import (
	"bytes"
	"encoding/json"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/archivefs/archivefs/internal/testing/hostile"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// caller asks a service by net/http alone, on connections used once.
type caller struct {
	testing.TB
	base   string
	client *http.Client
}

// start serves s and returns a caller of it that sends valid requests.
func start(t testing.TB, s *hostile.Service) *caller {
	t.Helper()
	transport := &http.Transport{DisableKeepAlives: true, DisableCompression: true}
	client := &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}
	return &caller{TB: t, base: s.Start(t), client: client}
}

// reply is an answer whose body was read.
type reply struct {
	StatusCode    int
	Header        http.Header
	ContentLength int64
	Close         bool
}

// do asks and returns the answer with its body read, or the error of either.
func (c *caller) do(method, path, kind string, body io.Reader, header ...string) (*reply, []byte, error) {
	c.Helper()
	r, err := http.NewRequestWithContext(c.Context(), method, c.base+path, body)
	if err != nil {
		c.Fatal(err)
	}
	r.Header.Set("Accept", "application/json")
	if kind != "" {
		r.Header.Set("Content-Type", kind)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := c.client.Do(r)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	got, err := io.ReadAll(resp.Body)
	return &reply{resp.StatusCode, resp.Header, resp.ContentLength, resp.Close}, got, err
}

// ask fails the test when there is no whole answer.
func (c *caller) ask(method, path, kind string, body io.Reader, header ...string) (*reply, string) {
	c.Helper()
	resp, got, err := c.do(method, path, kind, body, header...)
	if err != nil {
		c.Fatalf("%s %s: %v", method, path, err)
	}
	return resp, string(got)
}

func (c *caller) get(path string, header ...string) (int, string) {
	c.Helper()
	resp, body := c.ask(http.MethodGet, path, "", nil, header...)
	return resp.StatusCode, body
}

// object asks for a JSON object.
func (c *caller) object(path string) map[string]any {
	c.Helper()
	var o map[string]any
	status, body := c.get(path)
	if err := json.Unmarshal([]byte(body), &o); status != http.StatusOK || err != nil {
		c.Fatalf("GET %s: %d %s (%v)", path, status, body, err)
	}
	return o
}

// list asks for a JSON array of objects.
func (c *caller) list(path string) []map[string]any {
	c.Helper()
	var l []map[string]any
	status, body := c.get(path)
	if err := json.Unmarshal([]byte(body), &l); status != http.StatusOK || err != nil {
		c.Fatalf("GET %s: %d %s (%v)", path, status, body, err)
	}
	return l
}

// post sends a form given as names and values.
func (c *caller) post(path string, fields ...string) (int, string) {
	c.Helper()
	resp, body := c.ask(http.MethodPost, path, "application/x-www-form-urlencoded", strings.NewReader(form(fields).Encode()))
	return resp.StatusCode, body
}

func form(fields []string) url.Values {
	f := url.Values{}
	for i := 0; i < len(fields); i += 2 {
		f.Add(fields[i], fields[i+1])
	}
	return f
}

// multipartBody returns a body with a file and fields, and its media type.
func multipartBody(t testing.TB, name, content string, fields ...string) (kind string, body *bytes.Buffer) {
	t.Helper()
	body = &bytes.Buffer{}
	w := multipart.NewWriter(body)
	for name, values := range form(fields) {
		for _, v := range values {
			if err := w.WriteField(name, v); err != nil {
				t.Fatal(err)
			}
		}
	}
	part, err := w.CreateFormFile("upload-data", name)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(part, content) // to a buffer
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return w.FormDataContentType(), body
}

// upload sends a file.
func (c *caller) upload(name, content string, fields ...string) (int, string) {
	c.Helper()
	kind, body := multipartBody(c, name, content, fields...)
	resp, answer := c.ask(http.MethodPost, "/file-upload", kind, body)
	return resp.StatusCode, answer
}

// noViolations fails the test when a request broke the specification.
func noViolations(t testing.TB, s *hostile.Service) {
	t.Helper()
	for _, v := range s.Violations() {
		t.Errorf("violation: %s", v)
	}
}
