package server_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"codeberg.org/go-pdf/fpdf"
	"github.com/xuri/excelize/v2"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/server"
)

func TestText(t *testing.T) {
	t.Parallel()
	h := start(t)
	o := furnish(t, h)
	mail := h.uploaded("m.eml", "From: a@example.org\r\nSubject: Gru\xc3\x9f\r\n\r\nBody\r\n", "target-folder-id", text(o.other), "email-import-order", "EMAIL_ONLY")
	latin := h.uploaded("l.txt", "Gr\xfc\xdfe", "target-folder-id", text(o.other))
	binary := h.uploaded("x.bin", "\x00\x01", "target-folder-id", text(o.other))
	for id, want := range map[archive.ID]string{o.a: "content of a", latin: "Grüße"} {
		for _, path := range []string{"/document/" + text(id), pageOf(id, 1)} {
			a := h.get(path + "/ocr-result")
			if a.status != http.StatusOK || a.body != want || a.header.Get("Content-Type") != "text/plain; charset=utf-8" {
				t.Errorf("%s: %+v", path, a)
			}
		}
	}
	for range 2 { // the second time it is kept
		if a := h.get("/document/" + text(mail) + "/ocr-result"); !strings.Contains(a.body, "From: a@example.org") || !strings.Contains(a.body, "Body") {
			t.Errorf("e-mail: %+v", a)
		}
	}
	for _, path := range []string{"/document/" + text(binary), "/document/999", pageOf(binary, 1), pageOf(latin, 2), pageOf(latin, 0), pageOf(999, 1)} {
		wantProblem(t, h.get(path+"/ocr-result"), http.StatusNotFound, "id")
	}
}

