package render_test

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/pdfcpu/pdfcpu/pkg/api"
	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu/model"
	"golang.org/x/image/tiff"

	"github.com/archivefs/archivefs/internal/server/engine"
	"github.com/archivefs/archivefs/internal/server/render"
)

func picture() *image.NRGBA {
	m := image.NewNRGBA(image.Rect(0, 0, 20, 30))
	for i := range 20 {
		m.Set(i, i, color.NRGBA{R: 200, A: 128})
	}
	return m
}

func encoded(t *testing.T, encode func(*bytes.Buffer) error) string {
	t.Helper()
	var b bytes.Buffer
	if err := encode(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// another adds a page to a TIFF: its first image once more, before the others.
func another(file string) string {
	data := []byte(file)
	first := binary.LittleEndian.Uint32(data[4:])
	length := 2 + 12*uint32(binary.LittleEndian.Uint16(data[first:])) + 4
	added := bytes.Clone(data[first : first+length])
	binary.LittleEndian.PutUint32(added[length-4:], first)
	binary.LittleEndian.PutUint32(data[4:], uint32(len(data)))
	return string(append(data, added...))
}

func TestPDF(t *testing.T) {
	jpegFile := encoded(t, func(b *bytes.Buffer) error { return jpeg.Encode(b, picture(), nil) })
	pngFile := encoded(t, func(b *bytes.Buffer) error { return png.Encode(b, picture()) })
	gifFile := encoded(t, func(b *bytes.Buffer) error { return gif.Encode(b, picture(), nil) })
	tiffFile := encoded(t, func(b *bytes.Buffer) error { return tiff.Encode(b, picture(), nil) })
	tried := ""
	if engine.Need("tiff2pdf") == nil {
		tried = "unreadable: "
	}
	const mail = "From: Ä <a@example.org>\r\nSubject: x\r\n\r\ntext\r\n"
	for _, test := range []struct {
		name, content, typ string
		variant            string
		pages              int
	}{
		{"JPEG", jpegFile, "image/jpeg", "pdf 2 image to scale", 1},
		{"PNG", pngFile, "image/png", "pdf 2 image to scale", 1},
		{"GIF", gifFile, "image/gif", "pdf 2 image to scale", 1},
		{"TIFF", tiffFile, "image/tiff", "pdf 2 tiff to scale", 1},
		{"TIFF of two pages", another(tiffFile), "image/tiff", "pdf 2 tiff to scale", 2},
		{"text", "Grüße 😀\t\x07\r\n\r\nλόγος", "text/plain; charset=utf-8", "pdf 2 words text/plain; charset=utf-8", 1},
		{"empty text", "", "text/plain", "pdf 2 words text/plain", 1},
		{"long text", strings.Repeat("a line of text\n", 200), "text/csv", "pdf 2 words text/csv", 4},
		{"long line", strings.Repeat("word ", 2000), "text/plain", "pdf 2 words text/plain", 2},
		{"Windows-1252", "Gr\xfc\xdfe", "text/plain; charset=windows-1252", "pdf 2 words text/plain; charset=windows-1252", 1},
		{"UTF-16", "\xff\xfeG\x00\xfc\x00", "text/plain; charset=utf-16le", "pdf 2 words text/plain; charset=utf-16le", 1},
		{"e-mail", mail, "message/rfc822", "pdf 2 words message/rfc822", 1},
		{"anything else", "\x00", "application/zip", "cover application/zip anything else", 1},
		{"broken JPEG", jpegFile[:50], "image/jpeg", "cover image/jpeg broken JPEG", 1},
		{"broken TIFF", tiffFile[:30], "image/tiff", tried + "cover image/tiff broken TIFF", 1},
		{"no TIFF", "", "image/tiff", tried + "cover image/tiff no TIFF", 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			var pdf bytes.Buffer
			source := render.Source{Content: strings.NewReader(test.content), Size: int64(len(test.content)), ContentType: test.typ, Name: test.name}
			variant, err := render.PDF(t.Context(), &pdf, source)
			if err != nil || variant != test.variant {
				t.Fatalf("variant %q, %v; want %q", variant, err, test.variant)
			}
			conf := &model.Configuration{Reader15: true, Offline: true, ValidationMode: model.ValidationRelaxed, Limits: model.DefaultResourceLimits()}
			ctx, err := api.ReadContext(bytes.NewReader(pdf.Bytes()), conf)
			if err != nil {
				t.Fatal(err)
			}
			if err := ctx.EnsurePageCount(); err != nil || ctx.PageCount != test.pages {
				t.Errorf("%d pages, %v; want %d", ctx.PageCount, err, test.pages)
			}
		})
	}
}

func TestPDFTellsAFailedRead(t *testing.T) {
	source := render.Source{Content: iotest.ErrReader(iotest.ErrTimeout), Size: 1, ContentType: "text/plain", Name: "x"}
	var b bytes.Buffer
	if _, err := render.PDF(t.Context(), &b, source); err == nil || b.Len() > 0 {
		t.Errorf("%v, %d bytes", err, b.Len())
	}
}

func TestLargeSourcesGetACover(t *testing.T) {
	for _, test := range []struct {
		size int64
		typ  string
	}{{2 << 20, "text/plain"}, {65 << 20, "message/rfc822"}, {65 << 20, "image/jpeg"}} {
		got := render.Variants(render.Source{Size: test.size, ContentType: test.typ, Name: "n"})
		if len(got) != 1 || !strings.HasPrefix(got[0], "cover ") {
			t.Errorf("%+v: %q", test, got)
		}
	}
}

// FuzzPDF feeds anything as each kind: there is always a PDF.
func FuzzPDF(f *testing.F) {
	f.Setenv("PATH", f.TempDir()) // no libtiff, which has bounds of its own
	f.Add("text\n\ttext", uint8(0))
	f.Add("II*\x00\x08\x00\x00\x00\x01\x00", uint8(1))
	f.Add("From: x\n\ny", uint8(2))
	f.Add("GIF89a\x01\x00\x01\x00", uint8(3))
	types := []string{"text/plain", "image/tiff", "message/rfc822", "image/png"}
	f.Fuzz(func(t *testing.T, content string, kind uint8) {
		var b bytes.Buffer
		source := render.Source{
			Content: strings.NewReader(content), Size: int64(len(content)),
			ContentType: types[int(kind)%len(types)], Name: content,
		}
		if _, err := render.PDF(t.Context(), &b, source); err != nil || !strings.HasPrefix(b.String(), "%PDF-") {
			t.Errorf("%q: %v", content, err)
		}
	})
}

// Documents can be rendered concurrently, as the race detector confirms.
func TestPDFsAtOnce(t *testing.T) {
	for _, typ := range []string{"text/plain", "application/octet-stream"} {
		for range 4 {
			t.Run(typ, func(t *testing.T) {
				t.Parallel()
				if _, err := render.PDF(t.Context(), io.Discard, render.Source{Content: strings.NewReader("Inhalt"), Size: 6, ContentType: typ, Name: "a"}); err != nil {
					t.Error(err)
				}
			})
		}
	}
}
