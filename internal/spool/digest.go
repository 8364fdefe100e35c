package spool

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
)

// digest is the SHA-256 of the first pos bytes of a file, carried along while the file is
// written from front to back, so that most files need not be read again for it.
type digest struct {
	hash hash.Hash
	pos  int64
}

// wrote takes note of p, written at off.
func (d *digest) wrote(p []byte, off int64) {
	if off < d.pos {
		d.cut(off)
	}
	if off != d.pos {
		return
	}
	if d.hash == nil {
		d.hash = sha256.New()
	}
	d.hash.Write(p)
	d.pos += int64(len(p))
}

// cut takes note that the bytes from off on are no longer what they were.
func (d *digest) cut(off int64) {
	if off < d.pos {
		d.hash, d.pos = nil, 0
	}
}

// sum returns the checksum, in hexadecimal, of the size bytes of file.
func (d *digest) sum(file io.ReaderAt, size int64) (string, error) {
	if d.hash == nil {
		d.hash, d.pos = sha256.New(), 0
	}
	n, err := io.Copy(d.hash, io.NewSectionReader(file, d.pos, size-d.pos))
	d.pos += n
	if err != nil {
		d.cut(0)
		return "", fmt.Errorf("read back what was written: %w", err)
	}
	if d.pos != size {
		return "", errors.New("read back what was written: the file is shorter than what was written to it")
	}
	return hex.EncodeToString(d.hash.Sum(nil)), nil
}

// sumOf returns the SHA-256 of r in hexadecimal, reading at most limit bytes, and how
// many were read.
func sumOf(r io.Reader, limit int64) (sum string, n int64, err error) {
	h := sha256.New()
	n, err = io.Copy(h, io.LimitReader(r, limit))
	return hex.EncodeToString(h.Sum(nil)), n, err
}
