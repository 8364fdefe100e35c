//go:build linux

package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"
)

// pdf is a PDF of one page and of so many bytes, which differ with n: a line of text, and a
// picture that is not shown, as of a scanner.
func pdf(size int, n uint64) []byte {
	const tail = 400 // bytes behind the picture, and some that fill up
	text := fmt.Sprintf("BT /F1 12 Tf 72 720 Td (Rechnung %d) Tj ET", n)
	var seed [32]byte
	binary.LittleEndian.PutUint64(seed[:], n)
	var b bytes.Buffer
	b.Grow(size)
	b.WriteString("%PDF-1.4\n")
	var offsets []int
	object := func(format string, args ...any) {
		offsets = append(offsets, b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n"+format+"\nendobj\n", append([]any{len(offsets)}, args...)...)
	}
	object("<< /Type /Catalog /Pages 2 0 R >>")
	object("<< /Type /Pages /Kids [3 0 R] /Count 1 >>")
	object("<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> /XObject << /Im1 6 0 R >> >> >>")
	object("<< /Length %d >>\nstream\n%s\nendstream", len(text), text)
	object("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>")
	pixels := make([]byte, size-b.Len()-tail-200)
	_, _ = rand.NewChaCha8(seed).Read(pixels) // it never fails
	object("<< /Type /XObject /Subtype /Image /Width %d /Height 1 /ColorSpace /DeviceGray /BitsPerComponent 8 /Length %d >>\nstream\n%s\nendstream",
		len(pixels), len(pixels), pixels)
	var references strings.Builder
	fmt.Fprintf(&references, "xref\n0 %d\n0000000000 65535 f \n", len(offsets)+1)
	for _, offset := range offsets {
		fmt.Fprintf(&references, "%010d 00000 n \n", offset)
	}
	end := func(at int) string {
		return fmt.Sprintf("%strailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n", references.String(), len(offsets)+1, at)
	}
	at := size - len(end(size-tail))
	fmt.Fprintf(&b, "%*s\n", at-b.Len()-1, "") // white space up to the references
	b.WriteString(end(at))
	return b.Bytes()
}
