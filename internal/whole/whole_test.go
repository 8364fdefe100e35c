package whole

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"io"
	"strings"
	"syscall"
	"testing"

	"codeberg.org/go-pdf/fpdf"

	"github.com/archivefs/archivefs/internal/testing/pdftest"
)

// memory is content in memory.
type memory struct{ *bytes.Reader }

func (m memory) Size() int64 { return m.Reader.Size() }

func check(content []byte) error { return Check(memory{bytes.NewReader(content)}) }

func wantWhole(t *testing.T, what string, content []byte) {
	t.Helper()
	if err := check(content); err != nil {
		t.Errorf("%s of %d bytes is refused: %v", what, len(content), err)
	}
}

func wantIncomplete(t *testing.T, what string, content []byte) {
	t.Helper()
	if err := check(content); !errors.Is(err, ErrIncomplete) {
		t.Errorf("%s of %d bytes: got %v, want it refused as incomplete", what, len(content), err)
	}
}

// makePDF is a PDF with text on pages.
func makePDF(t testing.TB, pages int) []byte {
	t.Helper()
	doc := fpdf.New("P", "mm", "A4", "")
	doc.SetFont("Helvetica", "", 11)
	for n := range pages {
		doc.AddPage()
		for line := range 40 {
			doc.CellFormat(0, 6, fmt.Sprintf("Page %d, line %d: %d", n, line, n*line*7919), "", 1, "", false, 0, "")
		}
	}
	var out bytes.Buffer
	if err := doc.Output(&out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// makeJPEG is a picture that compresses badly.
func makeJPEG(t testing.TB, size int) []byte {
	t.Helper()
	img := image.NewRGBA(image.Rect(0, 0, size, size))
	for y := range size {
		for x := range size {
			img.Set(x, y, color.RGBA{uint8(x * y), uint8(x*x + y), uint8(y*31 ^ x*17), 255})
		}
	}
	var out bytes.Buffer
	if err := jpeg.Encode(&out, img, &jpeg.Options{Quality: 90}); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// withThumbnail puts an APP1 segment with a picture of its own behind the start of the
// image, as cameras do (Exif 2.32, 4.5).
func withThumbnail(picture, thumbnail []byte) []byte {
	payload := append([]byte("Exif\x00\x00"), thumbnail...)
	segment := binary.BigEndian.AppendUint16([]byte{0xff, 0xe1}, uint16(len(payload)+2))
	return bytes.Join([][]byte{picture[:2], segment, payload, picture[2:]}, nil)
}

// makeZIP is an archive of one file, with a comment.
func makeZIP(t testing.TB, comment string) []byte {
	t.Helper()
	return zipOf(t, zip.Deflate, makeJPEG(t, 64), comment)
}

// zipOf is an archive of one file with that content.
func zipOf(t testing.TB, method uint16, content []byte, comment string) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	f, err := w.CreateHeader(&zip.FileHeader{Name: "word/document.xml", Method: method})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := w.SetComment(comment); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// cuts are lengths to cut content to, from least to below end: the first and last hundred
// of them, and some between.
func cuts(least, end int) []int {
	var all []int
	step := max(1, (end-least)/50)
	for n := least; n < end; n++ {
		if n < least+100 || n >= end-100 || n%step == 0 {
			all = append(all, n)
		}
	}
	return all
}

func TestWholePDF(t *testing.T) {
	for _, pages := range []int{1, 30} {
		content := makePDF(t, pages)
		end := bytes.LastIndex(content, []byte("%%EOF")) + len("%%EOF")
		wantWhole(t, "a PDF", content)
		wantWhole(t, "a PDF without the last line break", content[:end])
		wantWhole(t, "a PDF with something behind it", append(bytes.Clone(content), make([]byte, 2000)...))
		wantWhole(t, "a PDF behind a byte order mark", append([]byte("\xef\xbb\xbf"), content...))
		wantWhole(t, "a PDF behind line breaks", append([]byte("\r\n\n "), content...))
		for _, n := range cuts(len("%PDF-"), end) {
			wantIncomplete(t, "a PDF cut off", content[:n])
		}
		wantIncomplete(t, "a PDF cut off behind line breaks", append([]byte("\r\n"), content[:end-1]...))
	}
}

func TestPDFsAsTheyCome(t *testing.T) {
	for _, v := range pdftest.Vectors() {
		if v.Whole {
			wantWhole(t, v.Name, []byte(v.Content))
		} else {
			wantIncomplete(t, v.Name, []byte(v.Content))
		}
	}
}

func TestWholeJPEG(t *testing.T) {
	picture := makeJPEG(t, 200)
	small := makeJPEG(t, 32)
	tests := map[string][]byte{
		"a picture":                  picture,
		"a small picture":            small,
		"a picture with a thumbnail": withThumbnail(picture, small),
	}
	for name, content := range tests {
		t.Run(name, func(t *testing.T) {
			wantWhole(t, name, content)
			wantWhole(t, name+" with a little behind it", append(bytes.Clone(content), make([]byte, 100)...))
			wantWhole(t, name+" with a film behind it", append(bytes.Clone(content), make([]byte, 600<<10)...))
			for _, n := range cuts(3, len(content)-6) { // its last bytes may hold nothing of it
				wantIncomplete(t, name+" cut off", content[:n])
				wantIncomplete(t, name+" cut off, allocated before", append(bytes.Clone(content[:n]), make([]byte, 5000)...))
			}
			for _, missing := range []int{1, 2} {
				picture := content[:len(content)-missing]
				wantWhole(t, name+" without its end", picture)
				wantWhole(t, name+" without its end, NULs behind it", append(bytes.Clone(picture), make([]byte, 5000)...))
			}
			wantWhole(t, name+" without its end, text behind it", append(bytes.Clone(content[:len(content)-2]), strings.Repeat("HTTP/1.1 200 OK\r\n", 6000)...))
		})
	}
}

func TestWholeJPEGCutBehindItsThumbnail(t *testing.T) {
	small := makeJPEG(t, 32)
	content := withThumbnail(makeJPEG(t, 200), small)
	end := bytes.Index(content, small) + len(small)
	if !bytes.HasSuffix(content[:end], []byte{0xff, 0xd9}) {
		t.Fatal("the thumbnail has no end of its own")
	}
	for n := end; n < end+600; n++ {
		wantIncomplete(t, "a picture cut behind its thumbnail", content[:n])
	}
}

func TestWholeJPEGWithFillBytes(t *testing.T) {
	picture := makeJPEG(t, 64)
	content := bytes.Join([][]byte{picture[:2], bytes.Repeat([]byte{0xff}, 5), picture[2:]}, nil)
	wantWhole(t, "a picture with fill bytes", content)
	wantIncomplete(t, "a picture with fill bytes cut off", content[:len(content)-9])
	content = bytes.Join([][]byte{picture[:20], {0, 0, 0}, picture[20:]}, nil)
	wantWhole(t, "a picture with bytes between its segments", content)
}

// TestWholeJPEGAcrossPieces puts the end marker wherever the search passes from one piece
// to the next.
func TestWholeJPEGAcrossPieces(t *testing.T) {
	head := []byte{0xff, 0xd8, 0xff, 0xda, 0, 2}
	for at := 256<<10 - 4; at < 256<<10+8; at++ {
		content := make([]byte, 600<<10)
		copy(content, head)
		wantIncomplete(t, "a picture without an end", content)
		copy(content[at:], []byte{0xff, 0xd9})
		wantWhole(t, fmt.Sprintf("a picture that ends at %d", at), content)
	}
}

func TestWholeZIP(t *testing.T) {
	for _, comment := range []string{"", "short", strings.Repeat("x", 1<<16-1)} {
		content := makeZIP(t, comment)
		wantWhole(t, "a ZIP", content)
		for _, n := range []int{60000, 70000, 3 << 20} {
			wantWhole(t, "a ZIP with NULs behind it", append(bytes.Clone(content), make([]byte, n)...))
			wantWhole(t, "a ZIP with HTML behind it", append(bytes.Clone(content), strings.Repeat("<br>\r\n", n/6)...))
			wantIncomplete(t, "a ZIP cut off, allocated before", append(bytes.Clone(content[:100]), make([]byte, n)...))
		}
		// What is cut off inside the comment keeps the end record.
		record := bytes.LastIndex(content, []byte("PK\x05\x06"))
		for _, n := range cuts(4, record+22) {
			wantIncomplete(t, "a ZIP cut off", content[:n])
		}
	}
}

func TestWholeZIPCutBehindAnotherOneInIt(t *testing.T) {
	inner := makeZIP(t, "")
	outer := zipOf(t, zip.Store, append(make([]byte, 100<<10), inner...), "")
	wantWhole(t, "a ZIP with another one in it", outer)
	end := bytes.Index(outer, inner) + len(inner)
	wantIncomplete(t, "a ZIP cut off behind another one in it", outer[:end])
}

func TestOtherContentIsNeverRefused(t *testing.T) {
	tests := map[string]string{
		"nothing":                     "",
		"one byte":                    "%",
		"text":                        "Sehr geehrte Damen und Herren",
		"an e-mail":                   "From: a@example\r\n\r\n%PDF-1.4",
		"a text about PDF":            "A PDF begins with\n%PDF-1.4\nor another version, and 1 object follows.\n" + strings.Repeat("x", 9000),
		"a tar with a PDF":            "a.pdf" + strings.Repeat("\x00", 252) + "ustar\x0000" + strings.Repeat("\x00", 247) + "%PDF-1.4\n1 0 obj" + strings.Repeat("x", 9000),
		"a PDF marker further on":     strings.Repeat("x", 2000) + "%PDF-",
		"less than a PDF marker":      "%PDF",
		"less than a JPEG marker":     "\xff\xd8",
		"less than a ZIP marker":      "PK\x03",
		"an empty ZIP":                "PK\x05\x06" + strings.Repeat("\x00", 18),
		"an MP3":                      "\xff\xfb\x90\x00",
		"less than a TIFF marker":     "II*",
		"less than a PNG marker":      "\x89PNG\r\n\x1a",
		"a line that begins with II":  "II. Halbjahr",
		"a TIFF without a directory":  "II*\x00" + strings.Repeat("\x00", 600),
		"a compound file of another":  "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + strings.Repeat("\x00", 600),
		"a line that begins with PK":  "PK und Co.",
		"zeros":                       strings.Repeat("\x00", 5000),
		"blanks only":                 strings.Repeat(" \n", 1000),
		"a byte order mark and text":  "\xef\xbb\xbfHallo",
		"a gzip file without its end": "\x1f\x8b\x08\x00",
	}
	for name, content := range tests {
		t.Run(name, func(t *testing.T) { wantWhole(t, name, []byte(content)) })
	}
}

// torn is content whose bytes from a point on cannot be read.
type torn struct {
	memory
	from int64
}

func (b torn) ReadAt(p []byte, off int64) (int, error) {
	if off+int64(len(p)) > b.from {
		return 0, syscall.EDOM
	}
	return b.memory.ReadAt(p, off)
}

func TestContentThatCannotBeReadBack(t *testing.T) {
	for name, content := range map[string][]byte{
		"PDF": makePDF(t, 30), "JPEG": makeJPEG(t, 400), "ZIP": makeZIP(t, "c"), "text": []byte("text"),
	} {
		for _, from := range []int64{0, 1, int64(len(content)) - 1} {
			err := Check(torn{memory{bytes.NewReader(content)}, from})
			if !errors.Is(err, syscall.EDOM) || errors.Is(err, ErrIncomplete) {
				t.Errorf("%s unreadable from %d: got %v, want the error of the disk", name, from, err)
			}
		}
	}
}

// counted counts what is read of it.
type counted struct {
	memory
	read *int64
}

func (b counted) ReadAt(p []byte, off int64) (int, error) {
	*b.read += int64(len(p))
	return b.memory.ReadAt(p, off)
}

func TestWholeFilesAreNotReadWhole(t *testing.T) {
	zeros := make([]byte, 8<<20)
	picture := makeJPEG(t, 64)
	for name, content := range map[string][]byte{
		"PDF":  append([]byte("%PDF-1.4\n"), append(bytes.Clone(zeros), "%%EOF"...)...),
		"JPEG": bytes.Join([][]byte{picture[:len(picture)-2], zeros, {0xff, 0xd9}}, nil),
		"ZIP":  zipOf(t, zip.Store, zeros, ""),
		"text": zeros,
	} {
		var read int64
		if err := Check(counted{memory{bytes.NewReader(content)}, &read}); err != nil || read > 128<<10 {
			t.Errorf("%s of %d bytes: got %v after reading %d", name, len(content), err, read)
		}
	}
}

func FuzzCheck(f *testing.F) {
	f.Add(makePDF(f, 1))
	f.Add(makeJPEG(f, 16))
	f.Add(withThumbnail(makeJPEG(f, 16), makeJPEG(f, 8)))
	f.Add(makeZIP(f, "comment"))
	f.Add([]byte{0xff, 0xd8, 0xff, 0xe1, 0, 0})
	f.Add(makeTIFF(binary.LittleEndian, false, true, 2))
	f.Add(makeTIFF(binary.BigEndian, true, false, 1))
	f.Add(makeOLE(9, 20))
	f.Add([]byte("%PDF-"))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, content []byte) {
		err := check(content)
		if err != nil && !errors.Is(err, ErrIncomplete) {
			t.Fatalf("content in memory cannot be read: %v", err)
		}
		known := bytes.Contains(content, []byte("%PDF-"))
		for _, head := range []string{"\xff\xd8\xff", "PK\x03\x04", "II*\x00", "MM\x00*", "II+\x00", "MM\x00+", pngHead, oleHead} {
			known = known || bytes.HasPrefix(content, []byte(head))
		}
		if err != nil && !known {
			t.Fatalf("other content is refused: %q", content)
		}
		if _, decode := jpeg.Decode(io.MultiReader(bytes.NewReader(content))); err != nil && decode == nil &&
			bytes.HasSuffix(content, []byte{0xff, 0xd9}) && !bytes.Contains(content, []byte("%PDF-")) {
			t.Fatalf("a picture that can be decoded is refused: %q", content)
		}
	})
}
