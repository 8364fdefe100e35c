package pdf_test

import (
	"bytes"
	"compress/zlib"
	"errors"
	"fmt"
	"image"
	"image/png"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"codeberg.org/go-pdf/fpdf"
	"github.com/pdfcpu/pdfcpu/pkg/api"
	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu/model"

	"github.com/archivefs/archivefs/internal/server/inspect/pdf"
	"github.com/archivefs/archivefs/internal/testing/pdftest"
	"github.com/archivefs/archivefs/internal/whole"
)

// printed makes a PDF of empty pages, with a table in lines.
func printed(t testing.TB, pages int, change func(*fpdf.Fpdf)) string {
	t.Helper()
	doc := fpdf.New("P", "mm", "A4", "")
	change(doc)
	for range pages {
		doc.AddPage()
	}
	var b bytes.Buffer
	if err := doc.Output(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func plain(*fpdf.Fpdf) {}

// packed rewrites a PDF with object streams and a cross-reference stream.
func packed(t testing.TB, content string) string {
	t.Helper()
	api.DisableConfigDir()
	conf := model.NewDefaultConfiguration()
	conf.WriteObjectStream, conf.WriteXRefStream = true, true
	var b bytes.Buffer
	if err := api.Optimize(strings.NewReader(content), &b, conf); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), "/ObjStm") || !strings.Contains(b.String(), "/XRef") {
		t.Fatal("nothing is packed")
	}
	return b.String()
}

// written makes a PDF of objects, the first of which is the catalog.
func written(objects ...string) string {
	var p strings.Builder
	p.WriteString("%PDF-1.5\n")
	var at []int
	for i, o := range objects {
		at = append(at, p.Len())
		fmt.Fprintf(&p, "%d 0 obj%s endobj\n", i+1, o)
	}
	table := p.Len()
	fmt.Fprintf(&p, "xref\n0 %d\n0000000000 65535 f \n", len(at)+1)
	for _, offset := range at {
		fmt.Fprintf(&p, "%010d 00000 n \n", offset)
	}
	fmt.Fprintf(&p, "trailer<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n", len(at)+1, table)
	return p.String()
}

// changed adds a table that replaces the object with that number.
func changed(before string, number int, object string) string {
	last := before[strings.LastIndex(before, "startxref")+len("startxref"):]
	var previous int
	_, _ = fmt.Sscan(last, &previous)
	added := len(before)
	before += fmt.Sprintf("%d 0 obj%s endobj\n", number, object)
	return before + fmt.Sprintf("xref\n%d 1\n%010d 00000 n \ntrailer<</Size 9/Root 1 0 R/Prev %d>>\nstartxref\n%d\n%%%%EOF\n",
		number, added, previous, len(before))
}

func zeros(n int) string {
	var b bytes.Buffer
	w := zlib.NewWriter(&b)
	_, _ = w.Write(make([]byte, n))
	_ = w.Close()
	return b.String()
}

// predicted makes a PDF whose table is a stream with a predictor: a picture of four bytes to a row,
// of which PNG's encoder chooses the predictors.
func predicted(t testing.TB) string {
	t.Helper()
	const rows = 64
	var p strings.Builder
	p.WriteString("%PDF-1.5\n")
	table := image.NewGray(image.Rect(0, 0, 4, rows+4)) // a kind, an offset, and a generation
	noise := rand.New(rand.NewPCG(1, 2))                // the same in each run
	for i := range 4 * rows {
		table.Pix[i] = byte(i*(i%4)*(i/100)) + byte(noise.IntN(3))
	}
	for i, o := range []string{"<</Type/Catalog/Pages 65 0 R>>", "<</Kids[66 0 R 66 0 R]/Count 2>>", page, ""} {
		copy(table.Pix[4*(rows+i):], []byte{1, byte(p.Len() >> 8), byte(p.Len()), 0})
		if fmt.Fprintf(&p, "%d 0 obj", rows+i); o != "" {
			p.WriteString(o + " endobj\n")
		}
	}
	var picture bytes.Buffer
	if err := png.Encode(&picture, table); err != nil {
		t.Fatal(err)
	}
	_, data, _ := strings.Cut(picture.String(), "IDAT")
	data, _, _ = strings.Cut(data, "IEND")
	at := strings.LastIndex(p.String(), "67 0 obj")
	fmt.Fprintf(&p, "<</Type/XRef/Size %d/W[1 2 1]/Root 64 0 R/Filter/FlateDecode/DecodeParms<</Predictor 15/Columns 4>>/Length %d>>stream\n%s\n"+
		"endstream endobj\nstartxref\n%d\n%%%%EOF\n", rows+4, len(data), data, at)
	return p.String()
}