// pdfSaying makes a PDF with a page for each text.
func pdfSaying(t *testing.T, pages ...string) string {
	t.Helper()
	pdf := fpdf.New("P", "mm", "A4", "")
	pdf.SetFont("Helvetica", "", 12)
	for _, text := range pages {
		pdf.AddPage()
		pdf.Cell(0, 10, text)
	}
	var b bytes.Buffer
	if err := pdf.Output(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// The text of a PDF has as many pages as the document, and is extracted once.
func TestTextOfPDFs(t *testing.T) {
	t.Parallel()
	needPoppler(t)
	h := start(t)
	o := furnish(t, h)
	before := h.kept()
	id := h.uploaded("x.pdf", pdfSaying(t, "first", "", "third"), "target-folder-id", text(o.spare))
	read := func(path string) string {
		a := h.get(path + "/ocr-result")
		if a.status != http.StatusOK {
			t.Fatalf("%s: %d %s", path, a.status, a.body)
		}
		return strings.ReplaceAll(a.body, "\n", "")
	}
	for range 2 {
		if got := read("/document/" + text(id)); got != "first\f\fthird" {
			t.Errorf("the text is %q", got)
		}
		if got := []string{read(pageOf(id, 1)), read(pageOf(id, 2)), read(pageOf(id, 3))}; !slices.Equal(got, []string{"first", "", "third"}) {
			t.Errorf("the pages are %q", got)
		}
		if got := h.kept(); got != before+2 {
			t.Errorf("%d contents, want %d and the document and its text", got, before)
		}
	}
	wantProblem(t, h.get(pageOf(id, 4)+"/ocr-result"), http.StatusNotFound, "id")
	h.post("/document/" + text(id) + "/delete")
	if got := h.kept(); got != before {
		t.Errorf("%d contents after deleting, %d before", got, before)
	}
	for name, content := range map[string]string{"scan.pdf": pdfOf(t, 2), "damaged.pdf": "%PDF-1.4\n"} {
		id := h.uploaded(name, content, "target-folder-id", text(o.other))
		for range 2 {
			wantProblem(t, h.get("/document/"+text(id)+"/ocr-result"), http.StatusNotFound, "id")
		}
	}
}

// A PDF behind up to 1,024 other bytes is one, with pages, previews and a text.
func TestPDFsBehindOtherBytes(t *testing.T) {
	t.Parallel()
	needPoppler(t)
	h := start(t)
	o := furnish(t, h)
	for name, front := range map[string]string{
		"a print job": "\x1b%-12345X@PJL ENTER LANGUAGE=PDF\r\n", "a little": "MZ\x00\xff\xff", "a header": "HTTP/1.1 200 OK\r\nContent-Type: application/pdf\r\n\r\n",
		"MacBinary": "\x00\x05a.pdf" + strings.Repeat("\x00", 121), "much": strings.Repeat("\xff", 1024), "too much": strings.Repeat("\xff", 1500),
	} {
		t.Run(name, func(t *testing.T) {
			id := h.uploaded("a.pdf", front+pdfSaying(t, "first", "second"), "target-folder-id", text(o.spare))
			d := h.list(o.spare)[0]
			if is := *d.Type == "application/pdf" && d.Pages == 2; is != (len(front) <= 1024) {
				t.Errorf("%s of %d pages", *d.Type, d.Pages)
			} else if is {
				if a := h.get(pageOf(id, 2) + "/ocr-result"); strings.TrimSpace(a.body) != "second" {
					t.Errorf("the text is %d %q", a.status, a.body)
				}
				if a := h.get(pageOf(id, 2) + "/preview"); a.status != http.StatusOK {
					t.Errorf("the preview: %d %s", a.status, a.body)
				}
			}
			h.post("/document/" + text(id) + "/delete")
		})
	}
}

// The text of office documents can be read; damaged ones have none.
func TestTextOfOfficeDocuments(t *testing.T) {
	t.Parallel()
	h := start(t)
	o := furnish(t, h)
	var b bytes.Buffer
	f := excelize.NewFile()
	if err := f.SetCellValue("Sheet1", "A1", "Grüße"); err != nil {
		t.Fatal(err)
	}
	if err := f.Write(&b); err != nil {
		t.Fatal(err)
	}
	id := h.uploaded("x.xlsx", b.String(), "target-folder-id", text(o.other))
	cut := h.uploaded("y.xlsx", b.String()[:b.Len()-10], "target-folder-id", text(o.other))
	for range 2 { // the second time it is kept
		if a := h.get("/document/" + text(id) + "/ocr-result"); a.status != http.StatusOK || strings.TrimSpace(a.body) != "Sheet1\nGrüße" {
			t.Errorf("%d %q", a.status, a.body)
		}
		wantProblem(t, h.get("/document/"+text(cut)+"/ocr-result"), http.StatusNotFound, "id")
	}
}

// Slow readers of large texts do not fill the memory.
func TestLargeTextsWaitInFiles(t *testing.T) {
	h := start(t, func(o *server.Options) { o.Stall = time.Hour }) // so that slow readers are not cut
	h.url = "http://" + h.narrow() + "/api/v2"
	m, err := h.AddMandator(t.Context(), "M")
	if err != nil {
		t.Fatal(err)
	}
	content := strings.Repeat("word and more words\n", 100_000)
	id, err := h.AddDocument(t.Context(), server.NewDocument{Folder: m, Name: "d.txt", Created: day, Archived: day}, strings.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	const readers = 20
	before := held()
	var answers []io.ReadCloser
	for range readers {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, h.url+"/document/"+text(id)+"/ocr-result", nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("API-Key", testKey)
		response, err := h.client.Do(request) //nolint:bodyclose // below, when all have answered
		if err != nil {
			t.Fatal(err)
		}
		answers = append(answers, response.Body)
	}
	if now := held(); now > before+int64(readers*len(content)/2) {
		t.Errorf("%d bytes are held for %d readers of %d bytes", now-before, readers, len(content))
	}
	for _, answer := range answers {
		got, err := io.ReadAll(answer)
		if err := errors.Join(err, answer.Close()); err != nil || string(got) != content {
			t.Errorf("%d bytes, %v", len(got), err)
		}
	}
}

// held is the heap in use, in bytes.
func held() int64 {
	runtime.GC()
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	return int64(memory.HeapAlloc)
}
