package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/archivefs/archivefs/internal/server/blob"
	"github.com/archivefs/archivefs/internal/server/store"
)

// vault joins contents with their uses: a content is durable before the transaction that
// refers to it, and removed when nothing refers to it any more. What keeps the two apart, in
// this process and between several, is the database's: see store.Keep and store.Drop.
type vault struct {
	contents
	uses uses
	log  logrus.FieldLogger
}

// ContentFile names the file that holds a content, for who reads it on this machine: it never
// changes, and goes when nothing refers to the content any more. Empty where contents lie
// elsewhere.
func (s *Server) ContentFile(digest string) string {
	if files, ok := s.vault.contents.(*blob.Files); ok {
		return files.File(digest)
	}
	return ""
}

// keep publishes what was staged and calls record, which commits what refers to it, and to the
// contents beside it that are kept already. What record does must be done with the context that
// it is given; it may be called again. Whatever fails, contents without a use are removed again. The
// error says that nothing was recorded, or that nobody knows: what was recorded stays, also when
// something could not be removed after it, and must not be sent again.
func (v *vault) keep(ctx context.Context, staged []blob.Staged, record func(ctx context.Context) error, beside ...string) error {
	digests := slices.Clone(beside)
	for _, s := range staged {
		digests = append(digests, s.Digest())
	}
	err := v.uses.Keep(ctx, store.Keeping{
		Digests: digests,
		Publish: func(ctx context.Context) error {
			if err := v.Publish(ctx, staged...); err != nil {
				return fmt.Errorf("keep content: %w", err)
			}
			return nil
		},
		Kept:   v.Has,
		Record: record,
	})
	for _, digest := range digests {
		v.forget(ctx, digest)
	}
	return err
}

// Open opens a content. That one is missing is the error of a lost content.
func (v *vault) Open(ctx context.Context, digest string) (io.ReadSeekCloser, error) {
	return v.OpenPart(ctx, digest, blob.Whole)
}

// OpenPart is Open for who reads a part.
func (v *vault) OpenPart(ctx context.Context, digest string, part blob.Part) (io.ReadSeekCloser, error) {
	content, err := v.contents.OpenPart(ctx, digest, part)
	if errors.Is(err, blob.ErrMissing) {
		err = &lostContent{digest: digest, err: err}
	}
	return content, err
}

// forget drops a content that a change has left.
func (v *vault) forget(ctx context.Context, digest string) { v.leftover(v.drop(ctx, digest)) }

// leftover logs that a file without a use could not be removed. What was asked is done
// all the same, so that it is not the client's concern.
func (v *vault) leftover(err error) {
	if err != nil {
		v.log.WithError(err).Warn("a file without a use stays in the data directory")
	}
}

// drop removes a content and its renditions unless something refers to it.
func (v *vault) drop(ctx context.Context, digest string) error {
	return v.uses.Drop(ctx, digest, v.Remove)
}

// sweep removes the contents that were published before that time and nothing refers to. Others
// may be at work meanwhile.
func (v *vault) sweep(ctx context.Context, before time.Time) (removed int, err error) {
	err = v.Walk(ctx, before, func(digest string) error {
		return v.uses.Drop(ctx, digest, func(ctx context.Context, digest string) error {
			removed++
			return v.Remove(ctx, digest)
		})
	})
	return removed, err
}
