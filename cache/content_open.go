package cache

import (
	"context"
	"fmt"
	"os"
	"time"
)

// Final is the maxAge of a content that does not change any more.
const Final time.Duration = -1

// Open returns a reader of the content of key: of the cached file, or following a download
// that it starts or joins; those who trust it share one. It returns as soon as the exact
// size is known: when the answer begins and announces its length, else when it is complete.
//
// A cached content fetched longer than maxAge ago is validated first, by its ETag where it
// has one. When it changed, the new content replaces it once it is complete, and readers of
// the old one keep the old bytes. In the same way a download that began longer than maxAge
// ago is not joined: another one begins, and the older goes on for its readers and is not
// kept. Final is the maxAge of a content that does not change any more: what was fetched or
// validated with it is trusted for ever, and what was fetched before is validated once.
//
// A download belongs to no single caller: when ctx ends Open returns ctx's error and the
// download serves the others. When the last reader closes, a download that has less than
// half of an announced length is cancelled and any other is completed. A broken one is
// resumed, or begun again where the service cannot tell that the content is still the same.
// The errors of fetch are returned wrapped and not remembered.
func (c *Content) Open(ctx context.Context, key Key, maxAge time.Duration, fetch Fetch) (*Reader, error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		v, d, err := c.find(ctx, key, maxAge, fetch)
		if err != nil {
			return nil, err
		}
		if v == nil {
			if v, err = c.await(ctx, d); err != nil {
				return nil, err
			}
		}
		if c.sound(v) {
			return &Reader{c: c, v: v, file: v.file}, nil
		}
	}
}

// find returns a held version of key, or a download to wait for, in which the caller is
// counted.
func (c *Content) find(ctx context.Context, key Key, maxAge time.Duration, fetch Fetch) (*version, *download, error) {
	c.mu.Lock()
	defer c.unlock()
	if c.closing.Err() != nil {
		return nil, nil, fmt.Errorf("content cache: %w", os.ErrClosed)
	}
	cached := c.versions[key]
	if cached != nil && c.trusted(cached.fetched, cached.final, maxAge) && c.holdLocked(cached) {
		c.stats.Hits++
		return cached, nil, nil
	}
	c.stats.Misses++
	d := c.downloads[key]
	if d == nil || !c.trusted(d.began, d.final, maxAge) {
		d = c.startLocked(ctx, key, maxAge == Final, fetch)
	}
	if d.version != nil {
		d.version.refs++ // open: the download has a reference of its own
		return d.version, nil, nil
	}
	d.waiting++
	return nil, d, nil
}

// trusted reports whether what was asked for, or last validated, at that time is trusted
// for maxAge. A time in the future says nothing.
func (c *Content) trusted(at time.Time, final bool, maxAge time.Duration) bool {
	if maxAge == Final {
		return final
	}
	age := c.now().Sub(at)
	return age >= 0 && age <= maxAge
}

// await waits until d knows its version and returns it, held.
func (c *Content) await(ctx context.Context, d *download) (*version, error) {
	select {
	case <-d.ready:
		if d.err != nil {
			return nil, d.err
		}
		return d.version, nil // settleLocked has counted this caller in
	case <-ctx.Done():
		c.mu.Lock()
		defer c.unlock()
		switch {
		case d.version != nil:
			c.releaseLocked(d.version)
		case d.err == nil:
			d.waiting--
			c.abandonLocked(d)
		}
		return nil, ctx.Err()
	}
}
