package render_test

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"slices"
	"strings"
	"testing"

	"golang.org/x/image/bmp"
	"golang.org/x/image/tiff"

	"github.com/archivefs/archivefs/internal/server/render"
)

// inks is a CMYK JPEG of 8 x 8 pixels, in the red that is 200, 30, 40 in RGB.
const inks = "/9j/7gAOQWRvYmUAZAAAAAAC/9sAQwANCQoLCggNCwoLDg4NDxMgFRMSEhMnHB4XIC4pMTAuKS0sMzpKPjM2RjcsLUBXQUZMTlJTUjI+WmFaUGBKUVJP" +
	"/9sAQwEODg4TERMmFRUmTzUtNU9PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09P/8AAFAgACAAIBAERAAIRAQMRAQQRAP" +
	"/EABUAAQEAAAAAAAAAAAAAAAAAAAQG/8QAFBABAAAAAAAAAAAAAAAAAAAAAP/EABUBAQEAAAAAAAAAAAAAAAAAAAUG/8QAFBEBAAAAAAAAAAAAAAAAAAAAAP/aAA4E" +
	"AQACEQMRBAAAPwBxFBKx/9k="

// corners is a white picture whose upper left corner is red and whose upper right one is blue.
func corners() *image.RGBA {
	m := image.NewRGBA(image.Rect(0, 0, 64, 32))
	for y := range 32 {
		for x := range 64 {
			c := color.RGBA{R: 255, G: 255, B: 255, A: 255}
			switch {
			case y < 16 && x < 16:
				c = color.RGBA{R: 255, A: 255}
			case y < 16 && x >= 48:
				c = color.RGBA{B: 255, A: 255}
			}
			m.SetRGBA(x, y, c)
		}
	}
	return m
}

// photographed is a JPEG with an Exif orientation.
func photographed(t *testing.T, orientation uint16) string {
	t.Helper()
	file := encoded(t, func(b *bytes.Buffer) error { return jpeg.Encode(b, corners(), &jpeg.Options{Quality: 95}) })
	exif := "Exif\x00\x00MM\x00*\x00\x00\x00\x08\x00\x01\x01\x12\x00\x03\x00\x00\x00\x01" + string([]byte{0, byte(orientation)}) + "\x00\x00\x00\x00\x00\x00"
	return file[:2] + "\xff\xe1" + string([]byte{0, byte(len(exif) + 2)}) + exif + file[2:]
}

// scanned is a TIFF with an orientation.
func scanned(t *testing.T, orientation uint16) string {
	t.Helper()
	file := []byte(encoded(t, func(b *bytes.Buffer) error { return tiff.Encode(b, corners(), nil) }))
	at := binary.LittleEndian.Uint32(file[4:])
	entries := binary.LittleEndian.Uint16(file[at:])
	directory := slices.Collect(slices.Chunk(bytes.Clone(file[at+2:at+2+12*uint32(entries)]), 12))
	for _, entry := range directory {
		if binary.LittleEndian.Uint16(entry) == 282 { // the resolution is not missed
			copy(entry, []byte{0x12, 1, 3, 0, 1, 0, 0, 0, byte(orientation), 0, 0, 0})
		}
	}
	slices.SortFunc(directory, func(a, b []byte) int {
		return int(binary.LittleEndian.Uint16(a)) - int(binary.LittleEndian.Uint16(b))
	})
	copy(file[at+2:], bytes.Join(directory, nil))
	return string(file)
}

