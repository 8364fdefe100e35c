// Package whole tells a file that visibly lacks its end from a complete one, by its content.
package whole

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"image/jpeg"
	"io"
	"strings"
)

// ErrIncomplete says that a file visibly lacks its end.
var ErrIncomplete = errors.New("the end of the file is missing, as after a cancelled copy")

// Content is what Check looks at.
type Content interface {
	io.ReaderAt
	Size() int64
}

// Check returns ErrIncomplete for a PDF, a picture (JPEG, TIFF, PNG, HEIC), a film (MP4), a ZIP-based file or one of
// the older Office (.doc, .xls, .msg) that visibly lacks its end: most file managers end a
// cancelled copy with a normal close, so only the content shows it. What stands behind the end does
// not matter. Another error says that c could not be read. Of a large file that is whole little is read.
func Check(c Content) error {
	_, whole, err := look(c)
	if err == nil && !whole {
		return ErrIncomplete
	}
	return err
}

// IsDocument reports whether c is a whole file of a format that Check knows.
func IsDocument(c Content) bool {
	known, whole, err := look(c)
	return known && whole && err == nil
}

// look reports whether c is of a format that has an end, and whether it has it.
func look(c Content) (known, whole bool, err error) {
	head, err := slice(c, 0, 1024)
	if err != nil {
		return false, false, err
	}
	known = true
	switch {
	case bytes.HasPrefix(head, []byte{0xff, 0xd8, 0xff}):
		whole, err = wholeJPEG(c)
	case bytes.HasPrefix(head, []byte("PK\x03\x04")):
		whole, err = wholeZIP(c)
	case bytes.HasPrefix(head, []byte(pngHead)):
		whole, err = wholePNG(c)
	case bytes.HasPrefix(head, []byte(oleHead)):
		whole, err = wholeOLE(c)
	case len(head) > 8 && string(head[4:8]) == "ftyp":
		whole, err = wholeBoxes(c)
	default:
		if t := AsTIFF(c); t != nil {
			whole, err = t.whole()
			break
		}
		pdf, is, damage := FindPDF(c)
		known, whole, err = is, !is || pdf.Whole, damage
	}
	return known, whole, err
}

// slice reads n bytes at off, fewer at the end.
func slice(c Content, off, n int64) ([]byte, error) {
	p := make([]byte, max(0, min(n, c.Size()-off)))
	if _, err := c.ReadAt(p, off); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read back: %w", err)
	}
	return p, nil
}

// piece is how much of a file is searched at once, in bytes.
const piece = 256 << 10

// used is the length of a file without the blanks and NULs at its end, which downloads and old programs append.
func used(c Content) (int64, error) {
	end := c.Size()
	for n := int64(around); end > 0; n = piece {
		p, err := slice(c, max(0, end-n), min(n, end))
		if err != nil {
			return 0, err
		}
		if p = bytes.TrimRight(p, "\x00\t\n\f\r "); len(p) > 0 {
			return max(0, end-n) + int64(len(p)), nil
		}
		end -= n
	}
	return 0, nil
}

// findLast returns where mark stands last, -1 if not among the last 16 MiB that are used.
func findLast(c Content, mark string) (int64, error) {
	const most = 16 << 20
	end, err := used(c)
	for n, from := int64(around), max(0, end-most); err == nil && end > from; n = piece {
		at := max(from, end-n)
		p, err := slice(c, at, end-at+int64(len(mark))-1)
		if err != nil {
			return -1, err
		}
		if i := bytes.LastIndex(p, []byte(mark)); i >= 0 {
			return at + int64(i), nil
		}
		end = at
	}
	return -1, err
}

// wholeZIP reports whether the end record follows the directory that it describes (APPNOTE.TXT, 4.3.16):
// one further in front is that of a file in the archive.
func wholeZIP(c Content) (bool, error) {
	const near = 64 << 10 // what ZIP64 and signatures put between them, generously
	at, err := findLast(c, "PK\x05\x06")
	if err != nil || at < 0 {
		return false, err
	}
	record, err := slice(c, at, 22)
	if err != nil || len(record) < 22 {
		return false, err
	}
	size, offset := binary.LittleEndian.Uint32(record[12:]), binary.LittleEndian.Uint32(record[16:])
	gap := at - int64(size) - int64(offset)
	return size == 1<<32-1 || offset == 1<<32-1 || gap >= 0 && gap < near, nil
}

// wholeJPEG reports whether an end of image (EOI) follows the start of the picture's data (SOS): a
// thumbnail before it has an end of its own, and cameras append films behind it (ITU-T T.81, B.1 and
// B.2). Without one the picture is whole if all its lines can be decoded: some cameras leave it out.
func wholeJPEG(c Content) (bool, error) {
	const (
		sos, progressive, eoi = 0xda, 0xc2, "\xff\xd9"

		most = 1 << 14 // segments and fill bytes; a picture has a few dozen
	)
	off, dear := int64(2), 1
	for range most {
		seg, err := slice(c, off, 4)
		if err != nil || len(seg) < 4 {
			return false, err
		}
		if seg[0] != 0xff || seg[1] == sos { // no segment: not for us to say what follows
			break
		}
		if seg[1] == 0xff { // a fill byte before the marker
			off++
			continue
		}
		if seg[1] == progressive {
			dear = 4 // all coefficients are in memory at once
		}
		off += 2 + int64(binary.BigEndian.Uint16(seg[2:]))
	}
	for _, from := range []int64{max(off, c.Size()-2<<10), off} {
		if found, err := holdsFrom(c, from, eoi); found || err != nil {
			return found, err
		}
	}
	end, err := used(c)
	if err != nil {
		return false, err
	}
	if c.Size() <= end+2 { // not padding, which would be decoded as more of the picture
		end = c.Size()
	}
	const pixels = 64 << 20 // that may be decoded: 200 MB of memory at most
	if size, err := jpeg.DecodeConfig(io.NewSectionReader(c, 0, end)); err != nil || size.Width*size.Height > pixels/dear {
		return false, nil
	}
	_, err = jpeg.Decode(io.MultiReader(io.NewSectionReader(c, 0, end), strings.NewReader(eoi)))
	return err == nil, nil
}

// holdsFrom searches everything from off on for mark, in pieces that overlap.
func holdsFrom(c Content, off int64, mark string) (bool, error) {
	for ; off < c.Size(); off += piece {
		p, err := slice(c, off, piece+int64(len(mark)))
		if err != nil {
			return false, err
		}
		if bytes.Contains(p, []byte(mark)) {
			return true, nil
		}
	}
	return false, nil
}
