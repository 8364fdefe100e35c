package server_test

import (
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/archivefs/archivefs/internal/server"
	"github.com/archivefs/archivefs/internal/server/generated"
)

// A generated archive can be read like any other, and cannot be changed.
func TestGenerated(t *testing.T) {
	t.Parallel()
	h := &service{t: t, client: http.DefaultClient}
	h.Server = server.Generate(server.Options{Credentials: server.Credentials{APIKey: testKey}, Location: time.UTC},
		generated.Shape{Folders: 700, Documents: 3})
	front := httptest.NewServer(h.Handler())
	t.Cleanup(func() {
		front.Close()
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	h.url = front.URL + "/api/v2"

	for path, want := range map[string]int{
		"/archivestructure": 700, "/archivestructure?lazy=true": 1, "/archivestructure?parent-folder-id=3": 12,
		"/archivestructure?parent-folder-id=1&lazy=true": 2, "/inboxes": 0,
		"/document/list?folder-id=1&subfolders-recursive=true": 2100, "/document/list?folder-id=2": 3,
		"/document/list?folder-id=2&filter-date-created-after=2100-01-01": 0,
	} {
		if a := h.get(path); a.status != http.StatusOK || strings.Count(a.body, `"id":`) != want {
			t.Errorf("%s: %d, %d ids, want %d", path, a.status, strings.Count(a.body, `"id":`), want)
		}
	}
	d := h.list(2)[0]
	content := "/document/" + text(d.ID) + "/pdf"
	whole := h.get(content + "?original=true")
	if int64(len(whole.body)) != *d.Length || !strings.HasPrefix(whole.body, "%PDF-") || h.get(content).body != whole.body {
		t.Errorf("%d bytes, want %d of a PDF", len(whole.body), *d.Length)
	}
	part := h.get(content, "Range", "bytes=1000-1999", "If-Range", whole.header.Get("ETag"))
	if part.status != http.StatusPartialContent || part.body != whole.body[1000:2000] {
		t.Errorf("status %d, %d bytes of a part", part.status, len(part.body))
	}
	head := h.send(http.MethodHead, content, "", nil)
	if head.status != http.StatusOK || head.header.Get("Content-Length") != whole.header.Get("Content-Length") {
		t.Errorf("HEAD is %d with %q", head.status, head.header)
	}
	if a := h.get("/document/" + text(d.ID) + "/data"); a.status != http.StatusOK || !strings.Contains(a.body, d.Name) {
		t.Errorf("the data is %d %s", a.status, a.body)
	}

	if _, err := exec.LookPath("pdftotext"); err == nil {
		if a := h.get("/document/" + text(d.ID) + "/ocr-result"); a.status != http.StatusOK || strings.TrimSpace(a.body) != d.Name {
			t.Errorf("the text is %d %q", a.status, a.body)
		}
	}

	for name, refused := range map[string]answer{
		"upload":      h.upload("a.txt", "a", "target-folder-id", "1"),
		"folder":      h.post("/folder/create", "parent-folder-id", "1", "folder-name", "x"),
		"rename":      h.post("/document/1/rename", "new-name", "x"),
		"auto-export": h.post("/document/auto_export_status/set", "document-id", "1", "autoexport-status", "true"),
		"archive":     h.post("/document/1/archive", "target-folder-id", "1"),
		"delete":      h.post("/document/1/delete"),
		"keywords":    h.postJSON("/document/1/keywords", `["x"]`),
		"metadata":    h.postJSON("/document/1/metadata", `{"a":"x"}`),
	} {
		t.Run(name, func(t *testing.T) { wantProblem(t, refused, http.StatusForbidden, "") })
	}
}
