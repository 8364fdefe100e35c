package sample

import (
	"bytes"
	"image"
	_ "image/jpeg" // registered for image.Decode
	"path"
	"strings"
	"testing"

	"github.com/jhillyerd/enmime/v2"
	"github.com/pdfcpu/pdfcpu/pkg/api"
	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu/model"
	"github.com/xuri/excelize/v2"
	_ "golang.org/x/image/tiff" // registered for image.Decode
)

// withExtension returns the documents with one of the extensions, in any case.
func withExtension(r *recorder, extensions ...string) []recorded {
	var found []recorded
	for _, d := range r.documents {
		for _, e := range extensions {
			if strings.EqualFold(path.Ext(d.Name), e) {
				found = append(found, d)
			}
		}
	}
	return found
}

func testPDFs(t *testing.T, r *recorder) {
	api.DisableConfigDir()
	conf := model.NewDefaultConfiguration()
	single, several := 0, 0
	for _, d := range withExtension(r, ".pdf") {
		pages, err := api.PageCount(bytes.NewReader(d.content), conf)
		switch {
		case err != nil:
			t.Errorf("%s: %v", d.path, err)
		case pages > 1:
			several++
		case pages == 1:
			single++
		default:
			t.Errorf("%s: %d pages", d.path, pages)
		}
	}
	if single < 100 || several < 30 {
		t.Errorf("%d PDFs of one page, %d of several; want 100 and 30", single, several)
	}
}

func testImages(t *testing.T, r *recorder) {
	formats := make(map[string]int)
	for _, d := range withExtension(r, ".jpg", ".tif") {
		img, format, err := image.Decode(bytes.NewReader(d.content))
		if err != nil {
			t.Errorf("%s: %v", d.path, err)
			continue
		}
		formats[format]++
		if _, gray := img.(*image.Gray); !gray {
			t.Errorf("%s: %T, want a grayscale image", d.path, img)
		}
		if b := img.Bounds(); b.Dx() < 800 || b.Dy() < 1100 {
			t.Errorf("%s: %v is too small for a page", d.path, b)
		}
	}
	if formats["jpeg"] < 20 || formats["tiff"] < 10 {
		t.Errorf("images %v, want 20 JPEG and 10 TIFF", formats)
	}
}

func testMails(t *testing.T, r *recorder) {
	kinds := make(map[string]int)
	for _, d := range withExtension(r, ".eml") {
		m, err := enmime.ReadEnvelope(bytes.NewReader(d.content))
		if err != nil {
			t.Errorf("%s: %v", d.path, err)
			continue
		}
		if len(m.Errors) > 0 || len(m.Attachments) != 1 {
			t.Errorf("%s: %d attachments, errors %v", d.path, len(m.Attachments), m.Errors)
			continue
		}
		if m.GetHeader("Subject") == "" || !strings.Contains(m.Text, "Mit freundlichen Grüßen") {
			t.Errorf("%s: subject %q, text %q", d.path, m.GetHeader("Subject"), m.Text)
		}
		a := m.Attachments[0]
		kinds[a.ContentType]++
		if a.ContentType == "application/pdf" && !bytes.HasPrefix(a.Content, []byte("%PDF-")) {
			t.Errorf("%s: attachment %q is no PDF", d.path, a.FileName)
		}
		if path.Ext(a.FileName) == "" {
			t.Errorf("%s: attachment is called %q", d.path, a.FileName)
		}
	}
	if kinds["application/pdf"] < 5 || kinds["image/jpeg"] < 2 {
		t.Errorf("attachments %v, want 5 PDF and 2 JPEG", kinds)
	}
}

func testSheets(t *testing.T, r *recorder) {
	books := withExtension(r, ".xlsx")
	if len(books) < 2 {
		t.Errorf("%d workbooks, want 2", len(books))
	}
	for _, d := range books {
		f, err := excelize.OpenReader(bytes.NewReader(d.content))
		if err != nil {
			t.Errorf("%s: %v", d.path, err)
			continue
		}
		rows, err := f.GetRows(f.GetSheetName(0))
		if err != nil || len(rows) < 10 {
			t.Errorf("%s: %d rows, error %v", d.path, len(rows), err)
		}
		if err := f.Close(); err != nil {
			t.Errorf("%s: %v", d.path, err)
		}
	}
}
