package render_test

import (
	"bytes"
	"errors"
	"image/color"
	"image/jpeg"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/pdfcpu/pdfcpu/pkg/api"
	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu/model"

	"github.com/archivefs/archivefs/internal/server/engine"
	"github.com/archivefs/archivefs/internal/server/inspect"
	"github.com/archivefs/archivefs/internal/server/render"
	"github.com/archivefs/archivefs/internal/testing/odd"
	"github.com/archivefs/archivefs/internal/whole"
)

// TestOddPictures archives pictures as scanners, facsimile machines and cameras write them: whole, and with
// their type, all pages in their size, and a preview of what they show.
func TestOddPictures(t *testing.T) {
	for _, p := range odd.Pictures() {
		t.Run(p.Name, func(t *testing.T) {
			size := int64(len(p.Content))
			if err := whole.Check(bytes.NewReader(p.Content)); err != nil {
				t.Error(err)
			}
			if got := inspect.Content(bytes.NewReader(p.Content), size, inspect.Hint{}); got.ContentType != p.Type || got.Pages != p.Pages {
				t.Errorf("%+v, want %s of %d pages", got, p.Type, p.Pages)
			}
			if p.Needs != "" && engine.Need(p.Needs) != nil {
				t.Skip(p.Needs + " is not installed")
			}
			source := func() render.Source {
				return render.Source{Content: bytes.NewReader(p.Content), Size: size, ContentType: p.Type, Name: p.Name}
			}
			var pdf bytes.Buffer
			if variant, err := render.PDF(t.Context(), &pdf, source()); err != nil || variant != render.Variants(source())[0] {
				t.Fatalf("%s, %v", variant, err)
			}
			sizes, err := api.PageDims(bytes.NewReader(pdf.Bytes()), &model.Configuration{Reader15: true, Offline: true, ValidationMode: model.ValidationRelaxed, Limits: model.DefaultResourceLimits()})
			if err != nil || len(sizes) != p.Pages {
				t.Fatalf("%v, %v; want %d pages", sizes, err, p.Pages)
			}
			const point = 25.4 / 72
			if w, h := sizes[0].Width*point, sizes[0].Height*point; math.Abs(w-p.Width) > p.Width/100 || math.Abs(h-p.Height) > p.Height/100 {
				t.Errorf("a page of %.2f x %.2f mm, want %.2f x %.2f", w, h, p.Width, p.Height)
			}
			for page := range p.Pages {
				picture, err := render.Preview(t.Context(), source(), page, 1000, 1000)
				if picture == nil && p.Needs != "" { // drawn of the PDF
					if engine.Need("pdftoppm") != nil {
						t.Skip("poppler-utils is not installed")
					}
					picture, err = render.Preview(t.Context(), render.Source{Content: bytes.NewReader(pdf.Bytes()), ContentType: inspect.PDF}, page, 1000, 1000)
				}
				if err != nil || picture == nil {
					t.Fatalf("no preview of page %d: %v", page, err)
				}
				wantSquare(t, p, picture)
			}
		})
	}
}

// wantSquare wants the square in a preview that has the form of the page.
func wantSquare(t *testing.T, p odd.Picture, preview []byte) {
	t.Helper()
	m, err := jpeg.Decode(bytes.NewReader(preview))
	if err != nil {
		t.Fatal(err)
	}
	w, h := m.Bounds().Dx(), m.Bounds().Dy()
	if got, want := float64(w)/float64(h), p.Width/p.Height; math.Abs(got-want) > want/30 {
		t.Errorf("a preview of %d x %d", w, h)
	}
	black, across := color.RGBA{}, 3
	if p.Turned {
		across = 5
	}
	white := color.RGBA{R: 255, G: 255, B: 255}
	for x := 1; x < 8; x += 2 { // in eighths
		for y := 1; y < 8; y += 2 {
			want := white
			if x == across && y == 3 {
				want = black
			}
			if !isNear(m, x*w/8, y*h/8, want) {
				t.Errorf("at %d/8, %d/8: %v", x, y, m.At(x*w/8, y*h/8))
			}
		}
	}
}

// Without the program that reads it a rare picture has a cover page, and a reason.
func TestRarePictureWithoutItsProgram(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	for _, p := range odd.Pictures() {
		if p.Needs == "" {
			continue
		}
		source := render.Source{Content: bytes.NewReader(p.Content), Size: int64(len(p.Content)), ContentType: p.Type, Name: p.Name}
		var pdf bytes.Buffer
		if variant, err := render.PDF(t.Context(), &pdf, source); err != nil || variant != "cover "+p.Type+" "+p.Name {
			t.Errorf("%s: %s, %v", p.Name, variant, err)
		}
		_, err := render.Recognise(t.Context(), source, func() error { return nil })
		missing, _ := errors.AsType[*engine.MissingError](err)
		if want, _ := errors.AsType[*engine.MissingError](engine.Need(p.Needs)); missing == nil || *missing != *want {
			t.Errorf("%s: %v, want %v", p.Name, err, want)
		}
	}
}

// A program that does not end on a busy machine is asked again: until then there is a cover page.
func TestRarePictureWhoseProgramTakesTooLong(t *testing.T) {
	dir := t.TempDir()
	for _, program := range []string{"tiff2pdf", "heif-convert"} {
		if err := os.WriteFile(filepath.Join(dir, program), []byte("#!/bin/sh\nexec sleep 1000\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	usual := engine.Usual.Time
	engine.Usual.Time = time.Millisecond
	defer func() { engine.Usual.Time = usual }()
	for _, p := range odd.Pictures() {
		if p.Needs == "" {
			continue
		}
		source := render.Source{Content: bytes.NewReader(p.Content), Size: int64(len(p.Content)), ContentType: p.Type, Name: p.Name}
		var pdf bytes.Buffer
		variant, err := render.PDF(t.Context(), &pdf, source)
		if err != nil || variant != "cover "+p.Type+" "+p.Name || slices.Contains(render.Variants(source), variant) || pdf.Len() == 0 {
			t.Errorf("%s: %s of %d bytes, %v", p.Name, variant, pdf.Len(), err)
		}
	}
}

// A TIFF that is too large for memory is read by libtiff, from a file.
func TestLargeTIFF(t *testing.T) {
	if engine.Need("tiff2pdf") != nil {
		t.Skip("tiff2pdf is not installed")
	}
	content := append(bytes.Clone(odd.Pictures()[0].Content), make([]byte, 65<<20)...)
	source := render.Source{Content: bytes.NewReader(content), Size: int64(len(content)), ContentType: "image/tiff"}
	if variant, err := render.PDF(t.Context(), io.Discard, source); err != nil || variant != render.Variants(source)[0] {
		t.Errorf("%s, %v", variant, err)
	}
	if picture, err := render.Preview(t.Context(), source, 0, 100, 100); picture != nil || err != nil {
		t.Errorf("a preview of %d bytes without its PDF, %v", len(picture), err)
	}
}
