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
	return t.append(p)
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

// append writes p behind what is there and shows it to the readers, the end only when all is
// verified. On a full disk it makes room as long as there is something to drop.
func (t *transfer) append(p []byte) error {
	summed := t.add(p)
	err := t.write(p)
	<-summed
	if err != nil {
		return fmt.Errorf("write to the content cache: %w", err)
	}
	t.have += int64(len(p))
	if t.have == t.v.size {
		if err := t.verify(); err != nil {
			return err
		}
	}
	t.c.mu.Lock()
	t.c.countLocked(t.v, int64(len(p)))
	t.c.unlock()
	t.v.progress.advance(t.have)
	return nil
}

// write writes p behind what is there.
func (t *transfer) write(p []byte) error {
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
	return nil
}

// shortest is from how many bytes on a SHA-256 is computed beside the write, which takes about as
// long: whoever reads waits for both.
const shortest = 16 << 10

// add adds p to the sum, and closes summed when that is done.
func (t *transfer) add(p []byte) (summed <-chan struct{}) {
	done := make(chan struct{})
	switch {
	case t.sum == nil || !checkable(t.have):
		close(done)
	case t.digest != "" && len(p) >= shortest:
		go func() {
			defer close(done)
			_, _ = t.sum.Write(p) // never fails
		}()
	default:
		_, _ = t.sum.Write(p)
		close(done)
	}
	return done
}

// closeBody closes the body of an answer, if it has one.
func closeBody(content *archive.Content) {
	if content.Body != nil {
		_ = content.Body.Close() // nothing more is wanted from it
	}
}
