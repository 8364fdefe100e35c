// Package whole tells a file that visibly lacks its end from a complete one, by its content.
package whole

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// ErrIncomplete says that a file visibly lacks its end.
var ErrIncomplete = errors.New("the end of the file is missing, as after a cancelled copy")

// Content is what Check looks at.
type Content interface {
	io.ReaderAt
	Size() int64
}

// Check returns ErrIncomplete for a PDF, a picture (JPEG, TIFF, PNG), a ZIP-based file or one of
// the older Office (.doc, .xls, .msg) that visibly lacks its end: most file managers end a
// cancelled copy with a normal close, so only the content shows it. Another error says that c
// could not be read. Of a large file little is read.
func Check(c Content) error {
	head, err := slice(c, 0, 1024)
	if err != nil {
		return err
	}
	whole := true
	switch {
	case bytes.HasPrefix(bytes.TrimLeft(head, "\xef\xbb\xbf\r\n\t "), []byte("%PDF-")):
		// The last line is %%EOF (ISO 32000-1, 7.5.5); readers look for it in the last
		// kilobyte, some writers append a little more.
		whole, err = endHolds(c, 4<<10, "%%EOF")
	case bytes.HasPrefix(head, []byte{0xff, 0xd8, 0xff}):
		whole, err = wholeJPEG(c)
	case bytes.HasPrefix(head, []byte("PK\x03\x04")):
		// The end record of 22 bytes may be followed by a comment of 64 KiB (APPNOTE.TXT 4.3.16).
		whole, err = endHolds(c, 22+64<<10, "PK\x05\x06")
	case bytes.HasPrefix(head, []byte(pngHead)):
		whole, err = wholePNG(c)
	case bytes.HasPrefix(head, []byte(oleHead)):
		whole, err = wholeOLE(c)
	default:
		if t, is := asTIFF(c, head); is {
			whole, err = t.whole()
		}
	}
	if err == nil && !whole {
		return ErrIncomplete
	}
	return err
}

// slice reads n bytes at off, fewer at the end.
func slice(c Content, off, n int64) ([]byte, error) {
	p := make([]byte, max(0, min(n, c.Size()-off)))
	if _, err := c.ReadAt(p, off); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read back: %w", err)
	}
	return p, nil
}

// endHolds reports whether mark stands in the last n bytes.
func endHolds(c Content, n int64, mark string) (bool, error) {
	tail, err := slice(c, max(0, c.Size()-n), n)
	return bytes.Contains(tail, []byte(mark)), err
}

// wholeJPEG reports whether an end of image (EOI) follows the start of the picture's
// data (SOS): a thumbnail before it has an end of its own, and cameras append films
// behind it (ITU-T T.81, B.1 and B.2).
func wholeJPEG(c Content) (bool, error) {
	const (
		sos  = 0xda
		most = 1 << 14 // segments and fill bytes; a picture has a few dozen
	)
	off := int64(2)
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
		off += 2 + int64(binary.BigEndian.Uint16(seg[2:]))
	}
	if found, err := endHolds(c, min(2<<10, c.Size()-off), "\xff\xd9"); found || err != nil {
		return found, err
	}
	return holdsFrom(c, off, "\xff\xd9")
}

// holdsFrom searches everything from off on for mark, in pieces that overlap.
func holdsFrom(c Content, off int64, mark string) (bool, error) {
	const piece = 256 << 10
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
