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

// progress is how much of a content has arrived, from its first byte on. It wakes the readers
// that wait for more. The newest bytes can be read from memory before they are in the file.
type progress struct {
	mu sync.Mutex
	// have is the number of bytes in the file.
	have int64 // +checklocks:mu
	// fresh are the bytes after those, not written yet.
	fresh []byte // +checklocks:mu
	// done says that no more bytes come.
	done bool // +checklocks:mu
	// err is why the bytes must not be used.
	err error // +checklocks:mu
	// wake is closed at the next change, nil while nobody waits.
	wake chan struct{} // +checklocks:mu
	// least is the smallest number of bytes that a reader waits for.
	least int64 // +checklocks:mu
}

// receive sets the bytes that follow those in the file. They must not change until advance, or another receive.
func (p *progress) receive(fresh []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fresh = fresh
	if p.least <= p.reachedLocked() {
		p.wakeLocked()
	}
}

// advance says that the first have bytes are in the file, and none in memory.
func (p *progress) advance(have int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.have, p.fresh = have, nil
	if p.least <= have {
		p.wakeLocked()
	}
}

// finish says that no more bytes come; with an error, that none may be used.
func (p *progress) finish(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done, p.err, p.fresh = true, err, nil
	p.wakeLocked()
}

// +checklocks:p.mu
func (p *progress) wakeLocked() {
	if p.wake != nil {
		close(p.wake)
		p.wake = nil
	}
}

// wait waits until the first want bytes have arrived or no more come. Its error is that of finish or of ctx.
func (p *progress) wait(ctx context.Context, want int64) error {
	for {
		p.mu.Lock()
		if p.err != nil || p.done || p.reachedLocked() >= want {
			err := p.err
			p.mu.Unlock()
			return err
		}
		if p.wake == nil {
			p.wake, p.least = make(chan struct{}), want
		}
		p.least = min(p.least, want)
		wake := p.wake
		p.mu.Unlock()
		select {
		case <-wake:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// read waits for the bytes of dst, from off on, and copies those that are still in memory. The
// first inFile bytes are left to read from the file.
func (p *progress) read(ctx context.Context, dst []byte, off int64) (inFile int, err error) {
	for {
		if err := p.wait(ctx, off+int64(len(dst))); err != nil {
			return 0, err
		}
		if inFile, ok := p.recent(dst, off); ok {
			return inFile, nil
		}
	}
}

// recent is read without waiting. False: the bytes are gone, because they could not be written.
func (p *progress) recent(dst []byte, off int64) (inFile int, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch end := off + int64(len(dst)); {
	case p.err != nil, !p.done && end > p.reachedLocked():
		return 0, false
	case p.done, end <= p.have:
		return len(dst), true
	}
	from := max(off, p.have)
	copy(dst[from-off:], p.fresh[from-p.have:])
	return int(from - off), true
}

func (p *progress) failure() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}

func (p *progress) reached() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.reachedLocked()
}

// +checklocks:p.mu
func (p *progress) reachedLocked() int64 { return p.have + int64(len(p.fresh)) }

func (p *progress) complete() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.done && p.err == nil
}

// Reader reads one content, complete or being downloaded. Any number of goroutines may use it until Close.
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

// Growing is File, but also returns a file that a download is still filling; nil if the disk had no room for one.
func (r *Reader) Growing() *os.File { return r.file }

// ReadAt reads as io.ReaderAt does, and waits for bytes that are being downloaded. Once the download has failed, or the
// content has changed (ErrChanged), every read fails. When ctx ends the read ends with its error.
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
