package server

import (
	"archive/zip"
	"bytes"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"codeberg.org/go-pdf/fpdf"
	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/math/fixed"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/server/store"
)

// drawn is a picture of a text, as a scanner makes it.
func drawn(t *testing.T, text string) []byte {
	t.Helper()
	parsed, err := opentype.Parse(goregular.TTF)
	if err != nil {
		t.Fatal(err)
	}
	face, err := opentype.NewFace(parsed, &opentype.FaceOptions{Size: 20, DPI: 200})
	if err != nil {
		t.Fatal(err)
	}
	paper := image.NewGray(image.Rect(0, 0, 1654, 800))
	draw.Draw(paper, paper.Bounds(), image.NewUniform(color.White), image.Point{}, draw.Src)
	(&font.Drawer{Dst: paper, Src: image.Black, Face: face, Dot: fixed.P(150, 300)}).DrawString(text)
	var b bytes.Buffer
	if err := png.Encode(&b, paper); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// scanned is a PDF with a page of text and one that is a picture of another text.
func scanned(t *testing.T, text, picture string) string {
	t.Helper()
	pdf := fpdf.New("P", "mm", "A4", "")
	pdf.SetFont("Helvetica", "", 20)
	pdf.AddPage()
	pdf.Cell(0, 20, text)
	pdf.AddPage()
	options := fpdf.ImageOptions{ImageType: "PNG"}
	pdf.RegisterImageOptionsReader("scan", options, bytes.NewReader(drawn(t, picture)))
	pdf.ImageOptions("scan", 0, 0, 210, 0, false, options, 0, "")
	var b bytes.Buffer
	if err := pdf.Output(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func needs(t *testing.T, programs ...string) {
	t.Helper()
	for _, program := range programs {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip(program + " is not installed")
		}
	}
}

// readLater is a server whose texts only the test reads.
func readLater(t *testing.T) *Server {
	t.Helper()
	s := opened(t, Options{Data: t.TempDir(), Database: NewDatabase(t), Blobs: NewBlobs(t), Credentials: Credentials{APIKey: "k"}})
	s.stopBackground()
	return s
}

func wantTexts(t *testing.T, s *Server, want map[store.Reading]int64) {
	t.Helper()
	if got, err := s.db.Index.Texts(t.Context()); err != nil || !maps.Equal(got, want) {
		t.Errorf("texts %v, %v; want %v", got, err, want)
	}
}

// answered is the answer of a request.
func answered(t *testing.T, s *Server, path string) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, base+path, nil)
	r.Header.Set("API-Key", "k")
	s.Handler().ServeHTTP(w, r)
	return w
}

func wantState(t *testing.T, s *Server, id archive.ID, want store.Reading) {
	t.Helper()
	path := "/document/" + strconv.Itoa(int(id)) + "/data"
	if w := answered(t, s, path); !strings.Contains(w.Body.String(), `"textState":"`+string(want)+`"`) {
		t.Errorf("want %s: %d %s", want, w.Code, w.Body)
	}
}