const (
	catalog = "<</Type/Catalog/Pages 2 0 R>>"
	one     = "<</Type/Pages/Kids[3 0 R]/Count 1>>"
	page    = "<</Type/Page/Parent 2 0 R/MediaBox[0 0 1 1]>>"
)

func TestPages(t *testing.T) {
	for name, test := range map[string]struct {
		content string
		pages   int
	}{
		"lines":              {printed(t, 3, plain), 3},
		"streams":            {packed(t, printed(t, 40, plain)), 40},
		"predictors":         {predicted(t), 2},
		"encrypted":          {printed(t, 2, func(doc *fpdf.Fpdf) { doc.SetProtection(0, "user", "owner") }), 2},
		"changed":            {changed(written(catalog, one, page), 2, "<</Type/Pages/Kids[3 0 R 3 0 R]/Count 2>>"), 2},
		"changed twice":      {changed(changed(written(catalog, one, page), 2, "<</Count 2>>"), 2, "<</Count 3>>"), 3},
		"a count elsewhere":  {written(catalog, "<</Kids[3 0 R]/Count 3 0 R>>", " 1"), 1},
		"strings and names":  {written("<</A(\\)(x))/B<3e3e>/Pages 2 0 R/C[true null -1.5 [/D#20]]% >>\n>>", one, page), 1},
		"no pages":           {written(catalog, "<</Type/Pages/Kids[]/Count 0>>"), 0},
		"many other objects": {written(append([]string{catalog, one, page}, strings.Split(strings.Repeat("<</A 1>>,", 9999), ",")...)...), 1},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := pdf.Pages(strings.NewReader(test.content), int64(len(test.content)))
			if err != nil || got != test.pages {
				t.Errorf("%d pages, %v; want %d", got, err, test.pages)
			}
		})
	}
}

// What the mount takes for whole has all its pages here, whatever stands around it, and nothing else has.
func TestPagesOfPDFsAsTheyCome(t *testing.T) {
	for _, v := range pdftest.Vectors() {
		got, err := pdf.Pages(strings.NewReader(v.Content), int64(len(v.Content)))
		switch {
		case v.Whole && (err != nil || got != pdftest.Pages):
			t.Errorf("%s: %d pages, %v", v.Name, got, err)
		case !v.Whole && !errors.Is(err, whole.ErrIncomplete):
			t.Errorf("%s: %d pages, %v; want it incomplete", v.Name, got, err)
		}
	}
}

