package generated

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/server/blob"
)

// digest names the content of a document in place of a SHA-256. Archives of different shapes have
// different digests.
func (a *Archive) digest(id archive.ID) string {
	return fmt.Sprintf("%016x%016x%032x", a.Folders, a.Documents, int64(id))
}

// OpenPart opens the content that digest names; the error is blob.ErrMissing if there is none. The
// content is generated as it is read.
func (a *Archive) OpenPart(ctx context.Context, digest string, _ blob.Part) (io.ReadSeekCloser, error) {
	var n int64
	if len(digest) == 64 {
		n, _ = strconv.ParseInt(digest[48:], 16, 64) // 0 is no document
	}
	id := archive.ID(n)
	d, err := a.Document(ctx, id)
	if err != nil || a.digest(id) != digest {
		return nil, fmt.Errorf("content %q: %w", digest, blob.ErrMissing)
	}
	return content{io.NewSectionReader(newPDF(uint64(id), d.Name, d.Size), 0, d.Size)}, nil //nolint:gosec // ids are above zero
}

// content is an open content.
type content struct{ *io.SectionReader }

// Close implements io.Closer.
func (content) Close() error { return nil }

// pdf is a PDF 1.4 file whose one page shows its name. An unreferenced object of bytes that look
// random pads it to its length.
type pdf struct {
	seed       uint64
	head, tail string
	size       int64
}

func newPDF(seed uint64, name string, size int64) *pdf {
	f := &pdf{seed: seed, size: size}
	var b strings.Builder
	var offsets [6]int
	object := func(n int, text string) {
		offsets[n] = b.Len()
		fmt.Fprintf(&b, "%d 0 obj\n%s", n, text)
	}
	b.WriteString("%PDF-1.4\n%\xe2\xe3\xcf\xd3\n")
	object(1, "<</Type/Catalog/Pages 2 0 R>>\nendobj\n")
	object(2, "<</Type/Pages/Kids[3 0 R]/Count 1>>\nendobj\n")
	object(3, "<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Contents 4 0 R"+
		"/Resources<</Font<</F <</Type/Font/Subtype/Type1/BaseFont/Helvetica>>>>>>>>\nendobj\n")
	page := "BT /F 18 Tf 72 770 Td (" + name + ") Tj ET"
	object(4, fmt.Sprintf("<</Length %d>>\nstream\n%s\nendstream\nendobj\n", len(page), page))
	const tail = "\nendstream\nendobj\n"
	const table = len("xref\n0 6\n") + 6*20 + len("trailer\n<</Size 6/Root 1 0 R>>\nstartxref\n0123456789\n%%EOF\n")
	const before = "<</Length 0123456789>>\nstream\n"
	filler := size - int64(b.Len()+len("5 0 obj\n")+len(before)+len(tail)+table)
	object(5, fmt.Sprintf("<</Length %010d>>\nstream\n", filler))
	f.head = b.String()

	b.Reset()
	b.WriteString(tail + "xref\n0 6\n0000000000 65535 f \n")
	for _, at := range offsets[1:] {
		fmt.Fprintf(&b, "%010d 00000 n \n", at)
	}
	at := size - int64(table)
	fmt.Fprintf(&b, "trailer\n<</Size 6/Root 1 0 R>>\nstartxref\n%010d\n%%%%EOF\n", at)
	f.tail = b.String()
	return f
}

// ReadAt implements io.ReaderAt.
func (f *pdf) ReadAt(p []byte, offset int64) (n int, err error) {
	end := f.size - int64(len(f.tail))
	for n < len(p) && offset < f.size {
		var m int
		switch {
		case offset < int64(len(f.head)):
			m = copy(p[n:], f.head[offset:])
		case offset < end:
			m = f.fill(p[n:min(int64(len(p)), int64(n)+end-offset)], offset)
		default:
			m = copy(p[n:], f.tail[offset-end:])
		}
		n, offset = n+m, offset+int64(m)
	}
	if n < len(p) {
		err = io.EOF
	}
	return n, err
}

// fill writes the padding from offset on, eight bytes from each number.
func (f *pdf) fill(p []byte, offset int64) int {
	n := 0
	for n < len(p) {
		var word [8]byte
		at := uint64(offset) + uint64(n) //nolint:gosec // both are above zero
		binary.LittleEndian.PutUint64(word[:], mix(f.seed<<24^at/8))
		n += copy(p[n:], word[at%8:])
	}
	return n
}
