package cache

import (
	"context"
	"io"
	"sync"
)

const (
	// partSize is the length of a part; the last one may be shorter.
	partSize = 1 << 20
	// farAhead is how far beyond the download a read must begin for its part to be fetched.
	// A program that reads in order is never that far ahead.
	farAhead = 4 << 20
	// maxParts is how many parts of a content are fetched at a time.
	maxParts = 2
)

// parts fetches parts of a content that readers want long before the download reaches them. They
// are written to the same file, where the download later writes the same bytes: all answers have
// the same strong ETag. Their bytes count in the cache once the download has reached them.
type parts struct {
	c     *Content
	fetch Fetch
	v     *version
	etag  string // the download may get another one
	// ctx ends with the download.
	ctx context.Context
	// slots holds a token for each part that is being fetched.
	slots chan struct{}

	mu sync.Mutex
	// all are the parts that were wanted, by their number.
	all map[int64]*part // +checklocks:mu
	// shown says that a part is in the file, where it can be read.
	shown bool // +checklocks:mu
	// closed says that no part is fetched or written any more.
	closed bool // +checklocks:mu
}

// part is in the file if done is closed and ok is set.
type part struct {
	done chan struct{}
	ok   bool
}

// newParts returns nil for a content that is small, or has no strong ETag.
func newParts(ctx context.Context, t *transfer) *parts {
	if t.v.size <= farAhead || !t.v.strong() {
		return nil
	}
	return &parts{
		c: t.c, fetch: t.fetch, v: t.v, etag: t.v.etag, ctx: ctx,
		slots: make(chan struct{}, maxParts), all: map[int64]*part{},
	}
}

// get waits for the parts with the bytes from off to end. False: wait for the download instead.
func (s *parts) get(ctx context.Context, off, end int64) bool {
	var wanted []*part
	for n := off / partSize; n*partSize < end; n++ {
		p := s.want(n)
		if p == nil {
			return false
		}
		wanted = append(wanted, p)
	}
	for _, p := range wanted {
		select {
		case <-p.done:
		case <-ctx.Done():
			return false
		}
		if !p.ok {
			return false
		}
	}
	return true
}

// want returns part n and fetches it unless that was done before; nil after close.
func (s *parts) want(n int64) *part {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	p := s.all[n]
	if p == nil {
		p = &part{done: make(chan struct{})}
		s.all[n] = p
		s.c.running.Go(func() { // the download still counts, too
			defer close(p.done)
			if p.ok = s.receive(n); !p.ok {
				s.close()
			}
		})
	}
	return p
}

// receive fetches part n into the file. It fails, for instance, when the service ignores Range or
// has another content.
func (s *parts) receive(n int64) bool {
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	case <-s.ctx.Done():
		return false
	}
	want := Want{Offset: n * partSize, Length: min(partSize, s.v.size-n*partSize), Match: s.etag}
	bytes, err := s.v.part(s.ctx, s.fetch, want)
	if err != nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	if _, err := s.v.file.WriteAt(bytes, want.Offset); err != nil {
		return false // on a full disk the download makes room
	}
	s.shown = true
	return true
}

// part requests a part of the content that has the strong ETag want.Match.
func (v *version) part(ctx context.Context, fetch Fetch, want Want) ([]byte, error) {
	answer, err := fetch(ctx, want)
	if err != nil {
		return nil, err
	}
	defer closeBody(answer)
	switch {
	case answer.ETag != want.Match, answer.Size >= 0 && answer.Size != v.size:
		return nil, ErrChanged
	case answer.Body == nil, answer.Offset != want.Offset:
		return nil, errAnswer
	}
	bytes := make([]byte, want.Length)
	if _, err := io.ReadFull(answer.Body, bytes); err != nil {
		return nil, &brokenError{err}
	}
	return bytes, nil
}

// close ends the fetching and reports whether a part can be read. s may be nil.
func (s *parts) close() (shown bool) {
	if s == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return s.shown
}
