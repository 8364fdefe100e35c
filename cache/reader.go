package cache

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"sync"
)

// Reader reads one content, complete or being downloaded. Any number of goroutines may use it
// until Close.
type Reader struct {
	c     *Content
	v     *version
	file  *os.File
	close sync.Once
}

// Key returns the key of the content.
func (r *Reader) Key() Key { return r.v.key }

// Size returns the exact length of the content in bytes.
func (r *Reader) Size() int64 { return r.v.size }

// Serial returns a number that differs from an earlier reader's when the content may differ.
func (r *Reader) Serial() uint64 { return r.v.serial }

// File returns the complete file, or nil during the download. The Reader owns it: it is open
// until Close, must not be written, and its position means nothing.
func (r *Reader) File() *os.File {
	if !r.v.progress.complete() {
		return nil
	}
	return r.file
}

// Growing is File, but also returns a file that a download is still filling; nil if the disk had
// no room for one.
func (r *Reader) Growing() *os.File { return r.file }

// ReadAt reads as io.ReaderAt does, and waits for bytes that are being downloaded. Once the
// download has failed, or the content has changed (ErrChanged), every read fails. When ctx ends
// the read ends with its error.
func (r *Reader) ReadAt(ctx context.Context, p []byte, off int64) (int, error) {
	if off < 0 {
		return 0, fmt.Errorf("%s: negative offset", r.v.key)
	}
	if len(p) == 0 {
		return 0, nil
	}
	if off >= r.v.size {
		return 0, io.EOF
	}
	want := min(int64(len(p)), r.v.size-off)
	n, err := r.fromFile(ctx, p[:want], off)
	if unkept := r.v.ranges.Load(); err != nil && unkept != nil {
		if err = unkept.read(ctx, p[:want], off); err == nil {
			n = int(want)
		}
	}
	if err == nil && want < int64(len(p)) {
		err = io.EOF
	}
	return n, err
}

// fromFile reads all of p from the file, or from memory where it is not written yet.
func (r *Reader) fromFile(ctx context.Context, p []byte, off int64) (int, error) {
	inFile, err := r.await(ctx, p, off)
	if err != nil {
		return 0, err
	}
	n, err := r.file.ReadAt(p[:inFile], off)
	if errors.Is(err, io.EOF) { // somebody truncated the file
		err = errDamaged
	}
	if n < inFile {
		return n, fmt.Errorf("%s: %w", r.v.key, err)
	}
	return len(p), nil
}

// await waits for the bytes of p, from off on, and returns how many of them are to be read from
// the file. The others are in p then.
func (r *Reader) await(ctx context.Context, p []byte, off int64) (inFile int, err error) {
	v, end := r.v, off+int64(len(p))
	if v.parts != nil && off > v.progress.reached()+farAhead && v.parts.get(ctx, off, end) {
		return len(p), v.progress.failure()
	}
	return v.progress.read(ctx, p, off)
}

// Wait returns when all bytes are there, or with the error because of which they never will
// be, as ErrNotKept, or with ctx's.
func (r *Reader) Wait(ctx context.Context) error { return r.v.progress.wait(ctx, math.MaxInt64) }

// Close gives the content back. A second Close does nothing.
func (r *Reader) Close() error {
	r.close.Do(func() {
		r.c.mu.Lock()
		defer r.c.unlock()
		r.c.releaseLocked(r.v)
	})
	return nil
}
