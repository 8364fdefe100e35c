package spool

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
)

const (
	// digestAtOnce is up to which length in bytes a content is hashed as it is written. Beyond it, in a file,
	// content.catchUp hashes in the background: the writer would wait longer for that than for
	// the disk.
	digestAtOnce = 4 << 20
	// digestBehind is how many bytes there must be for that.
	digestBehind = 1 << 20
)

// digest is the SHA-256 of the first pos bytes of a file, computed while the file is written
// from front to back, so that most files need not be read again for it. Guarded by
// content.mu.
type digest struct {
	hash hash.Hash
	pos  int64
	// front is up to where the file was written from front to back.
	front int64
	// taken is up to where catchUp hashes; it closes busy at its end, which is nil while none
	// runs. stale says that these bytes have changed meanwhile.
	taken int64
	busy  chan struct{}
	stale bool
}

// wrote takes note of p, written at off. behind says that there is work for catchUp.
func (d *digest) wrote(p []byte, off int64) (behind bool) {
	d.cut(off)
	if off != d.front {
		return false
	}
	d.front += int64(len(p))
	switch {
	case d.busy != nil:
		return false
	case off == d.pos && d.front <= digestAtOnce:
		d.start()
		d.hash.Write(p)
		d.pos = d.front
	}
	return d.front-d.pos >= digestBehind
}

func (d *digest) start() {
	if d.hash == nil {
		d.hash, d.pos = sha256.New(), 0
	}
}

// cut takes note that the bytes from off on are no longer what they were.
func (d *digest) cut(off int64) {
	if off >= d.front {
		return
	}
	d.front = off
	d.stale = d.stale || d.busy != nil && off < d.taken
	if d.busy == nil && off < d.pos {
		d.hash, d.pos = nil, 0
	}
}

// sum reads what is not hashed yet of the size bytes of file.
func (d *digest) sum(file io.ReaderAt, size int64) (string, error) {
	d.start()
	var err error
	if d.pos < size { // of most files all is hashed by now
		var n int64
		n, err = io.Copy(d.hash, io.NewSectionReader(file, d.pos, size-d.pos))
		d.pos += n
	}
	d.front = d.pos
	switch {
	case err != nil:
		d.hash, d.pos = nil, 0
		return "", fmt.Errorf("read back what was written: %w", err)
	case d.pos != size:
		return "", errors.New("its data is shorter than what was written")
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
