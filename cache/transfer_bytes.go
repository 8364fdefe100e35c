package cache

import (
	"bytes"
	"errors"
	"fmt"
	"syscall"

	"github.com/archivefs/archivefs/archive"
)

// accept takes p, which is at position at of the content: what is there already must be
// the same, the rest is appended.
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

// append writes p behind what is there and shows it to the readers. On a full disk it
// makes room as long as there is something to drop.
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

// closeBody closes the body of an answer, if it has one.
func closeBody(content *archive.Content) {
	if content.Body != nil {
		_ = content.Body.Close() // nothing more is wanted from it
	}
}
