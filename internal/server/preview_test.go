package server_test

import (
	"bytes"
	"image"
	"image/jpeg"
	"image/png"
	"net/http"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/archivefs/archivefs/archive"
)

func TestPreview(t *testing.T) {
	t.Parallel()
	h := start(t)
	o := furnish(t, h)
	var b bytes.Buffer
	if err := jpeg.Encode(&b, image.NewGray(image.Rect(0, 0, 400, 200)), nil); err != nil {
		t.Fatal(err)
	}
	photo := h.uploaded("p.jpg", b.String(), "target-folder-id", text(o.other))
	damaged := h.uploaded("d.pdf", "%PDF-1.4\n", "target-folder-id", text(o.other))
	page := func(id archive.ID) string { return pageOf(id, 1) + "/preview" }
	for query, want := range map[string]image.Point{
		"": {X: 400, Y: 200}, "?bbox-width=100&bbox-height=100": {X: 100, Y: 50}, "?bbox-height=20": {X: 40, Y: 20},
		"?bbox-width=4000&bbox-height=4000": {X: 400, Y: 200}, "?bbox-height=1": {X: 2, Y: 1},
	} {
		a := h.get(page(photo) + query)
		got, err := jpeg.DecodeConfig(strings.NewReader(a.body))
		if err != nil || got.Width != want.X || got.Height != want.Y || a.header.Get("Content-Type") != "image/jpeg" {
			t.Errorf("%s: %dx%d, %v, status %d", query, got.Width, got.Height, err, a.status)
		}
	}
	second := strings.Replace(page(photo), "1/preview", "2/preview", 1)
	for _, path := range []string{page(damaged), second, "/page/1/preview", "/page/0/preview", "/page/-1/preview", page(999)} {
		wantProblem(t, h.get(path), http.StatusNotFound, "id")
	}
	wantProblem(t, h.get(page(photo)+"?bbox-width=0"), http.StatusBadRequest, "bbox-width")
}

// pageOf is the path of a page, counted from 1.
func pageOf(id archive.ID, page int64) string {
	return "/page/" + strconv.FormatInt(int64(id)<<16+page, 10)
}

func needPoppler(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("pdftoppm"); err != nil {
		t.Skip("poppler-utils is not installed")
	}
}

// The preview of a document that is no picture shows its PDF.
func TestPreviewOfPDFs(t *testing.T) {
	t.Parallel()
	needPoppler(t)
	h := start(t)
	o := furnish(t, h)
	in := []string{"target-folder-id", text(o.other)}
	var picture bytes.Buffer
	if err := png.Encode(&picture, image.NewGray(image.Rect(0, 0, 400, 200))); err != nil {
		t.Fatal(err)
	}
	for name, id := range map[string]archive.ID{
		"PDF": h.uploaded("x.pdf", pdfOf(t, 3), in...), "text": o.a, "anything": h.uploaded("x.bin", "\x00\x01", in...),
		"broken picture": h.uploaded("b.png", picture.String()[:picture.Len()/2], in...),
	} {
		t.Run(name, func(t *testing.T) {
			for query, want := range map[string]image.Point{
				"?bbox-width=297&bbox-height=297": {X: 210, Y: 297}, "?bbox-width=105&bbox-height=2000": {X: 105, Y: 148},
				"?bbox-height=20": {X: 14, Y: 20}, "?bbox-width=1&bbox-height=1": {X: 1, Y: 1}, "": {X: 2829, Y: 4000},
			} {
				if name != "PDF" && !strings.Contains(query, "width") { // those are large, and take their time
					continue
				}
				a := h.get(pageOf(id, 1) + "/preview" + query)
				got, err := jpeg.DecodeConfig(strings.NewReader(a.body))
				near := got.Width-want.X >= -1 && got.Width-want.X <= 1 && got.Height-want.Y >= -1 && got.Height-want.Y <= 1
				if err != nil || !near || a.header.Get("Content-Type") != "image/jpeg" {
					t.Errorf("%s: %dx%d, want %v; %v, status %d", query, got.Width, got.Height, want, err, a.status)
				}
			}
			wantProblem(t, h.get(pageOf(id, 4)+"/preview"), http.StatusNotFound, "id")
		})
	}
}

// Without poppler only pictures have previews, and the answer says what to install.
func TestPreviewWithoutPoppler(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	h := start(t)
	o := furnish(t, h)
	id := h.uploaded("x.pdf", pdfOf(t, 1), "target-folder-id", text(o.other))
	for _, path := range []string{pageOf(id, 1) + "/preview", pageOf(o.a, 1) + "/preview", pageOf(id, 1) + "/ocr-result", "/document/" + text(id) + "/ocr-result"} {
		a := h.get(path)
		wantProblem(t, a, http.StatusNotFound, "id")
		if !strings.Contains(a.body, "poppler-utils is not installed") {
			t.Errorf("%s: %s", path, a.body)
		}
	}
}
