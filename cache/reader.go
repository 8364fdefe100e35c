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

// Reader reads one content, complete or on its way. It may be used by any number of
// goroutines until Close.
type Reader struct {
	c     *Content
	v     *version
	file  *os.File
	close sync.Once
}

// Key returns what the content is called.
func (r *Reader) Key() Key { return r.v.key }

// Size returns the exact length of the content in bytes.
func (r *Reader) Size() int64 { return r.v.size }

// Serial returns a number that is another one when the content of the key is, or may be,
// another one than an earlier reader's.
func (r *Reader) Serial() uint64 { return r.v.serial }

// File returns the complete file, or nil while a download is under way. The Reader owns
// it: it is open until Close, must not be written, and has no position to rely on.
func (r *Reader) File() *os.File {
	if !r.v.progress.complete() {
		return nil
	}
	return r.file
}

// Growing is File, also while a download is under way: then it does not hold all bytes yet. nil
// where the disk could not take the file.
func (r *Reader) Growing() *os.File { return r.file }

// ReadAt reads as io.ReaderAt says, waiting for bytes that are on their way. Once the
// download has failed for good, or the content has changed under it (ErrChanged), every
// read fails. When ctx ends the read ends with its error.
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
	if w := r.v.window.Load(); err != nil && w != nil {
		if err = w.read(ctx, p[:want], off); err == nil {
			n = int(want)
		}
	}
	if err == nil && want < int64(len(p)) {
		err = io.EOF
	}
	return n, err
}

// fromFile reads all of p from the file, or from memory where it is on its way there.
func (r *Reader) fromFile(ctx context.Context, p []byte, off int64) (int, error) {
	inFile, err := r.await(ctx, p, off)
	if err != nil {
		return 0, err
	}
	n, err := r.file.ReadAt(p[:inFile], off)
	if errors.Is(err, io.EOF) { // the file was cut off behind our back
		err = errDamaged
	}
	if n < inFile {
		return n, fmt.Errorf("%s: %w", r.v.key, err)
	}
	return len(p), nil
}

// await returns when the bytes for p, from off on, are there, and how many of them are to be
// read from the file. The others are in p.
func (r *Reader) await(ctx context.Context, p []byte, off int64) (inFile int, err error) {
	v, end := r.v, off+int64(len(p))
	if v.aside != nil && off > v.progress.reached()+farAhead && v.aside.get(ctx, off, end) {
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
