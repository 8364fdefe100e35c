package care

import (
	"context"
	"errors"
	"io"
	"iter"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/archivefs/archivefs/internal/server/blob"
	"github.com/archivefs/archivefs/internal/server/store"
)

const (
	// together is how many contents are published at a time, with few syncs.
	together = 64
	// togetherBytes is from how many bytes on fewer contents are published.
	togetherBytes = 64 << 20
	// inBucketAbreast is how many contents are copied at a time from or to a bucket, to hide its latency.
	inBucketAbreast = 8
)

// copying copies the contents that a database refers to.
type copying struct {
	from    func(ctx context.Context, digest string) (io.ReadCloser, error)
	to      destination
	abreast int // how many are copied concurrently
	seen    *Progress

	queue   []store.Reference // to be copied
	waiting int64             // their bytes, according to the documents

	copied, contents, documents, bytes int64
	lacking                            []string // contents that are missing or damaged in the source
}

// all copies missing contents. They are durable when it returns.
func (c *copying) all(ctx context.Context, s *store.Store) error {
	references := references{store: s}
	for {
		r, err := references.next(ctx)
		if errors.Is(err, io.EOF) {
			return c.flush(ctx)
		}
		if err == nil {
			c.documents += r.Documents
			err = c.content(ctx, r)
		}
		if err == nil && (len(c.queue) >= together || c.waiting >= togetherBytes) {
			err = c.flush(ctx)
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
	}
}

// content queues a content to be copied, unless it exists.
func (c *copying) content(ctx context.Context, r store.Reference) error {
	size, err := c.to.size(ctx, r.Digest)
	if err != nil {
		return err
	}
	if size >= 0 && (r.Documents == 0 || size == r.Smallest) {
		c.count(size)
		c.seen.Contents.Add(1)
		c.seen.Bytes.Add(size)
		return nil
	}
	c.queue, c.waiting = append(c.queue, r), c.waiting+max(r.Smallest, 0)
	return nil
}

func (c *copying) count(size int64) {
	c.contents++
	c.bytes += size
}

// flush copies the queued contents, and makes them durable.
func (c *copying) flush(ctx context.Context) error {
	staged := make([]blob.Staged, len(c.queue)) // nil if missing or damaged
	defer func() {
		for _, s := range staged {
			if s != nil {
				_ = s.Discard() // the next run sweeps leftovers
			}
		}
	}()
	group, within := errgroup.WithContext(ctx)
	group.SetLimit(c.abreast)
	for i, r := range c.queue {
		group.Go(func() (err error) {
			staged[i], err = c.stage(within, r.Digest)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	whole := make([]blob.Staged, 0, len(staged))
	for i, s := range staged {
		if s == nil {
			c.lacking = append(c.lacking, c.queue[i].Digest)
			continue
		}
		whole = append(whole, s)
		c.count(s.Size())
		c.copied++
	}
	c.queue, c.waiting = c.queue[:0], 0
	return c.to.Publish(ctx, whole...)
}

// stage receives a content; nil if it is missing or damaged.
func (c *copying) stage(ctx context.Context, digest string) (blob.Staged, error) {
	defer c.seen.Contents.Add(1)
	source, err := c.from(ctx, digest)
	if errors.Is(err, blob.ErrMissing) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	staged, err := c.to.Stage(ctx, source)
	closed := source.Close()
	switch {
	case errors.Is(err, blob.ErrDamaged):
		return nil, nil
	case err != nil:
		return nil, errors.Join(err, closed)
	case closed != nil || staged.Digest() != digest:
		return nil, errors.Join(closed, staged.Discard())
	}
	c.seen.Bytes.Add(staged.Size())
	return staged, nil
}

// abreast is how many contents of an archive are copied at a time.
func (a *Archive) abreast() int {
	if _, ok := a.Contents.(viewed); ok {
		return inBucketAbreast
	}
	return 1 // a disk
}

// destination is where contents are copied to.
type destination interface {
	Stage(ctx context.Context, r io.Reader) (blob.Staged, error)
	Publish(ctx context.Context, contents ...blob.Staged) error
	// size is the size of an existing content, -1 of others. It is called in ascending order.
	size(ctx context.Context, digest string) (int64, error)
}

// inFiles are contents in a directory.
type inFiles struct{ *blob.Files }

func (f inFiles) size(ctx context.Context, digest string) (int64, error) {
	size, err := length(ctx, f.Files, digest)
	if errors.Is(err, blob.ErrMissing) {
		return -1, nil
	}
	return size, err
}

func (f inFiles) close() error { return nil }

// inBucket are contents in a bucket, found by one listing instead of single requests.
type inBucket struct {
	*blob.Bucket
	next  func() (listed, error, bool)
	end   func()
	last  listed // the last one of next
	ended bool
}

// listed is an existing content.
type listed struct {
	digest string
	size   int64
}

// clocks is how far the clock of an S3 service may be ahead.
const clocks = 365 * 24 * time.Hour

// errEnough ends a listing early.
var errEnough = errors.New("enough was listed")

func newInBucket(ctx context.Context, bucket *blob.Bucket) *inBucket {
	b := &inBucket{Bucket: bucket}
	b.next, b.end = iter.Pull2(func(yield func(listed, error) bool) {
		err := bucket.List(ctx, time.Now().Add(clocks), func(digest string, size int64) error {
			if !yield(listed{digest, size}, nil) {
				return errEnough
			}
			return nil
		})
		if err != nil && !errors.Is(err, errEnough) {
			yield(listed{}, err)
		}
	})
	return b
}

func (b *inBucket) size(_ context.Context, digest string) (int64, error) {
	for !b.ended && b.last.digest < digest {
		found, err, ok := b.next()
		if err != nil {
			return -1, err
		}
		b.last, b.ended = found, !ok
	}
	if b.ended || b.last.digest != digest {
		return -1, nil
	}
	return b.last.size, nil
}

func (b *inBucket) close() error {
	b.end()
	return b.Close()
}
