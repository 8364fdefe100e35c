package blob

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/minio/minio-go/v7"
	"golang.org/x/sync/errgroup"

	"github.com/archivefs/archivefs/archive"
)

const (
	// partSize is from how many bytes on a content is sent in parts, and how large they are
	// unless there would be more of them than S3 takes.
	partSize = 16 << 20
	maxParts = 10_000
	// contentsAbreast is how many contents are sent at a time, partsAbreast how many parts of each.
	contentsAbreast = 8
	partsAbreast    = 4
	// abortTimeout is how long the removal of what failed may take.
	abortTimeout = 30 * time.Second
)

// Publish makes contents that were staged here durable under their digests. It returns once the
// bucket has them all, whole: it compares what arrives with the digest that goes along. A content
// that is kept already is replaced by its equal, so that it counts as young. After an error some
// may be kept and others not.
func (b *Bucket) Publish(ctx context.Context, contents ...Staged) error {
	files, err := b.own(contents)
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(contentsAbreast)
	for _, staged := range files {
		group.Go(func() error {
			if staged.size <= b.part {
				return b.put(ctx, staged)
			}
			return b.putParts(ctx, staged)
		})
	}
	if err := group.Wait(); err != nil {
		return fmt.Errorf("publish content: %w", err)
	}
	return nil
}

// put sends a content at once.
func (b *Bucket) put(ctx context.Context, s *stagedFile) error {
	return b.send(ctx, io.NewSectionReader(s, 0, s.size), func(body io.Reader) error {
		_, err := b.core.PutObject(ctx, b.address.Bucket, b.key(s.digest), body, s.size, "", s.digest, putOptions())
		return err
	})
}

// send has bytes sent, again where the service failed. Each attempt reads them on its own: the
// library would have them read from one place, where an attempt that was answered before all
// was sent may still be at work.
func (b *Bucket) send(ctx context.Context, bytes *io.SectionReader, request func(body io.Reader) error) error {
	pause := backoff.NewExponentialBackOff()
	pause.InitialInterval, pause.MaxInterval = minio.DefaultRetryUnit, minio.DefaultRetryCap
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		err := request(struct{ io.Reader }{io.NewSectionReader(bytes, 0, bytes.Size())})
		if err == nil {
			return struct{}{}, nil
		}
		if err = b.failed(err); archive.KindOf(err) != archive.KindUnreachable {
			err = backoff.Permanent(err)
		}
		return struct{}{}, err
	}, backoff.WithBackOff(pause), backoff.WithMaxTries(attempts))
	return err
}

// putOptions has the digest of the body signed with the request, whatever the connection.
func putOptions() minio.PutObjectOptions {
	return minio.PutObjectOptions{ContentType: "application/octet-stream", DisableContentSha256: true}
}

// putParts sends a content in parts, each compared with a digest of its own. What failed leaves
// nothing; what a crash leaves is dropped by Walk.
func (b *Bucket) putParts(ctx context.Context, s *stagedFile) error {
	id, err := b.core.NewMultipartUpload(ctx, b.address.Bucket, b.key(s.digest), putOptions())
	if err != nil {
		return b.failed(err)
	}
	parts, err := b.sendParts(ctx, s, id)
	if err == nil {
		_, err = b.core.CompleteMultipartUpload(ctx, b.address.Bucket, b.key(s.digest), id, parts, minio.PutObjectOptions{})
		err = b.failed(err)
	}
	if err != nil {
		return errors.Join(err, b.abort(ctx, b.key(s.digest), id))
	}
	made, err := b.core.StatObject(ctx, b.address.Bucket, b.key(s.digest), minio.StatObjectOptions{})
	if err == nil && made.Size != s.size {
		return fmt.Errorf("%s made %d bytes of %d", b.address, made.Size, s.size)
	}
	return b.failed(err)
}

// sendParts sends the parts of a content, some at a time.
func (b *Bucket) sendParts(ctx context.Context, s *stagedFile, id string) ([]minio.CompletePart, error) {
	size := max(b.part, (s.size+maxParts-1)/maxParts)
	parts := make([]minio.CompletePart, (s.size+size-1)/size)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(partsAbreast)
	for i := range parts {
		group.Go(func() error {
			begin := int64(i) * size
			part := io.NewSectionReader(s, begin, min(size, s.size-begin))
			sum := sha256.New()
			if _, err := io.Copy(sum, part); err != nil {
				return err
			}
			return b.send(ctx, part, func(body io.Reader) error {
				made, err := b.core.PutObjectPart(ctx, b.address.Bucket, b.key(s.digest), id, i+1, body, part.Size(),
					minio.PutObjectPartOptions{Sha256Hex: hex.EncodeToString(sum.Sum(nil)), DisableContentSha256: true})
				parts[i] = minio.CompletePart{PartNumber: i + 1, ETag: made.ETag}
				return err
			})
		})
	}
	return parts, group.Wait()
}

// abort drops the parts of a content that was not completed.
func (b *Bucket) abort(ctx context.Context, key, id string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), abortTimeout)
	defer cancel()
	err := b.core.AbortMultipartUpload(ctx, b.address.Bucket, key, id)
	if err != nil && minio.ToErrorResponse(err).Code != minio.NoSuchUpload {
		return fmt.Errorf("drop the parts of a content: %w", b.failed(err))
	}
	return nil
}
