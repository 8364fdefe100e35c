package corpus

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
)

// MarkAt and MarkLength say where the mark of a document stands: a comment whose digits can
// be changed, so that a content is new without being written anew.
const (
	MarkAt     = int64(len("%PDF-1.4\n%"))
	MarkLength = 16
)

// frame is what surrounds the bytes of a document: a PDF of one empty page, and an object
// that holds the bytes.
const (
	head = "%%PDF-1.4\n%%%016x\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n" +
		"3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]>>endobj\n4 0 obj<</Length %010d>>stream\n"
	tail = "\nendstream endobj\nxref\n0 5\n0000000000 65535 f \n%010d 00000 n \n%010d 00000 n \n%010d 00000 n \n%010d 00000 n \n" +
		"trailer<</Size 5/Root 1 0 R>>\nstartxref\n%010d\n%%%%EOF\n"
)

// noise is where documents take their bytes from.
type noise []byte

// newNoise makes a mebibyte of random bytes.
func newNoise() noise {
	b := make(noise, 1<<20)
	r := rand.NewChaCha8([32]byte{0xa5})
	_, _ = r.Read(b) // it never fails
	return b
}

// document writes a PDF of size bytes, which is enough for its frame; mark makes it differ
// from all others.
func (n noise) document(w io.Writer, mark uint64, size int64) error {
	start := fmt.Appendf(nil, head, mark, 0)
	body := size - int64(len(start)) - int64(len(fmt.Sprintf(tail, 0, 0, 0, 0, 0)))
	if body < 0 {
		return fmt.Errorf("a document of %d bytes is too small", size)
	}
	start = fmt.Appendf(start[:0], head, mark, body)
	if _, err := w.Write(start); err != nil {
		return err
	}
	if err := n.fill(w, mark, body); err != nil {
		return err
	}
	at := func(object string) int { return bytes.Index(start, []byte("\n"+object+" 0 obj")) + 1 }
	_, err := fmt.Fprintf(w, tail, at("1"), at("2"), at("3"), at("4"), int64(len(start))+body+int64(len("\nendstream endobj\n")))
	return err
}

// fill writes size bytes, each mebibyte turned differently, so that no two pages of a
// document are alike.
func (n noise) fill(w io.Writer, mark uint64, size int64) error {
	r := rand.New(rand.NewPCG(mark, 0)) //nolint:gosec // test data, the same each time
	for size > 0 {
		turn := r.IntN(len(n))
		for _, part := range [][]byte{n[turn:], n[:turn]} {
			part = part[:min(int64(len(part)), size)]
			if _, err := w.Write(part); err != nil {
				return err
			}
			size -= int64(len(part))
		}
	}
	return nil
}

// write makes a file of one document.
func (n noise) write(path string, mark uint64, size int64) error {
	f, err := os.Create(path) //nolint:gosec // below the corpus
	if err != nil {
		return err
	}
	if err := n.document(f, mark, size); err != nil {
		_ = f.Close()
		return fmt.Errorf("%s: %w", path, err)
	}
	return f.Close()
}
