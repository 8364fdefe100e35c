package cache

import (
	"context"
	"io"
	"sync"
)

// Parts of a content that readers want long before the download comes to them.
const (
	// partSize is how many bytes such a part has; the last one may have fewer.
	partSize = 1 << 20
	// farAhead is how far behind what is there a read must begin that a part is asked for:
	// what is nearer comes soon, and a program that reads in order is never so far ahead.
	farAhead = 4 << 20
	// maxParts is how many parts of a content are asked for at a time.
	maxParts = 2
)

// aside fetches parts of a content while the download of the whole goes on. They go into
// the same file, where the download writes the same bytes when it comes to them: the answers
// have the same strong ETag. Their bytes count in the cache when the download has come to
// them.
type aside struct {
	c     *Content
	fetch Fetch
	file  io.WriterAt
	etag  string
	size  int64
	// ctx ends with the download.
	ctx context.Context
	// free holds a token for each part that is being fetched.
	free chan struct{}

	mu sync.Mutex
	// parts are those that were asked for, by their number.
	parts map[int64]*part // +checklocks:mu
	// shown says that a part can be read.
	shown bool // +checklocks:mu
	// closed says that no part is asked for any more, or taken.
	closed bool // +checklocks:mu
}

// part is one of them. It is there once done is closed and there is set.
type part struct {
	done  chan struct{}
	there bool
}

// newAside returns nil where no parts can be had, or are not needed.
func newAside(ctx context.Context, t *transfer) *aside {
	if t.v.size <= farAhead || !t.v.strong() {
		return nil
	}
	return &aside{
		c: t.c, fetch: t.fetch, file: t.v.file, etag: t.v.etag, size: t.v.size, ctx: ctx,
		free: make(chan struct{}, maxParts), parts: map[int64]*part{},
	}
}

// get returns true when the bytes from off to end are in the file. false means that they are
// to be waited for.
func (a *aside) get(ctx context.Context, off, end int64) bool {
	var wanted []*part
	for n := off / partSize; n*partSize < end; n++ {
		p := a.ask(n)
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
		if !p.there {
			return false
		}
	}
	return true
}

// ask returns the part of that number, which it fetches when nobody did; nil: none any more.
func (a *aside) ask(n int64) *part {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return nil
	}
	p := a.parts[n]
	if p == nil {
		p = &part{done: make(chan struct{})}
		a.parts[n] = p
		a.c.running.Go(func() { // the download runs still
			defer close(p.done)
			p.there = a.receive(n)
		})
	}
	return p
}

// receive fetches the part of that number into the file. When that fails, as where the
// service has no parts or another content, no more are asked for.
func (a *aside) receive(n int64) (there bool) {
	defer func() {
		if !there {
			a.close()
		}
	}()
	select {
	case a.free <- struct{}{}:
		defer func() { <-a.free }()
	case <-a.ctx.Done():
		return false
	}
	want := Want{Offset: n * partSize, Length: min(partSize, a.size-n*partSize), Match: a.etag}
	content, err := a.fetch(a.ctx, want)
	if err != nil {
		return false
	}
	defer closeBody(content)
	if content.Body == nil || content.Offset != want.Offset || content.ETag != a.etag || content.Size != a.size {
		return false
	}
	bytes := make([]byte, want.Length)
	if _, err := io.ReadFull(content.Body, bytes); err != nil {
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return false
	}
	if _, err := a.file.WriteAt(bytes, want.Offset); err != nil {
		return false // as on a full disk, where the download makes room
	}
	a.shown = true
	return true
}

// close ends the asking for parts and reports whether some can be read. Afterwards no more
// come to be. A nil aside has none.
func (a *aside) close() (shown bool) {
	if a == nil {
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.closed = true
	return a.shown
}
