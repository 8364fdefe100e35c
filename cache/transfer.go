package cache

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash"
	"io"
	"sync"
	"syscall"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/retry"
)

const (
	// chunk is how many bytes are read from an answer and written to the file at a time.
	chunk = 256 << 10
	// roomFor is how many bytes are evicted at least when the disk is full.
	roomFor = 16 << 20
	// maxTries is how often a broken transfer is resumed without a byte of progress. After a
	// time-out it is resumed once, until another chunk has arrived.
	maxTries = 5
)

// buffers are shared by transfers: thousands of small documents need a few.
var buffers = sync.Pool{New: func() any { return new([chunk]byte) }}

// backoff spaces out the attempts to resume a transfer.
var backoff = retry.Backoff{First: 100 * time.Millisecond, Longest: 5 * time.Second}

var errAnswer = errors.New("the service answered another part of the content than was asked for")

// brokenError is a transfer that ended early and may be resumed.
type brokenError struct{ cause error }

func (e *brokenError) Error() string { return e.cause.Error() }
func (e *brokenError) Unwrap() error { return e.cause }

func isBroken(err error) bool {
	var broken *brokenError
	return errors.As(err, &broken)
}

// waitedLong reports whether fetch failed after it had waited for long, so that it is not called again.
func waitedLong(err error) bool {
	kind := archive.KindOf(err)
	return kind == archive.KindTimeout || kind == archive.KindBusy
}

// transfer writes the bytes of a content to a file. One goroutine uses it.
type transfer struct {
	c     *Content
	fetch Fetch
	v     *version
	// sum is the checksum of the bytes in the file, nil for a content without check (checkable).
	sum hash.Hash32
	// have is how many bytes are in the file.
	have int64
	// known is a buffer in which bytes that come a second time are compared.
	known []byte
}

// newTransfer makes the file for an answer. A *diskError says that the disk has no room for it.
func (d *download) newTransfer(content *archive.Content) (*transfer, error) {
	c := d.c
	f, err := c.createTemp(d.key)
	v := &version{
		fileName: fileName{
			key: d.key, size: max(content.Size, archive.SizeUnknown), fetched: d.began, print: d.print, etag: content.ETag, tag: newTag(),
		},
		serial: c.serial.Add(1), file: f, refs: 1, download: d,
	}
	if err == nil {
		v.temp = f.Name()
	}
	c.Kept.expect(v)
	t := &transfer{c: c, fetch: d.fetch, v: v}
	if checkable(v.size) { // an unknown size may turn out to be
		t.sum = newCRC()
	}
	if err != nil {
		return t, &diskError{err}
	}
	if v.size >= 0 && !c.hasRoom(v.size) {
		return t, &diskError{ErrNotKept}
	}
	return t, nil
}

// check returns the check of the bytes in the file, empty for a large one.
func (t *transfer) check() check {
	if t.sum == nil || !checkable(t.have) {
		return ""
	}
	return crcOf(t.sum)
}

// run writes the body of content, and resumes the transfer when it breaks, until it is complete.
func (t *transfer) run(ctx context.Context, content *archive.Content) error {
	tries, timedOut := 0, false
	for {
		before := t.have
		err := t.take(content)
		if !isBroken(err) {
			return err
		}
		if t.have > before {
			tries = 0
		}
		timedOut = timedOut && t.have < before+chunk
		if archive.KindOf(err) == archive.KindTimeout {
			if timedOut {
				return t.brokenOff(err)
			}
			timedOut = true
		}
		if content, err = t.resume(ctx, &tries, err); err != nil {
			return err
		}
	}
}

// resume requests the rest. Without a strong ETag the service cannot tell whether the rest belongs to the bytes in the
// file (RFC 9110, section 13.1.5), so the content is requested from its start and compared.
func (t *transfer) resume(ctx context.Context, tries *int, cause error) (*archive.Content, error) {
	want := Want{}
	if t.v.strong() {
		want = Want{Offset: t.have, Match: t.v.etag}
	}
	for ; *tries < maxTries; *tries++ {
		switch err := t.c.pause(ctx, backoff.After(*tries+1)); {
		case ctx.Err() != nil:
			return nil, err
		case err != nil: // nobody shall wait now
			return nil, t.brokenOff(cause)
		}
		content, err := t.fetch(ctx, want)
		switch {
		case err == nil:
			*tries++
			t.c.mu.Lock()
			t.c.stats.Resumed++
			t.c.unlock()
			return content, t.admit(content)
		case ctx.Err() != nil || !archive.Away(err):
			return nil, err
		case waitedLong(err):
			return nil, t.brokenOff(err)
		}
		cause = err
	}
	return nil, t.brokenOff(cause)
}

