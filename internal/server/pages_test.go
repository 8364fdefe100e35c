package server_test

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"net/http"
	"strings"
	"testing"

	"github.com/pdfcpu/pdfcpu/pkg/api"
	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu/model"
)

// numPages counts the pages of a PDF.
func numPages(t *testing.T, pdf string) int {
	t.Helper()
	ctx, err := api.ReadContext(strings.NewReader(pdf), &model.Configuration{
		Reader15: true, Offline: true, ValidationMode: model.ValidationRelaxed, Limits: model.DefaultResourceLimits(),
	})
	if err == nil {
		err = ctx.EnsurePageCount()
	}
	if err != nil {
		t.Fatal(err)
	}
	return ctx.PageCount
}

// A document has as many pages as its PDF and its text, and its last page has a preview.
func TestPagesAgree(t *testing.T) {
	t.Parallel()
	needPoppler(t)
	h := start(t)
	o := furnish(t, h)
	var picture bytes.Buffer
	if err := png.Encode(&picture, image.NewGray(image.Rect(0, 0, 20, 30))); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		content string
		pages   int
		words   bool
	}{
		"a.pdf":        {pdfSaying(t, "one", "two", "three"), 3, true},
		"damaged.pdf":  {strings.Replace(pdfSaying(t, "one", "two"), "startxref\n", "startxref\n9", 1), 2, true},
		"a.png":        {picture.String(), 1, false},
		"a.bin":        {"\x00\x01", 1, false},
		"long.txt":     {strings.Repeat("a line of text\n", 200), 4, true},
		"fed.txt":      {"one\ftwo\fthree\f", 3, true},
		"too much.txt": {strings.Repeat("\f", 30_000), 1, true},
		"a.html":       {"<p>" + strings.Repeat("one<br>", 100), 2, true},
		"html.eml":     {"From: a@example.org\r\nContent-Type: text/html\r\n\r\n" + strings.Repeat("<p>one", 100), 4, true},
	} {
		t.Run(name, func(t *testing.T) {
			id := h.uploaded(name, test.content, "target-folder-id", text(o.spare))
			if d := h.list(o.spare)[0]; d.Pages != test.pages {
				t.Errorf("num-pages is %d, want %d", d.Pages, test.pages)
			}
			if got := h.get("/document/" + text(id) + "/pdf").body; !strings.HasPrefix(name, "damaged") && numPages(t, got) != test.pages {
				t.Errorf("the PDF has %d pages, want %d", numPages(t, got), test.pages)
			}
			words := h.get("/document/" + text(id) + "/ocr-result")
			if got := 1 + strings.Count(words.body, "\f"); (words.status == http.StatusOK) != test.words || test.words && got != test.pages {
				t.Errorf("status %d, the text has %d pages, want %d", words.status, got, test.pages)
			}
			if a := h.get(pageOf(id, int64(test.pages)) + "/preview?bbox-width=50"); a.status != http.StatusOK {
				t.Errorf("the last page: %d %s", a.status, a.body)
			}
			if a := h.get(fmt.Sprintf("%s/preview", pageOf(id, int64(test.pages)+1))); a.status != http.StatusNotFound {
				t.Errorf("a page after it: %d", a.status)
			}
			h.post("/document/" + text(id) + "/delete")
		})
	}
}
