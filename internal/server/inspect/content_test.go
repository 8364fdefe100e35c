package inspect_test

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/jpeg"
	"strings"
	"testing"

	"codeberg.org/go-pdf/fpdf"
	"golang.org/x/image/tiff"

	"github.com/archivefs/archivefs/internal/server/inspect"
)

func pdf(t testing.TB, pages int) string {
	t.Helper()
	doc := fpdf.New("P", "mm", "A4", "")
	for range pages {
		doc.AddPage()
	}
	var b bytes.Buffer
	if err := doc.Output(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// tiffOf joins n images of the encoder into one file by linking their directories.
func tiffOf(t testing.TB, n int) string {
	t.Helper()
	var one bytes.Buffer
	if err := tiff.Encode(&one, image.NewGray(image.Rect(0, 0, 4, 3)), nil); err != nil {
		t.Fatal(err)
	}
	file := one.Bytes()
	at := binary.LittleEndian.Uint32(file[4:])
	entries := uint32(binary.LittleEndian.Uint16(file[at:]))
	length := 2 + 12*entries + 4
	directory := bytes.Clone(file[at : at+length])
	link := at + length - 4
	for range n - 1 {
		if len(file)%2 == 1 {
			file = append(file, 0)
		}
		next := uint32(len(file))
		binary.LittleEndian.PutUint32(file[link:], next)
		file = append(file, directory...)
		link = next + length - 4
	}
	return string(file)
}

// bigTIFF makes a file of so many directories without entries, with offsets of 64 bits.
func bigTIFF(pages int) string {
	file := []byte("MM\x00+\x00\x08\x00\x00")
	for i := range pages + 1 { // the header's link, and those of the directories
		next := uint64(16 + 16*i)
		if i == pages {
			next = 0
		}
		file = binary.BigEndian.AppendUint64(file, next)
		if i < pages {
			file = binary.BigEndian.AppendUint64(file, 0) // entries
		}
	}
	return string(file)
}

func TestContent(t *testing.T) {
	var picture bytes.Buffer
	if err := jpeg.Encode(&picture, image.NewGray(image.Rect(0, 0, 8, 8)), nil); err != nil {
		t.Fatal(err)
	}
	const mail = "From: a@example.org\r\nSubject: x\r\n\r\ntext\r\n"
	three := pdf(t, 3)
	for _, test := range []struct {
		name, content string
		hint          inspect.Hint
		typ           string
		pages         int
	}{
		{"nothing", "", inspect.Hint{Name: "x.pdf", ContentType: "application/pdf"}, "application/octet-stream", 1},
		{"text", "Grüße\n", inspect.Hint{}, "text/plain; charset=utf-8", 1},
		{"table by its name", "a\n", inspect.Hint{Name: "a.CSV"}, "text/csv; charset=utf-8", 1},
		{"text by its name", "a,b\n1,2\n", inspect.Hint{Name: "a.txt"}, "text/plain; charset=utf-8", 1},
		{"page by its name", "see below", inspect.Hint{Name: "a.html"}, "text/html; charset=utf-8", 1},
		{"JSON by its name", "17", inspect.Hint{Name: "a.json"}, "application/json", 1},
		{"mail by its name", mail, inspect.Hint{Name: "a.eml"}, "message/rfc822", 1},
		{"mail by the client", mail, inspect.Hint{Name: "a", ContentType: "message/rfc822"}, "message/rfc822", 1},
		{"mail by its content", "Date: x\r\nMessage-ID: <1>\r\n" + mail, inspect.Hint{Name: "a"}, "message/rfc822", 1},
		{"a text like a mail", "Date: x\r\nMessage-ID: <1>\r\n" + mail, inspect.Hint{Name: "a.txt"}, "text/plain; charset=utf-8", 1},
		{"a beginning like a mail's", "Received: today\nDate: x\n no more", inspect.Hint{}, "text/plain; charset=utf-8", 1},
		{"long mail", mail + strings.Repeat("line\r\n", 200), inspect.Hint{Name: "a.eml"}, "message/rfc822", 4},
		{"long text", strings.Repeat("line\n", 200), inspect.Hint{}, "text/plain; charset=utf-8", 4},
		{"no mail at all", "just text", inspect.Hint{Name: "a.eml", ContentType: "message/rfc822"}, "text/plain; charset=utf-8", 1},
		{"image", picture.String(), inspect.Hint{Name: "a.pdf", ContentType: "application/pdf"}, "image/jpeg", 1},
		{"bytes", "\x00\x01\x02", inspect.Hint{Name: "a.pdf", ContentType: "application/pdf"}, "application/octet-stream", 1},
		{"PDF", three, inspect.Hint{Name: "a.txt", ContentType: "text/plain"}, "application/pdf", 3},
		{"PDF that is cut off", three[:len(three)/2], inspect.Hint{}, "application/pdf", 1},
		{"PDF without a trailer", strings.ReplaceAll(three, "startxref", ""), inspect.Hint{}, "application/pdf", 1},
		{"broken PDF", strings.ReplaceAll(three, "startxref\n", "startxref\n9"), inspect.Hint{}, "application/pdf", 1},
		{"PDF of nothing", "%PDF-1.4\n%%EOF", inspect.Hint{}, "application/pdf", 1},
		{"TIFF", tiffOf(t, 1), inspect.Hint{}, "image/tiff", 1},
		{"TIFF of pages", tiffOf(t, 4), inspect.Hint{Name: "a"}, "image/tiff", 4},
		{"large TIFF of pages", tiffOf(t, 4) + strings.Repeat("\x00", 65<<20), inspect.Hint{}, "image/tiff", 4},
		{"BigTIFF of pages", bigTIFF(3), inspect.Hint{}, "image/tiff", 3},
		{"broken BigTIFF", bigTIFF(2)[:30], inspect.Hint{}, "image/tiff", 1},
		{"broken TIFF", tiffOf(t, 2)[:20], inspect.Hint{}, "image/tiff", 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := inspect.Content(strings.NewReader(test.content), int64(len(test.content)), test.hint)
			if got.ContentType != test.typ || got.Pages != test.pages || got.Uncounted != strings.HasPrefix(test.name, "broken PDF") {
				t.Errorf("got %+v, want %s with %d pages", got, test.typ, test.pages)
			}
		})
	}
}

func TestPagesEndWhereTheyLoop(t *testing.T) {
	loop := []byte(tiffOf(t, 2))
	first := binary.LittleEndian.Uint32(loop[4:])
	binary.LittleEndian.PutUint32(loop[len(loop)-4:], first)
	if got := inspect.Pages(bytes.NewReader(loop), int64(len(loop)), inspect.TIFF); got != 2 {
		t.Errorf("%d pages, want 2", got)
	}
}

// FuzzContent feeds anything: there is always a type and at least one page.
func FuzzContent(f *testing.F) {
	f.Add(pdf(f, 2), "a.pdf")
	f.Add(tiffOf(f, 2), "a.tif")
	f.Add("II*\x00\x08\x00\x00\x00", "")
	f.Add(bigTIFF(2), "")
	f.Add("From: x\n\n", "a.eml")
	f.Fuzz(func(t *testing.T, content, name string) {
		got := inspect.Content(strings.NewReader(content), int64(len(content)), inspect.Hint{Name: name})
		if got.ContentType == "" || got.Pages < 1 {
			t.Errorf("%+v", got)
		}
	})
}
