package server_test

import (
	"bytes"
	"image"
	"image/jpeg"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/archivefs/archivefs/archive"
)

func TestText(t *testing.T) {
	h := start(t)
	o := furnish(t, h)
	mail := h.uploaded("m.eml", "From: a@example.org\r\nSubject: Gru\xc3\x9f\r\n\r\nBody\r\n", "target-folder-id", text(o.other), "email-import-order", "EMAIL_ONLY")
	latin := h.uploaded("l.txt", "Gr\xfc\xdfe", "target-folder-id", text(o.other))
	pdf := h.uploaded("x.pdf", "%PDF-1.4\n", "target-folder-id", text(o.other))
	for id, want := range map[archive.ID]string{o.a: "content of a", latin: "Grüße"} {
		a := h.get("/document/" + text(id) + "/ocr-result")
		if a.status != http.StatusOK || a.body != want || a.header.Get("Content-Type") != "text/plain; charset=utf-8" {
			t.Errorf("%d: %+v", id, a)
		}
	}
	if a := h.get("/document/" + text(mail) + "/ocr-result"); !strings.Contains(a.body, "From: a@example.org") || !strings.Contains(a.body, "Body") {
		t.Errorf("e-mail: %+v", a)
	}
	for _, id := range []string{text(pdf), "999"} {
		wantProblem(t, h.get("/document/"+id+"/ocr-result"), http.StatusNotFound, "id")
	}
}

func TestPreview(t *testing.T) {
	h := start(t)
	o := furnish(t, h)
	var b bytes.Buffer
	if err := jpeg.Encode(&b, image.NewGray(image.Rect(0, 0, 400, 200)), nil); err != nil {
		t.Fatal(err)
	}
	photo := h.uploaded("p.jpg", b.String(), "target-folder-id", text(o.other))
	broken := h.uploaded("b.jpg", b.String()[:b.Len()/2], "target-folder-id", text(o.other))
	page := func(id archive.ID) string { return "/page/" + strconv.FormatInt(int64(id)<<16+1, 10) + "/preview" }
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
	for _, path := range []string{page(broken), page(o.a), second, "/page/1/preview", "/page/0/preview", "/page/-1/preview", page(999)} {
		wantProblem(t, h.get(path), http.StatusNotFound, "id")
	}
	wantProblem(t, h.get(page(photo)+"?bbox-width=0"), http.StatusBadRequest, "bbox-width")
}
