package cache

import (
	"context"
	"sync"
)

// progress says how much of a content is there, from its first byte on, and wakes those who
// wait for more. What came last may still be in memory, on its way to the file: it can be
// read all the same.
type progress struct {
	mu sync.Mutex
	// have is the number of bytes that may be read from the file.
	have int64 // +checklocks:mu
	// fresh are the bytes behind those.
	fresh []byte // +checklocks:mu
	// done says that no more bytes come.
	done bool // +checklocks:mu
	// err is why the bytes must not be used.
	err error // +checklocks:mu
	// wake is closed at the next change, nil while nobody waits.
	wake chan struct{} // +checklocks:mu
	// least is the smallest number of bytes that somebody waits for.
	least int64 // +checklocks:mu
}

// receive says that the bytes fresh come behind those in the file, where they are not yet.
// They stay as they are until advance, or until receive says that there are others or none.
func (p *progress) receive(fresh []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fresh = fresh
	if p.least <= p.reachedLocked() {
		p.wakeLocked()
	}
}

// advance says that the first have bytes are in the file, and none in memory any more.
func (p *progress) advance(have int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.have, p.fresh = have, nil
	if p.least <= have {
		p.wakeLocked()
	}
}

// finish says that no more bytes come, or with an error that none may be used.
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

// wait returns nil when the first want bytes are there or no more come, else the error of
// the file or of ctx.
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

// read waits for the bytes of dst, from position off on, and returns how many of them, from
// the first on, are to be read from the file. The others, still in memory, are in dst then.
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

// recent is read for bytes that are there; false: they are not any more, because what was in
// memory could not be kept.
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

// failure returns why no bytes may be used, nil while they may.
func (p *progress) failure() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}

// reached returns how many bytes are there.
func (p *progress) reached() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.reachedLocked()
}

// +checklocks:p.mu
func (p *progress) reachedLocked() int64 { return p.have + int64(len(p.fresh)) }

// complete reports whether all bytes are there, in the file.
func (p *progress) complete() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.done && p.err == nil
}
