package poppler_test

import (
	"bytes"
	"context"
	"errors"
	"image/jpeg"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"codeberg.org/go-pdf/fpdf"

	"github.com/archivefs/archivefs/internal/server/engine"
	"github.com/archivefs/archivefs/internal/server/poppler"
)

func need(t *testing.T) {
	t.Helper()
	for _, program := range []string{"pdftoppm", "pdftotext"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip("poppler-utils is not installed")
		}
	}
}

// pdf makes a page of A4 for each text.
func pdf(t *testing.T, change func(*fpdf.Fpdf), pages ...string) string {
	t.Helper()
	doc := fpdf.New("P", "mm", "A4", "")
	change(doc)
	doc.SetFont("Helvetica", "", 20)
	for _, text := range pages {
		doc.AddPage()
		doc.Cell(0, 20, text)
	}
	var b bytes.Buffer
	if err := doc.Output(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func plain(*fpdf.Fpdf) {}

func locked(doc *fpdf.Fpdf) { doc.SetProtection(0, "secret", "owner") }

// readers are a PDF in a file and one in memory.
func readers(t *testing.T, content string) map[string]io.Reader {
	t.Helper()
	path := filepath.Join(t.TempDir(), "-f 7 `x`.pdf")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = file.Close() })
	return map[string]io.Reader{"file": file, "memory": bytes.NewReader([]byte(content))}
}

func TestText(t *testing.T) {
	need(t)
	for name, reader := range readers(t, pdf(t, plain, "first \xe4", "", "third")) {
		t.Run(name, func(t *testing.T) {
			text, err := poppler.Text(t.Context(), reader)
			if got := string(bytes.ReplaceAll(text, []byte("\n"), nil)); err != nil || got != "first ä\f\fthird\f" {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
}

func TestPages(t *testing.T) {
	need(t)
	for name, reader := range readers(t, strings.Replace(pdf(t, plain, "first", "second"), "startxref", "", 1)) { // damaged
		if pages, err := poppler.Pages(t.Context(), reader); err != nil || pages != 2 {
			t.Errorf("%s: %d pages, %v", name, pages, err)
		}
	}
}

func TestPage(t *testing.T) {
	need(t)
	for name, reader := range readers(t, pdf(t, plain, "first", "second")) {
		t.Run(name, func(t *testing.T) {
			picture, err := poppler.Page(t.Context(), reader, 1, 297)
			if err != nil {
				t.Fatal(err)
			}
			if c, err := jpeg.DecodeConfig(bytes.NewReader(picture)); err != nil || c.Width > 211 || c.Height != 297 {
				t.Errorf("%d x %d, %v", c.Width, c.Height, err)
			}
		})
	}
}

func TestUnreadable(t *testing.T) {
	need(t)
	whole := pdf(t, plain, "text")
	for name, content := range map[string]string{
		"nothing": "", "no PDF": "text", "cut": whole[:40], "locked": pdf(t, locked, "text"),
	} {
		t.Run(name, func(t *testing.T) {
			if text, err := poppler.Text(t.Context(), bytes.NewReader([]byte(content))); !errors.Is(err, engine.ErrUnreadable) {
				t.Errorf("text %q, %v", text, err)
			}
			if pages, err := poppler.Pages(t.Context(), bytes.NewReader([]byte(content))); !errors.Is(err, engine.ErrUnreadable) {
				t.Errorf("%d pages, %v", pages, err)
			}
			if picture, err := poppler.Page(t.Context(), bytes.NewReader([]byte(content)), 0, 100); !errors.Is(err, engine.ErrUnreadable) {
				t.Errorf("%d bytes, %v", len(picture), err)
			}
		})
	}
	if _, err := poppler.Page(t.Context(), bytes.NewReader([]byte(whole)), 1, 100); !errors.Is(err, engine.ErrUnreadable) {
		t.Errorf("of a page that is not there: %v", err)
	}
}

func TestMissing(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if _, err := poppler.Text(t.Context(), bytes.NewReader(nil)); !errors.Is(err, engine.ErrMissing) {
		t.Error(err)
	}
	if _, err := poppler.Page(t.Context(), bytes.NewReader(nil), 0, 100); !errors.Is(err, engine.ErrMissing) {
		t.Error(err)
	}
}

func TestEndsWithItsContext(t *testing.T) {
	need(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := poppler.Text(ctx, bytes.NewReader([]byte(pdf(t, plain, "x")))); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