// The pages of a scan that have no text are recognised, and the text is kept.
func TestScansAreRecognised(t *testing.T) {
	needs(t, "pdftoppm", "tesseract")
	s := readLater(t)
	m, err := s.AddMandator(t.Context(), "M")
	if err != nil {
		t.Fatal(err)
	}
	pdf := put(t, s, m, "scan.pdf", scanned(t, "letter", "lighthouse"))
	picture := put(t, s, m, "scan.png", string(drawn(t, "harbour")))
	empty := put(t, s, m, "empty.png", string(drawn(t, "")))
	broken := put(t, s, m, "broken.pdf", "%PDF-1.4\n")
	wantState(t, s, pdf, store.Waiting)
	texts, _ := s.newIndexers(s.db.Index)
	if _, err := texts.piece(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantFound(t, s, "letter", 1) // that needs no recognition
	wantTexts(t, s, map[store.Reading]int64{store.Waiting: 3, store.Unreadable: 1})
	workOff(t, s)
	for _, word := range []string{"letter", "lighthouse", "harbour"} {
		wantFound(t, s, word, 1)
	}
	for id, want := range map[archive.ID]store.Reading{pdf: store.Read, picture: store.Read, empty: store.NoText, broken: store.Unreadable} {
		wantState(t, s, id, want)
	}
	t.Setenv("PATH", t.TempDir())
	if w := answered(t, s, "/page/"+strconv.Itoa(int(pdf)*pagesPerDocument+2)+"/ocr-result"); !strings.Contains(w.Body.String(), "lighthouse") {
		t.Errorf("the second page: %d %s", w.Code, w.Body)
	}
}

// What lacks a program says so, and is read when somebody has installed it.
func TestTextsThatLackAProgram(t *testing.T) {
	needs(t, "pdftotext")
	s := readLater(t)
	m, err := s.AddMandator(t.Context(), "M")
	if err != nil {
		t.Fatal(err)
	}
	path, dir := os.Getenv("PATH"), t.TempDir()
	for _, program := range []string{"pdftotext", "pdftoppm", "pdfinfo"} {
		at, err := exec.LookPath(program)
		if err == nil {
			err = os.Symlink(at, filepath.Join(dir, program))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", t.TempDir())
	pdf := put(t, s, m, "scan.pdf", scanned(t, "letter", "lighthouse"))
	workOff(t, s)
	wantState(t, s, pdf, store.NoEngine)
	t.Setenv("PATH", dir)
	for _, packages := range [][]string{{"catdoc"}, {"poppler-utils"}} {
		if err := s.db.Index.Installed(t.Context(), packages); err != nil {
			t.Fatal(err)
		}
		workOff(t, s)
	}
	wantFound(t, s, "letter", 1)
	wantState(t, s, pdf, store.NoEngine) // the second page lacks tesseract
	some, err := s.db.Index.Unread(t.Context(), "", 9)
	if err != nil || len(some) != 1 || some[0].Text != "tesseract-ocr-deu" {
		t.Errorf("%+v, %v", some, err)
	}
	picture := put(t, s, m, "scan.png", string(drawn(t, "harbour")))
	if w := answered(t, s, "/document/"+strconv.Itoa(int(picture))+"/ocr-result"); w.Code != http.StatusNotFound || !strings.Contains(w.Body.String(), "tesseract-ocr-deu is not installed") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	t.Setenv("PATH", path)
	needs(t, "tesseract")
	if err := s.db.Index.Installed(t.Context(), []string{"tesseract-ocr-deu"}); err != nil {
		t.Fatal(err)
	}
	workOff(t, s)
	wantFound(t, s, "lighthouse", 1)
	wantTexts(t, s, map[store.Reading]int64{store.Read: 2})
}

// twoPages is an OpenDocument text of two pages, not compressed.
func twoPages(t *testing.T) string {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	const media, office = "application/vnd.oasis.opendocument.text", "urn:oasis:names:tc:opendocument:xmlns:"
	for _, file := range [][2]string{
		{"mimetype", media},
		{"content.xml", `<office:document-content xmlns:office="` + office + `office:1.0" xmlns:style="` + office + `style:1.0" xmlns:text="` + office + `text:1.0" ` +
			`xmlns:fo="` + office + `xsl-fo-compatible:1.0" office:version="1.2"><office:automatic-styles><style:style style:name="P1" style:family="paragraph">` +
			`<style:paragraph-properties fo:break-before="page"/></style:style></office:automatic-styles><office:body><office:text>` +
			`<text:p>first</text:p><text:p text:style-name="P1">second</text:p></office:text></office:body></office:document-content>`},
		{"META-INF/manifest.xml", `<manifest:manifest xmlns:manifest="` + office + `manifest:1.0"><manifest:file-entry manifest:full-path="/" manifest:media-type="` +
			media + `"/><manifest:file-entry manifest:full-path="content.xml" manifest:media-type="text/xml"/></manifest:manifest>`},
	} {
		f, err := w.CreateHeader(&zip.FileHeader{Name: file[0], Method: zip.Store})
		if err == nil {
			_, err = f.Write([]byte(file[1]))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// An office file has the pages of its PDF once LibreOffice has laid it out, a cover page before. LibreOffice
// is large: where it is not installed a program stands for it, unless ARCHIVEFS_REQUIRE_OFFICE is set.
func TestOfficeFilesAreLaidOut(t *testing.T) {
	needs(t, "pdftoppm")
	s := readLater(t)
	m, err := s.AddMandator(t.Context(), "M")
	if err != nil {
		t.Fatal(err)
	}
	content := twoPages(t)
	path := os.Getenv("PATH")
	t.Setenv("PATH", "/bin-without-soffice")
	id := put(t, s, m, "letter.odt", content)
	pages := func(want int) {
		t.Helper()
		if w := answered(t, s, "/document/"+strconv.Itoa(int(id))+"/pdf"); w.Code != http.StatusOK {
			t.Errorf("%d %s", w.Code, w.Body)
		}
		if d, err := s.catalog.Document(t.Context(), id); err != nil || d.Pages != want {
			t.Errorf("%d pages, want %d; %v", d.Pages, want, err)
		}
	}
	pages(1)
	t.Setenv("PATH", path)
	if _, err := exec.LookPath("soffice"); err != nil && os.Getenv("ARCHIVEFS_REQUIRE_OFFICE") == "" {
		dir := t.TempDir()
		made := filepath.Join(dir, "two.pdf")
		script := "#!/bin/sh\ngrep -q second document && cp " + made + " document.pdf\n"
		if err := os.WriteFile(made, []byte(scanned(t, "first", "second")), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "soffice"), []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
		t.Setenv("PATH", dir+":"+path)
	}
	pages(2)
	pages(2)
	for page, want := range map[int]int{1: http.StatusOK, 2: http.StatusOK, 3: http.StatusNotFound} {
		if w := answered(t, s, "/page/"+strconv.Itoa(int(id)*pagesPerDocument+page)+"/preview?bbox-width=100&bbox-height=100"); w.Code != want {
			t.Errorf("page %d: %d %s", page, w.Code, w.Body)
		}
	}
}
