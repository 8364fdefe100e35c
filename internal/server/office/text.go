package office

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"
)

// ErrUnreadable says that nothing can be read of a document.
var ErrUnreadable = errors.New("the office document cannot be read")

const (
	// MaxText is how much text is taken of a document, in bytes.
	MaxText = 16 << 20
	// maxUnpacked is how much of it is unpacked, in bytes.
	maxUnpacked = 32 << 20
	// maxDirectory is the largest directory of an archive, in bytes: some 10,000 files.
	maxDirectory = 1 << 20
)

// Is reports whether documents of that media type can be read.
func Is(media string) bool {
	return strings.HasPrefix(media, "application/vnd.openxmlformats-officedocument.") ||
		strings.HasPrefix(media, "application/vnd.oasis.opendocument.")
}

// Text returns what is written in a document: paragraphs in lines, the cells of a row separated by
// tabs. Of more than MaxText it is the beginning. What cannot be read is ErrUnreadable.
func Text(r io.ReaderAt, size int64) (string, error) {
	return text(r, size, maxUnpacked)
}

// text is Text that unpacks at most so many bytes.
func text(r io.ReaderAt, size, unpacked int64) (string, error) {
	if err := checkDirectory(r, size); err != nil {
		return "", err
	}
	files, err := zip.NewReader(r, size)
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	d := &document{left: unpacked}
	parts := written(files.File)
	for _, f := range parts {
		if err := d.part(f); err != nil {
			return "", err
		}
		if d.full() {
			break
		}
	}
	if len(parts) == 0 {
		return "", fmt.Errorf("%w: it has no text", ErrUnreadable)
	}
	return d.text(), nil
}

// checkDirectory refuses an archive whose directory is large, or may be: package zip reads all of
// it into memory. The last record of an archive says where its directory is (APPNOTE, 4.3.16).
func checkDirectory(r io.ReaderAt, size int64) error {
	const record, comment = 22, 1 << 16
	end := make([]byte, min(size, record+comment))
	if n, err := r.ReadAt(end, size-int64(len(end))); n < len(end) {
		return fmt.Errorf("read office document: %w", err)
	}
	at := bytes.LastIndex(end, []byte("PK\x05\x06"))
	if at < 0 || len(end)-at < record {
		return fmt.Errorf("%w: no directory", ErrUnreadable)
	}
	length := int64(binary.LittleEndian.Uint32(end[at+12:]))
	offset := int64(binary.LittleEndian.Uint32(end[at+16:]))
	if length > maxDirectory || offset+length != size-int64(len(end)-at) {
		return fmt.Errorf("%w: a strange directory", ErrUnreadable)
	}
	return nil
}

// written returns the files that hold what people wrote, in the order in which they read it.
func written(files []*zip.File) []*zip.File {
	var found []*zip.File
	for _, f := range files {
		if rank(f.Name) > 0 {
			found = append(found, f)
		}
	}
	slices.SortStableFunc(found, func(a, b *zip.File) int {
		if by := rank(a.Name) - rank(b.Name); by != 0 {
			return by
		}
		return number(a.Name) - number(b.Name)
	})
	return found
}

// rank tells the texts of a document from its other files, which are 0. The table of texts of a
// workbook comes before its sheets, which refer to it.
func rank(name string) int {
	dir, file := path.Split(name)
	kind := strings.TrimRight(strings.TrimSuffix(file, ".xml"), "0123456789")
	switch dir + kind {
	case "word/document", "content", "xl/sharedStrings", "ppt/slides/slide":
		return 1
	case "xl/worksheets/sheet", "word/footnotes", "ppt/notesSlides/notesSlide":
		return 2
	case "word/endnotes", "xl/comments":
		return 3
	case "word/comments":
		return 4
	case "word/header":
		return 5
	case "word/footer":
		return 6
	}
	return 0
}

// number is the number that a file's name ends in.
func number(name string) int {
	base := strings.TrimSuffix(path.Base(name), ".xml")
	digits := base[len(strings.TrimRight(base, "0123456789")):]
	n, err := strconv.Atoi(digits)
	if err != nil {
		return 0
	}
	return n
}
