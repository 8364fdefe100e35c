package server_test

import (
	"bytes"
	"encoding/json"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/server"
)

const testKey = "k-0123456789"

// logSize is the size of redo logs in bytes, so small that they are filled.
const logSize = 1 << 20

// day is a creation date that tests count from.
var day = time.Date(2023, 11, 22, 14, 14, 29, 0, time.UTC)

// service is a server under test with a client for it.
type service struct {
	*server.Server
	t       testing.TB
	url     string
	client  *http.Client
	options server.Options

	mu       sync.Mutex
	requests []server.Request // guarded by mu
}

// start opens a server and serves it below a path of its own, as behind a proxy.
func start(t testing.TB, change ...func(*server.Options)) *service {
	t.Helper()
	h := &service{t: t, client: http.DefaultClient, options: server.Options{
		Data: t.TempDir(), Database: server.NewDatabase(t), Blobs: server.NewBlobs(t), Credentials: server.Credentials{APIKey: testKey}, Location: time.UTC, LogSize: logSize,
	}}
	h.options.OnRequest = func(r server.Request) {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.requests = append(h.requests, r)
	}
	for _, f := range change {
		f(&h.options)
	}
	s, err := server.Open(t.Context(), h.options)
	if err != nil {
		t.Fatal(err)
	}
	h.Server = s
	front := httptest.NewServer(http.StripPrefix("/front", s.Handler()))
	h.url = front.URL + "/front/api/v2"
	t.Cleanup(func() {
		front.Close()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return h
}

// answer is a received answer.
type answer struct {
	status int
	header http.Header
	body   string
}

// send sends a request. The request and its answer must be as the OpenAPI document describes.
func (h *service) send(method, path, contentType string, body io.Reader, header ...string) answer {
	h.t.Helper()
	request, err := http.NewRequestWithContext(h.t.Context(), method, h.url+path, body)
	if err != nil {
		h.t.Fatal(err)
	}
	request.Header.Set("API-Key", testKey)
	if contentType != "" {
		request.Header.Set("Content-Type", contentType)
	}
	for i := 0; i < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	held := check(h.t, request)
	response, err := h.client.Do(request)
	if err != nil {
		h.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		h.t.Fatal(err)
	}
	a := answer{status: response.StatusCode, header: response.Header, body: string(content)}
	held.answered(a)
	return a
}

func (h *service) get(path string, header ...string) answer {
	h.t.Helper()
	return h.send(http.MethodGet, path, "", nil, header...)
}

// post sends form fields, given as name, value, name, value.
func (h *service) post(path string, fields ...string) answer {
	h.t.Helper()
	form := url.Values{}
	for i := 0; i < len(fields); i += 2 {
		form.Add(fields[i], fields[i+1])
	}
	return h.send(http.MethodPost, path, "application/x-www-form-urlencoded", strings.NewReader(form.Encode()))
}

func (h *service) postJSON(path, body string) answer {
	h.t.Helper()
	return h.send(http.MethodPost, path, "application/json", strings.NewReader(body))
}

// upload sends a file and then the fields.
func (h *service) upload(fileName, content string, fields ...string) answer {
	h.t.Helper()
	body, contentType := multipartBody(h.t, fileName, content, fields...)
	return h.send(http.MethodPost, "/file-upload", contentType, body)
}

func multipartBody(t testing.TB, fileName, content string, fields ...string) (*bytes.Buffer, string) {
	t.Helper()
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	part, err := w.CreateFormFile("upload-data", fileName)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(part, content); err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(fields); i += 2 {
		if err := w.WriteField(fields[i], fields[i+1]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return &body, w.FormDataContentType()
}

// uploaded uploads a file, which must succeed, and returns its id.
func (h *service) uploaded(fileName, content string, fields ...string) archive.ID {
	h.t.Helper()
	a := h.upload(fileName, content, fields...)
	id, err := strconv.ParseInt(a.body, 10, 64)
	if a.status != http.StatusOK || err != nil {
		h.t.Fatalf("upload: %d %s", a.status, a.body)
	}
	return archive.ID(id)
}

func decode[T any](t testing.TB, a answer) T {
	t.Helper()
	var value T
	if a.status != http.StatusOK {
		t.Fatalf("status %d: %s", a.status, a.body)
	}
	if err := json.Unmarshal([]byte(a.body), &value); err != nil {
		t.Fatalf("%v in %s", err, a.body)
	}
	return value
}

// element is a document of a list, independently of the service's own type.
type element struct {
	ID         archive.ID `json:"id"`
	Name       string     `json:"name"`
	Pages      int        `json:"num-pages"`
	Created    string     `json:"creation-date"`
	Archived   *string    `json:"archiving-date"`
	Folder     archive.ID `json:"folder-id"`
	Keywords   []string   `json:"keywords"`
	AutoExport *bool      `json:"autoexport-status"`
	Length     *int64     `json:"content-length"`
	Type       *string    `json:"content-type"`
	Metadata   []struct {
		Key   string `json:"key"`
		Value string `json:"value"`
	} `json:"external-metadata"`
}

func (h *service) list(folder archive.ID, more ...string) []element {
	h.t.Helper()
	return decode[[]element](h.t, h.get("/document/list?folder-id="+text(folder)+strings.Join(more, "")))
}

func names(documents []element) []string {
	found := make([]string, 0, len(documents))
	for _, d := range documents {
		found = append(found, d.Name)
	}
	return found
}

func text(id archive.ID) string { return strconv.FormatInt(int64(id), 10) }

// wantProblem checks an error answer, and that it names the field if one is given.
func wantProblem(t *testing.T, a answer, status int, field string) {
	t.Helper()
	if a.status != status {
		t.Errorf("status %d, want %d: %s", a.status, status, a.body)
		return
	}
	if got := a.header.Get("Content-Type"); got != "application/problem+json" {
		t.Errorf("content type %q", got)
	}
	var p struct {
		Type, Title, Detail, Field string
		Status                     int
		Errors                     []struct{ Name, Reason string }
	}
	if err := json.Unmarshal([]byte(a.body), &p); err != nil {
		t.Fatal(err)
	}
	if p.Status != status || p.Title == "" || p.Type == "" {
		t.Errorf("problem %s", a.body)
	}
	if field == "" {
		return
	}
	if !slices.ContainsFunc(p.Errors, func(e struct{ Name, Reason string }) bool { return e.Name == field && e.Reason != "" }) {
		t.Errorf("problem does not name %s: %s", field, a.body)
	}
}

// office is a small archive:
//
//	Muster GmbH / Rechnungen / 2018 / a (22 November), b (23 November)
//	Muster GmbH / Rechnungen / c
//	Other AG
//	inboxes: Administrator / scan; Administrator / Later; Empty
type office struct {
	mandator, invoices, year, other, inbox, later, spare archive.ID
	a, b, c, scan                                        archive.ID
}

func furnish(t testing.TB, h *service) office {
	t.Helper()
	ctx := t.Context()
	must := func(id archive.ID, err error) archive.ID {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	var o office
	o.mandator = must(h.AddMandator(ctx, "Muster GmbH"))
	o.invoices = must(h.AddFolder(ctx, o.mandator, "Rechnungen"))
	o.year = must(h.AddFolder(ctx, o.invoices, "2018"))
	o.other = must(h.AddMandator(ctx, "Other AG"))
	o.inbox = must(h.AddInbox(ctx, 7, "Administrator"))
	o.later = must(h.AddFolder(ctx, o.inbox, "Later"))
	o.spare = must(h.AddInbox(ctx, 8, "Empty"))
	add := func(folder archive.ID, name string, days int, archived bool) archive.ID {
		d := server.NewDocument{
			Folder: folder, Name: name, Created: day.AddDate(0, 0, days), Keywords: []string{"paid", "x,y"},
			Types: []string{"invoice"}, ExternalID: "ext-" + name, AutoExport: name == "a",
			Metadata: []archive.KeyValue{{Key: "number", Value: "1"}, {Key: "amount", Value: "2,50"}},
			Notes:    []archive.Note{{Text: "note on " + name, Date: "2023-12-01 10:00:00", Creator: "Eve"}},
			Stamps:   []archive.Stamp{{Title: "PAID", Text: "today"}},
		}
		if archived {
			d.Archived = d.Created.Add(time.Hour)
		}
		return must(h.AddDocument(ctx, d, strings.NewReader("content of "+name)))
	}
	o.a = add(o.year, "a", 0, true)
	o.b = add(o.year, "b", 1, true)
	o.c = add(o.invoices, "c", 2, true)
	o.scan = add(o.inbox, "scan", 0, false)
	return o
}