func preview(t *testing.T, content, typ string) image.Image {
	t.Helper()
	source := render.Source{Content: strings.NewReader(content), Size: int64(len(content)), ContentType: typ}
	picture, err := render.Preview(t.Context(), source, 0, 1000, 1000)
	if err != nil || picture == nil {
		t.Fatalf("no preview: %v", err)
	}
	m, err := jpeg.Decode(bytes.NewReader(picture))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func isNear(m image.Image, x, y int, want color.RGBA) bool {
	r, g, b, _ := m.At(x, y).RGBA()
	near := func(a uint32, b uint8) bool { return max(int(a>>8), int(b))-min(int(a>>8), int(b)) < 24 }
	return near(r, want.R) && near(g, want.G) && near(b, want.B)
}

// Pictures are turned according to their orientation, as the red and the blue corner show.
func TestOrientation(t *testing.T) {
	red, blue := color.RGBA{R: 255}, color.RGBA{B: 255}
	for orientation, want := range []struct {
		width, height int
		red, blue     image.Point // in units of the sides
	}{
		1: {64, 32, image.Pt(0, 0), image.Pt(1, 0)},
		2: {64, 32, image.Pt(1, 0), image.Pt(0, 0)},
		3: {64, 32, image.Pt(1, 1), image.Pt(0, 1)},
		4: {64, 32, image.Pt(0, 1), image.Pt(1, 1)},
		5: {32, 64, image.Pt(0, 0), image.Pt(0, 1)},
		6: {32, 64, image.Pt(1, 0), image.Pt(1, 1)},
		7: {32, 64, image.Pt(1, 1), image.Pt(1, 0)},
		8: {32, 64, image.Pt(0, 1), image.Pt(0, 0)},
		9: {64, 32, image.Pt(0, 0), image.Pt(1, 0)}, // there is none
	} {
		if orientation == 0 {
			continue
		}
		for typ, content := range map[string]string{
			"image/jpeg": photographed(t, uint16(orientation)), "image/tiff": scanned(t, uint16(orientation)),
		} {
			m := preview(t, content, typ)
			at := func(p image.Point) (int, int) { return 4 + p.X*(want.width-9), 4 + p.Y*(want.height-9) }
			rx, ry := at(want.red)
			bx, by := at(want.blue)
			if m.Bounds().Dx() != want.width || m.Bounds().Dy() != want.height || !isNear(m, rx, ry, red) || !isNear(m, bx, by, blue) {
				t.Errorf("%s, orientation %d: %v, %v, %v", typ, orientation, m.Bounds(), m.At(rx, ry), m.At(bx, by))
			}
			var pdf bytes.Buffer
			source := render.Source{Content: strings.NewReader(content), Size: int64(len(content)), ContentType: typ}
			if _, err := render.PDF(t.Context(), &pdf, source); err != nil || !strings.Contains(pdf.String(), fmt.Sprintf("/Width %d\n/Height %d\n", want.width, want.height)) {
				t.Errorf("%s, orientation %d: the PDF has another image, %v", typ, orientation, err)
			}
		}
	}
}

// Pictures of all formats have the right colours, and transparent parts are white.
func TestColours(t *testing.T) {
	cmyk, err := base64.StdEncoding.DecodeString(inks)
	if err != nil {
		t.Fatal(err)
	}
	red := color.RGBA{R: 200, G: 30, B: 40, A: 255}
	fill := func(m interface {
		image.Image
		Set(x, y int, c color.Color)
	},
	) image.Image {
		for y := range 8 {
			for x := range 8 {
				m.Set(x, y, red)
			}
		}
		return m
	}
	r := image.Rect(0, 0, 8, 8)
	film := gif.GIF{Delay: []int{0, 0}}
	for _, c := range []color.Color{red, color.Black} {
		film.Image = append(film.Image, image.NewPaletted(r, color.Palette{c}))
	}
	for name, test := range map[string]struct {
		typ, content string
		want         color.RGBA
	}{
		"inks":        {"image/jpeg", string(cmyk), red},
		"16 bits":     {"image/png", encoded(t, func(b *bytes.Buffer) error { return png.Encode(b, fill(image.NewNRGBA64(r))) }), red},
		"grey, 16":    {"image/png", encoded(t, func(b *bytes.Buffer) error { return png.Encode(b, image.NewGray16(r)) }), color.RGBA{}},
		"transparent": {"image/png", encoded(t, func(b *bytes.Buffer) error { return png.Encode(b, image.NewNRGBA(r)) }), color.RGBA{R: 255, G: 255, B: 255}},
		"a film":      {"image/gif", encoded(t, func(b *bytes.Buffer) error { return gif.EncodeAll(b, &film) }), red},
		"BMP":         {"image/bmp", encoded(t, func(b *bytes.Buffer) error { return bmp.Encode(b, fill(image.NewRGBA(r))) }), red},
		"TIFF":        {"image/tiff", encoded(t, func(b *bytes.Buffer) error { return tiff.Encode(b, fill(image.NewNRGBA(r)), nil) }), red},
		"TIFF, packed": {"image/tiff", encoded(t, func(b *bytes.Buffer) error {
			return tiff.Encode(b, fill(image.NewRGBA(r)), &tiff.Options{Compression: tiff.Deflate})
		}), red},
	} {
		t.Run(name, func(t *testing.T) {
			if m := preview(t, test.content, test.typ); !isNear(m, 4, 4, test.want) {
				t.Errorf("the preview is %v", m.At(4, 4))
			}
			source := render.Source{Content: strings.NewReader(test.content), Size: int64(len(test.content)), ContentType: test.typ}
			var pdf bytes.Buffer
			if variant, err := render.PDF(t.Context(), &pdf, source); err != nil || strings.HasPrefix(variant, "cover") || strings.Contains(pdf.String(), "/DeviceCMYK") {
				t.Errorf("variant %s, %v", variant, err)
			}
		})
	}
}

// A small file with a huge picture gets the cover page.
func TestHugePictures(t *testing.T) {
	header := func(width, height uint32) string {
		file := encoded(t, func(b *bytes.Buffer) error { return png.Encode(b, image.NewGray(image.Rect(0, 0, 1, 1))) })
		data := []byte(file)
		binary.BigEndian.PutUint32(data[16:], width)
		binary.BigEndian.PutUint32(data[20:], height)
		binary.BigEndian.PutUint32(data[29:], crc32.ChecksumIEEE(data[12:29]))
		return string(data)
	}
	page := encoded(t, func(b *bytes.Buffer) error { return tiff.Encode(b, picture(), nil) })
	many := page
	for range 600 {
		many = another(many)
	}
	t.Setenv("PATH", t.TempDir()) // no libtiff, which has bounds of its own
	for name, test := range map[string]struct{ typ, content string }{
		"wide":        {"image/png", header(1<<31-1, 1)},
		"large":       {"image/png", header(60_000, 60_000)},
		"many pages":  {"image/tiff", many},
		"64 bits":     {"image/tiff", "II+\x00\x08\x00\x00\x00\x10\x00\x00\x00\x00\x00\x00\x00" + strings.Repeat("\x00", 16)},
		"not an Exif": {"image/jpeg", "\xff\xd8\xff\xe1\x00\x10Exif\x00\x00MM\x00*\x00\x00"},
	} {
		t.Run(name, func(t *testing.T) {
			source := render.Source{Content: strings.NewReader(test.content), Size: int64(len(test.content)), ContentType: test.typ}
			var pdf bytes.Buffer
			if variant, err := render.PDF(t.Context(), &pdf, source); err != nil || !strings.HasPrefix(variant, "cover") {
				t.Errorf("variant %s, %v", variant, err)
			}
		})
	}
	strip := encoded(t, func(b *bytes.Buffer) error { return png.Encode(b, image.NewGray(image.Rect(0, 0, 1, 20_000))) })
	var pdf bytes.Buffer
	if _, err := render.PDF(t.Context(), &pdf, render.Source{Content: strings.NewReader(strip), Size: int64(len(strip)), ContentType: "image/png"}); err != nil || !strings.Contains(pdf.String(), "/MediaBox [0 0 2.83 14173.23]") {
		t.Errorf("a strip is set on another page: %v", err)
	}
}
