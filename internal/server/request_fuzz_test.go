package server_test

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/archivefs/archivefs/internal/server"
)

// seeds are requests of every route, right and wrong.
func seeds() []string {
	get := func(target string, header ...string) string {
		return "GET /api/v2" + target + " HTTP/1.1\r\nHost: h\r\n" + strings.Join(append(header, ""), "\r\n") + "\r\n"
	}
	const urlencoded, data, object = "application/x-www-form-urlencoded", "multipart/form-data; boundary=X", "application/json"
	file := "--X\r\nContent-Disposition: form-data; name=\"upload-data\"; filename=\"a.txt\"\r\nContent-Type: text/plain\r\n\r\nbytes\r\n"
	mail := "--X\r\nContent-Disposition: form-data; name=\"upload-data\"; filename=\"a.eml\"\r\n\r\nFrom: a@b\r\nSubject: s\r\nContent-Type: text/plain\r\n\r\ntext\r\n\r\n"
	field := func(name, value string) string {
		return "--X\r\nContent-Disposition: form-data; name=\"" + name + "\"\r\n\r\n" + value + "\r\n"
	}
	return []string{
		get("/archivestructure"), get("/archivestructure?lazy=true&parent-folder-id=1"), get("/archivestructure?lazy=TRUE&parent-folder-id=-1"),
		get("/inboxes"), get("/inboxes?lazy=0"),
		get("/document/list?folder-id=3&subfolders-recursive=true&with-autoexport-status=true&included-metadata-keys=number,x\\,y"),
		get("/document/list?folder-id=3&excluded-matadata-keys=number&filter-date-created-after=2023-11-22"),
		get("/document/list?folder-id=3&filter-date-created-after=9999-12-31T23:59:60"), get("/document/list"),
		get("/document/1/data"), get("/document/4/metadata"), get("/document/1/uploaded-with"), get("/document/1/ocr-result"), get("/page/65537/preview?bbox-width=10&bbox-height=0"),
		get("/document/1/pdf"), get("/document/1/pdf?original=true&annotations=stamp,text", "Range: bytes=0-3,5-6", "If-Range: \"x\""),
		get("/document/4/pdf?original=true", "Range: bytes=-1", "If-None-Match: *"), get("/document/4/pdf?original=maybe", "Range: pages=1-2"),
		"HEAD /api/v2/document/1/pdf?original=true HTTP/1.1\r\nHost: h\r\nRange: bytes=1-\r\n\r\n",
		get("/openapi.json"), "GET /readyz HTTP/1.1\r\nHost: h\r\n\r\n", "GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n",
		form("/search?fulltext-all=a+%22b+c%22&pagination-size=1&pagination-page=1", urlencoded, ""),
		form("/search?location=INBOX/Administrator&recursive=false&external-metadata=number%3D1&from-date=2023-01-01&to-date=2024-01-01T00:00:00", urlencoded, ""),
		form("/search?location-folder-id=3&document-type=invoice&stamps-inclusive=PAID&keyword-terms=paid&pagination-page=1073741824", urlencoded, ""),
		form("/folder/create", urlencoded, "parent-folder-id=3&folder-name=a"), form("/folder/create", urlencoded, "parent-folder-id=99&folder-name=%00"),
		form("/document/4/archive", urlencoded, "target-folder-id=3&keywords=a%5C,b&target-document-name=x"),
		form("/document/4/archive", urlencoded, "target-folder-path=/Muster+GmbH/Rechnungen/&target-mandator-name=Muster+GmbH"),
		form("/document/auto_export_status/set", urlencoded, "document-id=1&autoexport-status=true"),
		form("/document/4/rename", urlencoded, "new-name=b.pdf"), form("/document/4/delete", urlencoded, ""),
		form("/document/1/metadata", object, `{"a":"b","number":null}`), form("/document/1/keywords", object, `["a",null]`),
		form("/document/1/metadata", object, `{"":"b"}`), form("/document/1/keywords", object, `["a","\ud800"]`),
		form("/file-upload", data, field("target-folder-id", "3")+file+field("keywords", "a,b")+field("external-metadatas", "a=b")+"--X--\r\n"),
		form("/file-upload", data, mail+field("email-import-order", "ATTACHMENTS_THEN_EMAIL")+field("target-folder-path", "/Muster GmbH/")+"--X--\r\n"),
		form("/file-upload", data, field("upload-data-base64", "YQ==")+field("target-document-name", "a")+field("external-id", "e")+field("force-new-document", "true")+"--X--\r\n"),
		form("/document/4/replace?keywords=a", data, file+"--X--\r\n"), form("/document/1/replace", data, file+"--X--\r\n"),
	}
}

// FuzzRequest sends whole requests: whatever they are, the service does not fail, and its
// answer is one that the OpenAPI document describes.
func FuzzRequest(f *testing.F) {
	contract, err := theContract()
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range seeds() {
		f.Add([]byte(seed))
	}
	h := start(f, func(o *server.Options) { o.MaxUpload = 1 << 20 })
	furnish(f, h)
	handler := h.Handler()
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(text)))
		if err != nil {
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		asked := r.Clone(t.Context())
		r.Body = io.NopCloser(bytes.NewReader(body))
		r.Header.Set("API-Key", testKey)
		w := httptest.NewRecorder()
		func() {
			defer func() {
				if cause := recover(); cause != nil && !errors.Is(asError(cause), http.ErrAbortHandler) {
					panic(cause)
				}
			}()
			handler.ServeHTTP(w, r)
		}()
		if w.Code >= http.StatusInternalServerError {
			t.Errorf("%s %s: %d %s", r.Method, r.URL, w.Code, w.Body)
		}
		contract.hold(asked, nil, false, answer{status: w.Code, header: w.Header(), body: w.Body.String()}, t.Errorf)
	})
}

// asError is what a panic was called with, if that is an error.
func asError(cause any) error {
	err, _ := cause.(error)
	return err
}
