package cache

import (
	"context"
	"errors"
	"fmt"
	"hash"
	"io"
	"sync"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/retry"
)

// chunk is how many bytes are taken from an answer at a time.
const chunk = 256 << 10

// buffers are what a transfer reads into: thousands of small documents need a few.
var buffers = sync.Pool{New: func() any { return new([chunk]byte) }}

// roomFor is how many bytes are made free at least when the disk is full.
const roomFor = 16 << 20

// maxTries is how often a broken transfer is tried again without a byte of progress. Where the
// service made fetch wait there is one try, and one after a time-out, until a chunk has come again.
const maxTries = 5

// pauseAfter is how long to wait after a transfer has broken so many times in a row.
func pauseAfter(tries int) time.Duration {
	return retry.Backoff{First: 100 * time.Millisecond, Longest: 5 * time.Second}.After(tries)
}

// errAnswer says that an answer is none to what was asked.
var errAnswer = errors.New("the service answered another part of the content than was asked for")

// brokenError is a transfer that ended early and may be resumed.
type brokenError struct{ cause error }

func (e *brokenError) Error() string { return e.cause.Error() }
func (e *brokenError) Unwrap() error { return e.cause }

// transfer takes the bytes of a content into a file. One goroutine uses it.
type transfer struct {
	c     *Content
	fetch Fetch
	v     *version
	// sum is of the bytes in the file, nil for a content that nobody checks (checkable).
	sum hash.Hash32
	// have is how many bytes are in the file.
	have int64
	// known is where bytes that come a second time are compared, made when needed.
	known []byte
}

// newTransfer makes the file that the answer content goes into. A *diskError says that the disk
// does not take it.
func (d *download) newTransfer(content *archive.Content) (*transfer, error) {
	c := d.c
	f, err := c.createTemp(d.key)
	v := &version{
		fileName: fileName{
			key: d.key, size: max(content.Size, archive.SizeUnknown), fetched: d.began, final: d.final, etag: content.ETag, tag: newTag(),
		},
		file: f, refs: 1, download: d,
	}
	if err == nil {
		v.temp = f.Name()
	}
	c.mu.Lock()
	c.serial++
	v.serial = c.serial
	c.unlock()
	t := &transfer{c: c, fetch: d.fetch, v: v}
	if checkable(v.size) { // as one of unknown size may be
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

// check is that of what is there, empty for a content that nobody checks.
func (t *transfer) check() check {
	if t.sum == nil || !checkable(t.have) {
		return ""
	}
	return crcOf(t.sum)
}

// run takes the body of content and resumes it when it breaks, until all is there.
func (t *transfer) run(ctx context.Context, content *archive.Content) error {
	tries, timedOut := 0, false
	for {
		before := t.have
		err := t.take(content)
		var broken *brokenError
		if err == nil || !errors.As(err, &broken) {
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
		if content, err = t.resume(ctx, &tries, broken); err != nil {
			return err
		}
	}
}

// resume asks for the rest, counting and spacing out the tries. Without a strong ETag the
// service cannot say whether the rest belongs to what is there (RFC 9110, section 13.1.5),
// so the content is asked for from its start and compared.
func (t *transfer) resume(ctx context.Context, tries *int, cause error) (*archive.Content, error) {
	want := Want{}
	if t.v.strong() {
		want = Want{Offset: t.have, Match: t.v.etag}
	}
	for ; *tries < maxTries; *tries++ {
		if err := t.c.pause(ctx, pauseAfter(*tries+1)); err != nil {
			return nil, err
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
		case archive.KindOf(err) == archive.KindTimeout, archive.KindOf(err) == archive.KindBusy:
			return nil, t.brokenOff(err) // fetch has waited for long
		}
		cause = err
	}
	return nil, t.brokenOff(cause)
}

func (t *transfer) brokenOff(cause error) error {
	return fmt.Errorf("broken off after %d bytes: %w", t.have, cause)
}

// admit checks that an answer goes on with what is there, and closes one that does not.
func (t *transfer) admit(content *archive.Content) error {
	var err error
	switch {
	case content.Body == nil || content.Offset < 0 || content.Offset > t.have:
		err = errAnswer
	case t.v.size >= 0 && content.Size >= 0 && content.Size != t.v.size:
		err = ErrChanged
	case content.Offset > 0 && content.ETag != t.v.etag:
		err = ErrChanged
	case content.ETag != t.v.etag && t.v.aside.close():
		err = ErrChanged // what was read far ahead is of the one before
	}
	if err != nil {
		closeBody(content)
		return err
	}
	if content.Offset == 0 { // all of it comes again, and is compared
		t.v.etag = content.ETag
	}
	return nil
}

// take reads the body of content to its end and closes it.
func (t *transfer) take(content *archive.Content) error {
	defer closeBody(content)
	buf := buffers.Get().(*[chunk]byte) // the pool holds nothing else
	defer func() {
		t.v.progress.receive(nil) // readers have no part of it any more
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

// fill reads from body, which is at the position at of the content, until buf is full or the
// body ends: one large write costs far less than several small ones. Readers need not wait
// for that, but for what comes a second time, or is too much.
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

// ended judges a body that ended regularly at the position at.
func (t *transfer) ended(at int64) error {
	switch {
	case at == t.v.size:
		return nil
	case t.v.size >= 0:
		return &brokenError{io.ErrUnexpectedEOF}
	case at < t.have:
		return ErrChanged // shorter than it was before it was begun again
	}
	return nil
}
