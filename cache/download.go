package cache

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/archivefs/archivefs/archive"
)

// download receives one content into a file, or learns that the cached one is unchanged. Fields
// that are not marked as guarded belong to its goroutine.
type download struct {
	c      *Content
	key    Key
	fetch  Fetch
	cancel context.CancelFunc
	// began is just before the request: the answer is no older. It never changes.
	began time.Time
	// print is the fingerprint of the document then, or 0. It never changes.
	print archive.Fingerprint
	// old is the version to validate, held, or nil.
	old *version

	// ready is closed when version or err is set. Both are guarded by Content.mu, and never
	// change once ready is closed.
	ready   chan struct{}
	version *version
	err     error
	// waiting counts the callers that wait for ready. Guarded by Content.mu.
	waiting int
}

// startLocked starts the download of key, which validates a cached version.
// +checklocks:c.mu
func (c *Content) startLocked(ctx context.Context, key Key, print archive.Fingerprint, fetch Fetch) *download {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	d := &download{c: c, key: key, fetch: fetch, cancel: cancel, began: c.now(), print: print, ready: make(chan struct{})}
	if old := c.versions[key]; old != nil && c.holdLocked(old) {
		d.old = old
	}
	c.downloads[key] = d
	c.stats.Downloads++
	stop := context.AfterFunc(c.closing, cancel) //nolint:contextcheck // of the cache's life, not the caller's
	c.running.Go(func() {
		defer cancel()
		defer stop()
		d.run(ctx)
	})
	return d
}

func (d *download) run(ctx context.Context) {
	want := Want{}
	if d.old != nil {
		if d.c.sound(d.old) {
			want.NoneMatch = d.old.etag
		} else {
			d.old = nil
		}
	}
	content, err := d.fetch(ctx, want)
	switch {
	case err != nil:
		d.fail(err)
	case content.NotModified && want.NoneMatch != "":
		d.renew()
	case content.Body == nil || content.Offset != 0:
		closeBody(content)
		d.fail(errAnswer)
	case d.receiveLocal(content.ETag, content.Size):
		closeBody(content)
	default:
		d.receive(ctx, content)
	}
}

// receive writes the body of content to a file, and publishes that.
func (d *download) receive(ctx context.Context, content *archive.Content) {
	t, err := d.newTransfer(content)
	if err == nil {
		if t.v.size >= 0 {
			t.v.parts = newParts(ctx, t)
			d.settle(t.v)
		}
		err = t.run(ctx, content)
		t.v.parts.close()
		content = nil
	}
	if full := new(diskError); errors.As(err, &full) {
		err = d.serveRanges(ctx, t, content, full)
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", d.key, err)
		t.v.progress.finish(err)
		d.abort(t.v, err)
		return
	}
	if t.v.size < 0 {
		t.v.size = t.have
		t.v.progress.finish(nil)
		d.settle(t.v)
	} else {
		t.v.progress.finish(nil)
	}
	d.publish(t)
}

// settle gives v, and a reference to it, to the callers that wait.
func (d *download) settle(v *version) {
	d.c.mu.Lock()
	defer d.c.unlock()
	d.settleLocked(v)
}

// +checklocks:d.c.mu
func (d *download) settleLocked(v *version) {
	d.version = v
	v.refs += d.waiting
	d.waiting = 0
	close(d.ready)
}

// leaveLocked takes d out of the downloads that Open joins. False: d was replaced or its key
// removed meanwhile, so its result is not kept.
// +checklocks:c.mu
func (c *Content) leaveLocked(d *download) bool {
	if c.downloads[d.key] != d {
		return false
	}
	delete(c.downloads, d.key)
	return true
}

// fail ends a download that has no version.
func (d *download) fail(err error) {
	d.c.mu.Lock()
	defer d.c.unlock()
	d.failLocked(fmt.Errorf("%s: %w", d.key, err))
}

// +checklocks:d.c.mu
func (d *download) failLocked(err error) {
	d.c.leaveLocked(d)
	d.err = err
	close(d.ready)
	d.releaseOldLocked()
}

// +checklocks:d.c.mu
func (d *download) releaseOldLocked() {
	if d.old != nil {
		d.c.releaseLocked(d.old)
		d.old = nil
	}
}

// abort ends a download that failed while it filled v.
func (d *download) abort(v *version, err error) {
	c := d.c
	c.mu.Lock()
	defer c.unlock()
	c.trash.paths = append(c.trash.paths, v.temp)
	v.download = nil
	if d.version == nil {
		d.failLocked(err)
	} else {
		c.leaveLocked(d)
		d.releaseOldLocked()
	}
	c.releaseLocked(v)
}

// renew ends a download whose answer was 304 Not Modified.
func (d *download) renew() {
	c := d.c
	c.mu.Lock()
	defer c.unlock()
	c.stats.Renewed++
	if old := d.old; c.leaveLocked(d) && old.element != nil {
		old.describeLocked(c, func(n *fileName) { n.fetched, n.print = d.began, d.print })
	}
	d.settleLocked(d.old)
	d.releaseOldLocked()
}

// publish keeps the complete version of t, unless d was replaced or its key removed meanwhile. A
// version larger than the limit stays a temporary file, unless it is kept.
func (d *download) publish(t *transfer) {
	c, v := d.c, t.v
	v.check = t.check()
	c.mu.Lock()
	v.kept = v.keep
	c.unlock()
	target := v.path(c.dir)
	keep := v.size <= c.limit || v.kept
	var err error
	if keep {
		err = v.publish(target)
	}
	c.mu.Lock()
	defer c.unlock()
	v.download = nil
	current := c.leaveLocked(d)
	switch {
	case err != nil:
		c.warnLocked(err)
		c.trash.paths = append(c.trash.paths, v.temp, target)
	case keep && !current:
		c.trash.paths = append(c.trash.paths, target)
	case !current:
		c.trash.paths = append(c.trash.paths, v.temp)
	default:
		if keep {
			v.temp = ""
		}
		c.indexLocked(v)
		c.touchLocked(v)
	}
	d.releaseOldLocked()
	c.releaseLocked(v)
}

// abandonLocked cancels d when it has no reader and less than half of an announced length is there.
// +checklocks:c.mu
func (c *Content) abandonLocked(d *download) {
	readers := d.waiting
	if v := d.version; v != nil {
		readers += v.refs - 1 // the download's own
		if v.ranges.Load() == nil && 2*v.progress.reached() >= v.size {
			return
		}
	}
	if readers > 0 {
		return
	}
	c.leaveLocked(d)
	d.cancel()
}
