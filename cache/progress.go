package cache

import (
	"context"
	"sync"
)

// progress says how much of a file is there, from its first byte on, and wakes those who
// wait for more.
type progress struct {
	mu sync.Mutex
	// have is the number of bytes that may be read. Guarded by mu.
	have int64
	// done says that no more bytes come. Guarded by mu.
	done bool
	// err is why the bytes must not be used. Guarded by mu.
	err error
	// wake is closed at the next change, nil while nobody waits. Guarded by mu.
	wake chan struct{}
}

// advance says that the first have bytes are there.
func (p *progress) advance(have int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.have = have
	p.wakeLocked()
}

// finish says that no more bytes come, or with an error that none may be used.
func (p *progress) finish(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done, p.err = true, err
	p.wakeLocked()
}

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
		if p.err != nil || p.done || p.have >= want {
			err := p.err
			p.mu.Unlock()
			return err
		}
		if p.wake == nil {
			p.wake = make(chan struct{})
		}
		wake := p.wake
		p.mu.Unlock()
		select {
		case <-wake:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// reached returns how many bytes are there.
func (p *progress) reached() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.have
}

// complete reports whether all bytes are there.
func (p *progress) complete() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.done && p.err == nil
}
