package care

import (
	"context"
	"errors"
	"io"
	"iter"
	"time"

	"github.com/archivefs/archivefs/internal/server/blob"
)

// destination is what contents are copied to.
type destination interface {
	Stage(ctx context.Context, r io.Reader) (blob.Staged, error)
	Publish(ctx context.Context, contents ...blob.Staged) error
	// size is that of a content that is there, -1 of others. It is asked in ascending order.
	size(ctx context.Context, digest string) (int64, error)
}

// inFiles are contents in a directory.
type inFiles struct{ *blob.Files }

func (f inFiles) size(ctx context.Context, digest string) (int64, error) {
	there, err := length(ctx, f.Files, digest)
	if errors.Is(err, blob.ErrMissing) {
		return -1, nil
	}
	return there, err
}

func (f inFiles) close() error { return nil }

// inBucket are contents in a bucket, which are listed instead of asked for one by one.
type inBucket struct {
	*blob.Bucket
	next  func() (listed, error, bool)
	end   func()
	last  listed // that next returned
	ended bool
}

// listed is a content that is there.
type listed struct {
	digest string
	size   int64
}

// clocks is how far that of a service may be ahead.
const clocks = 365 * 24 * time.Hour

// errEnough ends a listing.
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
