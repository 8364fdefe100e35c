package care

import (
	"context"
	"errors"
	"io"

	"github.com/archivefs/archivefs/internal/server/blob"
	"github.com/archivefs/archivefs/internal/server/store"
)

const (
	// together is how many contents are published at a time, with few waits for the disk.
	together = 64
	// togetherBytes is after how many bytes they are published, if they are not so many.
	togetherBytes = 64 << 20
)

// copying copies the contents that a database refers to.
type copying struct {
	from func(ctx context.Context, digest string) (io.ReadCloser, error)
	to   *blob.Files
	seen *Progress

	staged  []blob.Staged
	waiting int64 // bytes of staged

	copied, contents, documents, bytes int64
	lacking                            []string // contents that are missing or damaged where they come from
}

// all copies what is not there yet. It returns when it is on disk.
func (c *copying) all(ctx context.Context, s *store.Store) error {
	defer c.discard()
	references := references{store: s}
	for {
		r, err := references.next(ctx)
		if errors.Is(err, io.EOF) {
			return c.publish(ctx)
		}
		if err == nil {
			c.documents += r.Documents
			err = c.content(ctx, r)
		}
		if err == nil && (len(c.staged) >= together || c.waiting >= togetherBytes) {
			err = c.publish(ctx)
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
	}
}

// content stages a content, unless it is there already.
func (c *copying) content(ctx context.Context, r store.Reference) error {
	defer c.seen.Contents.Add(1)
	there, err := length(ctx, c.to, r.Digest)
	if err == nil && (r.Documents == 0 || there == r.Smallest) {
		c.count(there)
		return nil
	}
	if err != nil && !errors.Is(err, blob.ErrMissing) {
		return err
	}
	source, err := c.from(ctx, r.Digest)
	if errors.Is(err, blob.ErrMissing) {
		c.lacking = append(c.lacking, r.Digest)
		return nil
	}
	if err != nil {
		return err
	}
	staged, err := c.to.Stage(ctx, source)
	if err := errors.Join(err, source.Close()); err != nil {
		return err
	}
	if staged.Digest() != r.Digest {
		c.lacking = append(c.lacking, r.Digest)
		return staged.Discard()
	}
	c.staged, c.waiting = append(c.staged, staged), c.waiting+staged.Size()
	c.copied++
	c.count(staged.Size())
	return nil
}

func (c *copying) count(size int64) {
	c.contents++
	c.bytes += size
	c.seen.Bytes.Add(size)
}

// publish makes durable what was staged.
func (c *copying) publish(ctx context.Context) error {
	err := c.to.Publish(ctx, c.staged...)
	c.discard()
	return err
}

func (c *copying) discard() {
	for _, staged := range c.staged {
		_ = staged.Discard() // what is left of it is swept by the next run
	}
	c.staged, c.waiting = nil, 0
}
