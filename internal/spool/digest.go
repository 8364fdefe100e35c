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
	// digestAtOnce is up to which length in bytes a file is hashed as it is written. What
	// lies behind is hashed beside the writer, who would wait longer for that than for the disk.
	digestAtOnce = 1 << 20
	// digestBehind is how many bytes there must be for that.
	digestBehind = 1 << 20
)

// digest is the SHA-256 of the first pos bytes of a file, carried along while the file is
// written from front to back, so that most files need not be read from the disk again for it.
// It is guarded by content.mu.
type digest struct {
	hash hash.Hash
	pos  int64
	// front is up to where the file was written from front to back.
	front int64
	// taken is up to where the bytes are hashed beside the writer, by whoever closes busy at
	// its end; busy is nil while nobody does. stale says that they have changed meanwhile.
	taken int64
	busy  chan struct{}
	stale bool
}

// wrote takes note of p, written at off. behind says that there is something to be hashed
// beside the writer, by catchUp.
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

// catchUp hashes what lies behind the writer until there is little of it left.
func (u *Upload) catchUp() {
	f, err := u.content.acquire()
	if err != nil {
		return // removed: nobody asks for its digest
	}
	defer u.release()
	buf := make([]byte, 128<<10)
	for u.content.catchUp(f, buf) {
	}
}

// catchUp hashes what there is, by way of buf, and reports whether there is more by now.
func (c *content) catchUp(f io.ReaderAt, buf []byte) (more bool) {
	c.mu.Lock()
	d := &c.digest
	if d.busy != nil || d.front-d.pos < digestBehind {
		c.mu.Unlock()
		return false
	}
	d.start()
	d.taken, d.busy, d.stale = d.front, make(chan struct{}), false
	sum, from, to := d.hash, d.pos, d.taken
	c.mu.Unlock()

	n, err := io.CopyBuffer(sum, io.NewSectionReader(f, from, to-from), buf)

	c.mu.Lock()
	defer c.mu.Unlock()
	if d.pos = to; d.stale || err != nil || n != to-from {
		d.hash, d.pos = nil, 0
	}
	close(d.busy)
	d.busy = nil
	return d.hash != nil && d.front-d.pos >= digestBehind
}

// sum returns the checksum, in hexadecimal, of the bytes of file, which are sealed.
func (c *content) sum(file io.ReaderAt) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.digest.busy != nil {
		busy := c.digest.busy
		c.mu.Unlock()
		<-busy
		c.mu.Lock()
	}
	return c.digest.sum(file, c.size.Load())
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