func (t *transfer) brokenOff(cause error) error {
	return fmt.Errorf("broken off after %d bytes: %w", t.have, cause)
}

// admit checks that an answer continues the bytes in the file, and closes one that does not.
func (t *transfer) admit(content *archive.Content) error {
	var err error
	switch {
	case content.Body == nil || content.Offset < 0 || content.Offset > t.have:
		err = errAnswer
	case t.v.size >= 0 && content.Size >= 0 && content.Size != t.v.size:
		err = ErrChanged
	case content.Offset > 0 && content.ETag != t.v.etag:
		err = ErrChanged
	case content.ETag != t.v.etag && t.v.parts.close():
		err = ErrChanged // parts of the previous content may have been read
	}
	if err != nil {
		closeBody(content)
		return err
	}
	if content.Offset == 0 { // everything is compared
		t.v.etag = content.ETag
	}
	return nil
}

// take reads the body of content to its end and closes it.
func (t *transfer) take(content *archive.Content) error {
	defer closeBody(content)
	buf := buffers.Get().(*[chunk]byte) // the pool holds nothing else
	defer func() {
		t.v.progress.receive(nil) // readers no longer use buf
		buffers.Put(buf)
	}()
	at := content.Offset
	for {
		n, err := t.fill(content.Body, buf[:], at)
		if n > 0 {
			if err := t.accept(buf[:n], at); err != nil {
				return err
			}
			at += int64(n)
		}
		switch err {
		case nil:
		case io.EOF: //nolint:errorlint // bare: a broken connection may have an EOF as its cause
			return t.ended(at)
		default:
			return &brokenError{err}
		}
	}
}

// fill reads from body, which is at position at of the content, until buf is full or the body
// ends: one large write is much cheaper than several small ones. Readers get the bytes at once,
// except bytes that came before and bytes beyond the announced length.
func (t *transfer) fill(body io.Reader, buf []byte, at int64) (n int, err error) {
	for n < len(buf) && err == nil {
		var more int
		more, err = body.Read(buf[n:])
		n += more
		if at == t.have && (t.v.size < 0 || at+int64(n) <= t.v.size) {
			t.v.progress.receive(buf[:n])
		}
	}
	return n, err
}

// ended judges a body that ended without an error at position at.
func (t *transfer) ended(at int64) error {
	switch {
	case at == t.v.size:
		return nil
	case t.v.size >= 0:
		return &brokenError{io.ErrUnexpectedEOF}
	case at < t.have:
		return ErrChanged // shorter than before
	}
	return nil
}

// accept takes p, which is at position at of the content. Bytes that are in the file already must
// be equal; the rest is appended.
func (t *transfer) accept(p []byte, at int64) error {
	if n := min(t.have-at, int64(len(p))); n > 0 {
		if err := t.compare(p[:n], at); err != nil {
			return err
		}
		p = p[n:]
	}
	if len(p) == 0 {
		return nil
	}
	if t.v.size >= 0 && t.have+int64(len(p)) > t.v.size {
		return ErrLength
	}
	if err := t.append(p); err != nil {
		return &diskError{err}
	}
	return nil
}

// compare returns ErrChanged unless p is in the file at position at.
func (t *transfer) compare(p []byte, at int64) error {
	if t.known == nil {
		t.known = make([]byte, chunk)
	}
	known := t.known[:len(p)]
	if _, err := t.v.file.ReadAt(known, at); err != nil {
		return fmt.Errorf("read from the content cache: %w", err)
	}
	if !bytes.Equal(known, p) {
		return ErrChanged
	}
	return nil
}

// append writes p to the end of the file and shows it to the readers. On a full disk it makes
// room as long as there is something to evict.
func (t *transfer) append(p []byte) error {
	for rest, at := p, t.have; len(rest) > 0; {
		n, err := t.c.write(t.v.file, rest, at)
		rest, at = rest[n:], at+int64(n)
		if err == nil {
			continue
		}
		full := errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
		if !full || !t.c.Free(max(roomFor, int64(len(rest)))) {
			return err
		}
	}
	if t.sum != nil && checkable(t.have) {
		_, _ = t.sum.Write(p) // never fails
	}
	t.have += int64(len(p))
	t.c.mu.Lock()
	t.c.countLocked(t.v, int64(len(p)))
	t.c.unlock()
	t.v.progress.advance(t.have)
	return nil
}

// closeBody closes the body of an answer, which may be nil.
func closeBody(content *archive.Content) {
	if content != nil && content.Body != nil {
		_ = content.Body.Close() // the rest is not needed
	}
}
