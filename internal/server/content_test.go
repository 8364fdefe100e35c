package server_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"image"
	"image/png"
	"net/http"
	"strings"
	"testing"

	"codeberg.org/go-pdf/fpdf"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/server"
)

// pdfOf makes a PDF of n pages.
func pdfOf(t *testing.T, n int) string {
	t.Helper()
	pdf := fpdf.New("P", "mm", "A4", "")
	for range n {
		pdf.AddPage()
	}
	var b bytes.Buffer
	if err := pdf.Output(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func etag(content string) string {
	return fmt.Sprintf(`"%x"`, sha256.Sum256([]byte(content)))
}

func TestOriginal(t *testing.T) {
	t.Parallel()
	h := start(t)
	o := furnish(t, h)
	const content = "0123456789"
	id := h.uploaded("digits.txt", content, "target-folder-id", text(o.year))
	path := "/document/" + text(id) + "/pdf?original=true"
	for _, test := range []struct {
		name   string
		header []string
		status int
		body   string
		ranged string
	}{
		{"whole", nil, 200, content, ""},
		{"range", []string{"Range", "bytes=2-4"}, 206, "234", "bytes 2-4/10"},
		{"from", []string{"Range", "bytes=7-"}, 206, "789", "bytes 7-9/10"},
		{"suffix", []string{"Range", "bytes=-3"}, 206, "789", "bytes 7-9/10"},
		{"beyond", []string{"Range", "bytes=10-"}, 416, "", "bytes */10"},
		{"no range", []string{"Range", "bytes=x"}, 416, "", ""},
		{"another unit", []string{"Range", "pages=1-2"}, 200, content, ""},
		{"many of another unit", []string{"Range", "pages=1" + strings.Repeat(",2", 20)}, 200, content, ""},
		{"not changed", []string{"If-None-Match", etag(content)}, 304, "", ""},
		{"changed", []string{"If-None-Match", `"other"`}, 200, content, ""},
		{"range of the same", []string{"Range", "bytes=2-4", "If-Range", etag(content)}, 206, "234", "bytes 2-4/10"},
		{"range of another", []string{"Range", "bytes=2-4", "If-Range", `"other"`}, 200, content, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			a := h.get(path, test.header...)
			if a.status != test.status || a.header.Get("Content-Range") != test.ranged || test.status < 300 && a.body != test.body {
				t.Errorf("%d %q %q", a.status, a.header.Get("Content-Range"), a.body)
			}
			if test.status < 400 && a.header.Get("ETag") != etag(content) {
				t.Errorf("entity tag %s", a.header.Get("ETag"))
			}
			if test.status >= 400 {
				wantProblem(t, a, test.status, "")
			}
		})
	}
	head := h.send(http.MethodHead, path, "", nil)
	if head.status != 200 || head.header.Get("Content-Length") != "10" || head.header.Get("ETag") != etag(content) ||
		head.header.Get("Accept-Ranges") != "bytes" || head.header.Get("Content-Type") != "application/octet-stream" {
		t.Errorf("HEAD: %d %v", head.status, head.header)
	}
	wantProblem(t, h.get("/document/999/pdf"), http.StatusNotFound, "id")
	wantProblem(t, h.get("/document/x/pdf"), http.StatusBadRequest, "id")
	wantProblem(t, h.get(path+"e"), http.StatusBadRequest, "original")
	wantProblem(t, h.get("/document/"+text(id)+"/pdf?annotations=stamp,frame"), http.StatusBadRequest, "annotations")
}

func TestPDF(t *testing.T) {
	t.Parallel()
	h := start(t)
	o := furnish(t, h)
	three := pdfOf(t, 3)
	var picture bytes.Buffer
	if err := png.Encode(&picture, image.NewGray(image.Rect(0, 0, 20, 30))); err != nil {
		t.Fatal(err)
	}
	in := []string{"target-folder-id", text(o.other)}
	ids := map[string]archive.ID{
		"PDF":   h.uploaded("three.pdf", three, in...),
		"image": h.uploaded("picture.png", picture.String(), in...),
		"text":  h.uploaded("note.txt", "Grüße", in...),
		"other": h.uploaded("data.bin", "\x00\x01\x02\x03", in...),
	}
	if d := h.list(o.other)[0]; d.Pages != 3 || *d.Type != "application/pdf" {
		t.Errorf("the PDF is listed as %+v", d)
	}
	for name, id := range ids {
		t.Run(name, func(t *testing.T) {
			path := "/document/" + text(id) + "/pdf"
			first := h.get(path + "?annotations=stamp,text,symbol,note")
			if first.status != 200 || !strings.HasPrefix(first.body, "%PDF-") || first.header.Get("Content-Type") != "application/pdf" {
				t.Fatalf("%d %v", first.status, first.header)
			}
			if (first.body == three) != (name == "PDF") {
				t.Error("a PDF is passed on as it is, anything else is not")
			}
			if got := first.header.Get("ETag"); got != etag(first.body) {
				t.Errorf("entity tag %s", got)
			}
			contents := h.kept()
			again := h.get(path, "Range", "bytes=0-3")
			if again.body != "%PDF" || again.header.Get("ETag") != first.header.Get("ETag") {
				t.Errorf("a range of it: %d %q", again.status, again.body)
			}
			if h.kept() != contents {
				t.Error("it was made twice")
			}
		})
	}
}

func TestRenditionsGoWithTheirDocument(t *testing.T) {
	t.Parallel()
	h := start(t)
	o := furnish(t, h)
	before := h.kept()
	var ids []archive.ID
	for _, name := range []string{"one.txt", "two.bin"} {
		ids = append(ids, h.uploaded(name, "to be rendered "+strings.Repeat("\x00", len(ids)), "target-folder-id", text(o.spare)))
	}
	for _, id := range ids {
		if a := h.get("/document/" + text(id) + "/pdf"); a.status != 200 {
			t.Fatalf("%d %s", a.status, a.body)
		}
	}
	if got := h.kept(); got != before+4 {
		t.Errorf("%d contents, want two documents and two renditions beside %d", got, before)
	}
	for _, id := range ids {
		h.post("/document/" + text(id) + "/delete")
	}
	if got := h.kept(); got != before {
		t.Errorf("%d contents after deleting, %d before", got, before)
	}
}

func TestContentOfPlainServices(t *testing.T) {
	t.Parallel()
	h := start(t, func(o *server.Options) { o.NoHead, o.NoRange = true, true })
	o := furnish(t, h)
	path := "/document/" + text(o.a) + "/pdf?original=true"
	a := h.get(path, "Range", "bytes=2-4")
	if a.status != 200 || a.body != "content of a" || a.header.Get("Accept-Ranges") != "" || a.header.Get("ETag") != "" {
		t.Errorf("%d %q %v", a.status, a.body, a.header)
	}
	if a := h.send(http.MethodHead, path, "", nil); a.status != http.StatusMethodNotAllowed || a.header.Get("Allow") != "GET" {
		t.Errorf("HEAD: %d %v", a.status, a.header)
	}
	if a := h.send(http.MethodPost, path, "", nil); a.status != http.StatusMethodNotAllowed || a.header.Get("Allow") != "GET" {
		t.Errorf("POST: %d %v", a.status, a.header)
	}
}
