package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/server/limits"
)

// Errors are sentences for people, who can act on them.
func TestWhatIsWrongIsSaidInWords(t *testing.T) {
	t.Parallel()
	s := opened(t, Options{Data: t.TempDir(), Database: NewDatabase(t), Blobs: NewBlobs(t), Credentials: Credentials{APIKey: "k"}, MaxUpload: 10_000_000})
	handler := s.Handler()
	const multipart, urlencoded = "multipart/form-data; boundary=XX", "application/x-www-form-urlencoded"
	file := "--XX\r\nContent-Disposition: form-data; name=\"upload-data\"; filename=\"a.txt\"\r\n\r\n"
	encoded := strings.Replace(file, "upload-data", "upload-data-base64", 1)
	for _, test := range []struct {
		name, method, path, contentType string
		body                            string
		status                          int
		detail                          string
	}{
		{"a file that is cut off", "POST", "/file-upload", multipart, file + "half", 400, "upload-data: the file cannot be read: the body ends without the form's closing delimiter"},
		{"base64 that is cut off", "POST", "/file-upload", multipart, encoded + "aGF", 400, "upload-data-base64: the file cannot be read: the body ends without the form's closing delimiter"},
		{"base64 that is none", "POST", "/file-upload", multipart, encoded + "????\r\n--XX--", 400, "upload-data-base64: not base64 as in RFC 4648, section 4: illegal base64 data at input byte 0"},
		{"base64 without its end", "POST", "/file-upload", multipart, encoded + "aGF\r\n--XX--", 400, "upload-data-base64: not base64 as in RFC 4648, section 4: it has no whole number of groups of four letters"},
		{"a field that is cut off", "POST", "/file-upload", multipart, "--XX\r\nContent-Disposition: form-data; name=\"keywords\"\r\n\r\nhalf", 400, "the form cannot be read: the body ends without the form's closing delimiter"},
		{"a header that is cut off", "POST", "/file-upload", multipart, "--XX\r\nContent-Dispo", 400, "the form cannot be read: the body ends without the form's closing delimiter"},
		{"nothing", "POST", "/file-upload", multipart, "", 400, "the form cannot be read: the body ends without the form's closing delimiter"},
		{"a form without its type", "POST", "/file-upload", "", "x", 400, "the body must be multipart/form-data, and the request has no Content-Type"},
		{"fields without their type", "POST", "/folder/create", "", "x", 400, "the body must be application/x-www-form-urlencoded, and the request has no Content-Type"},
		{"a form of another type", "POST", "/file-upload", "text/plain", "x", 400, `the body must be multipart/form-data, not "text/plain"`},
		{"a form without a boundary", "POST", "/file-upload", "multipart/form-data", "x", 400, "the form cannot be read: its Content-Type has no boundary"},
		{"JSON that is cut off", "POST", "/document/1/keywords", "application/json", `["a`, 400, "the body is no JSON: it is cut off"},
		{"no JSON at all", "POST", "/document/1/keywords", "application/json", "", 400, "the body is no JSON: it is empty"},
		{"a page of no document", "GET", "/page/1/preview", "", "", 404, "id: there is no page 1"},
		{"a page that is none", "GET", "/page/0/ocr-result", "", "", 404, "id: there is no page 0"},
		{"a page of a document that is not there", "GET", "/page/65537000/ocr-result", "", "", 404, "id: there is no page 65537000"},
		{"a file that is too large", "POST", "/file-upload", multipart, file + strings.Repeat("x", 10_000_001), 413, "upload-data: the file is larger than 10 MB"},
		{"a body that is too large", "POST", "/file-upload", multipart, file + strings.Repeat("x", 20_000_000), 413, "the body is too large for a file of at most 10 MB and its fields"},
		{"fields that are too large", "POST", "/folder/create", urlencoded, strings.Repeat("x", 2<<20), 413, "the body is larger than 1.0 MiB"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := httptest.NewRequestWithContext(t.Context(), test.method, base+test.path, strings.NewReader(test.body))
			r.Header.Set("API-Key", "k")
			if test.contentType != "" {
				r.Header.Set("Content-Type", test.contentType)
			}
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, r)
			wantDetail(t, w, test.status, test.detail)
		})
	}
	// A body without a length is read up to the limit.
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, base+"/file-upload", io.MultiReader(strings.NewReader(strings.Repeat("x\r\n", 6_000_000))))
	r.Header.Set("API-Key", "k")
	r.Header.Set("Content-Type", multipart)
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	wantDetail(t, w, 413, "the body is too large for a file of at most 10 MB and its fields")
	for _, test := range []struct {
		err    error
		status int
		detail string
	}{
		{errors.New("secret"), 500, "the service failed; its log says why, beside the id of this request"},
		{&lostContent{err: errors.New("secret")}, 500, "the content of a document is missing or damaged; archivefs admin verify shows which contents are, and a backup may have them"},
		{&archive.Error{Op: "bucket", Kind: archive.KindUnreachable, Err: errors.New("secret")}, 503, "what the service needs itself cannot be reached now; try again in a moment"},
	} {
		w := httptest.NewRecorder()
		s.front.answer(&response{ResponseWriter: w}, fmt.Errorf("secret: %w", test.err))
		wantDetail(t, w, test.status, test.detail)
	}
	w = httptest.NewRecorder()
	s.front.recovered(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("secret") })).
		ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
	wantDetail(t, w, 500, "the service failed; its log says why, beside the id of this request")
}

func wantDetail(t *testing.T, w *httptest.ResponseRecorder, status int, detail string) {
	t.Helper()
	var p problem
	if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil || w.Code != status || p.Detail != detail {
		t.Errorf("%d %q, want %d %q; %v", w.Code, p.Detail, status, detail, err)
	}
}

// A limit is shown exactly as it was given.
func TestALimitIsToldExactly(t *testing.T) {
	t.Parallel()
	for limit, want := range map[int64]string{
		10 << 30: "10 GiB", 10_000_000: "10 MB", 1_500_000: "1.5 MB", 3 << 19: "1.5 MiB", 12_345_678: "12,345,678 bytes", 1 << 10: "1.0 KiB", 1000: "1000 B", 999: "999 B",
	} {
		if got := limits.Amount(limit); got != want {
			t.Errorf("%d is shown as %s, want %s", limit, got, want)
		}
	}
}

// The log is for people, too.
func TestALogHasNumbersAsPeopleWriteThem(t *testing.T) {
	t.Parallel()
	fields := line(Request{Duration: 59 * time.Microsecond})
	var text, object strings.Builder
	log := &logrus.Logger{Out: &text, Formatter: &logrus.TextFormatter{DisableColors: true}, Level: logrus.InfoLevel}
	log.WithFields(fields).Info("request")
	log.Out, log.Formatter = &object, &logrus.JSONFormatter{}
	log.WithFields(fields).Info("request")
	if !strings.Contains(text.String(), "seconds=0.000059") || !strings.Contains(object.String(), `"seconds":0.000059`) {
		t.Errorf("%s%s", text.String(), object.String())
	}
}