// Malicious PDFs are errors, and take hardly any time and memory.
func TestPagesOfHostileFiles(t *testing.T) {
	whole := written(catalog, one, page)
	bomb := zeros(20 << 20)
	for name, content := range map[string]string{
		"nothing":       "",
		"cut":           whole[:len(whole)/2],
		"no table":      strings.ReplaceAll(whole, "startxref", ""),
		"beyond":        "%PDF-1.4\nstartxref\n999999999\n%%EOF",
		"negative":      "%PDF-1.4\nstartxref\n-9\n%%EOF",
		"loop":          "%PDF-1.4\nxref\n0 1\n0000000000 65535 f \ntrailer<</Size 1/Prev 9/Root 1 0 R>>\nstartxref\n9\n%%EOF",
		"lies":          written(catalog, "<</Kids[3 0 R]/Count 2147483647>>", page),
		"negative lies": written(catalog, "<</Kids[3 0 R]/Count -1>>", page),
		"itself":        written("1 0 R"),
		"in a circle":   written("<</Pages 2 0 R>>", "3 0 R", "2 0 R"),
		"deep":          written(strings.Repeat("[", 1<<20)),
		"a long string": written("<</A(" + strings.Repeat("(", 5<<20)),
		"a long list":   written("<</A[" + strings.Repeat("/"+strings.Repeat("x", 999), 5<<10) + "]/Pages 2 0 R>>"),
		"many sections": "%PDF-1.4\nxref\n" + strings.Repeat("0 0\n", 5000) + "startxref\n9\n%%EOF",
		"table bomb": fmt.Sprintf("%%PDF-1.5\n1 0 obj<</Type/XRef/Size 9000000/W[1 8 8]/Root 1 0 R/Filter/FlateDecode/Length %d>>stream\n%s\n"+
			"endstream endobj\nstartxref\n9\n%%%%EOF", len(bomb), bomb),
		"empty entries": "%PDF-1.5\n1 0 obj<</Type/XRef/Size 9/W[0 0 0]/Root 1 0 R/Length 1>>stream\nx\nendstream endobj\nstartxref\n9\n%%EOF",
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := pdf.Pages(strings.NewReader(content), int64(len(content))); err == nil {
				t.Errorf("%d pages", got)
			}
		})
	}
}

// faulty is a reader that fails once, after so many reads.
type faulty struct {
	io.ReaderAt
	left int
}

var errFault = errors.New("fault")

func (f *faulty) ReadAt(p []byte, off int64) (int, error) {
	if f.left--; f.left == -1 {
		return 0, errFault
	}
	return f.ReaderAt.ReadAt(p, off)
}

func TestPagesOfWhatCannotBeRead(t *testing.T) {
	content := packed(t, printed(t, 3, plain))
	for reads := range 100 {
		f := &faulty{strings.NewReader(content), reads}
		got, err := pdf.Pages(f, int64(len(content)))
		if f.left >= 0 {
			return // it was read without it
		}
		if !errors.Is(err, errFault) {
			t.Errorf("a fault after %d reads: %d pages, %v", reads, got, err)
		}
	}
	t.Error("it is read for ever")
}

// The length of an object stream is not looked up in that very stream.
func TestPagesOfAStreamThatHoldsItsLength(t *testing.T) {
	const content = "%PDF-1.5\n1 0 obj<</Type/ObjStm/N 1/First 4/Length 3 0 R>>stream\n3 0 9\nendstream endobj\n"
	table := fmt.Sprintf("2 0 obj<</Type/XRef/Size 4/W[1 1 1]/Root 3 0 R/Length 12>>stream\n%s\nendstream endobj\nstartxref\n%d\n%%%%EOF\n",
		"\x00\x00\x00\x01\x09\x00\x01\x09\x00\x02\x01\x00", len(content))
	f := &faulty{strings.NewReader(content + table), 100}
	if got, err := pdf.Pages(f, int64(len(content+table))); err == nil || f.left < 0 {
		t.Errorf("%d pages, %v, after %d reads", got, err, 100-f.left)
	}
}

// FuzzPages reads anything: it ends, with a plausible number.
func FuzzPages(f *testing.F) {
	f.Add([]byte(written(catalog, one, page)))
	f.Add([]byte(changed(written(catalog, one, page), 2, "<</Count 2>>")))
	f.Add([]byte(packed(f, printed(f, 2, plain))))
	f.Fuzz(func(t *testing.T, content []byte) {
		if got, err := pdf.Pages(bytes.NewReader(content), int64(len(content))); err == nil && got < 0 {
			t.Errorf("%d pages", got)
		}
	})
}
