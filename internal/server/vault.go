package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/server/blob"
	"github.com/archivefs/archivefs/internal/server/store"
)

// vault joins contents with their uses: a content is durable before the transaction that refers to
// it, and removed when nothing refers to it any more. store.Uses keeps additions and removals apart,
// in this process and between several.
type vault struct {
	contents
	uses uses
	log  logrus.FieldLogger
}

// uses knows what contents are used, and keeps those apart who refer to a content and who
// remove it.
type uses interface {
	Keep(ctx context.Context, k store.Keeping) error
	Drop(ctx context.Context, digest string, remove func(ctx context.Context, digest string) error) error
}

// contents stores bytes by their SHA-256. Publish may be called again for staged bytes that were
// not discarded: another process may have removed an unused content.
type contents interface {
	Stage(ctx context.Context, r io.Reader) (blob.Staged, error)
	Publish(ctx context.Context, staged ...blob.Staged) error
	// OpenPart opens a content for reading a part of it.
	OpenPart(ctx context.Context, digest string, part blob.Part) (io.ReadSeekCloser, error)
	Remove(ctx context.Context, digest string) error
	// Has reports whether all of the contents are stored.
	Has(ctx context.Context, digests ...string) (bool, error)
	// Check returns why contents cannot be reached now, nil if they can.
	Check(ctx context.Context) error
	// Walk calls each for every content published before that time. each may remove it.
	Walk(ctx context.Context, before time.Time, each func(digest string) error) error
}

// ContentFile returns the file of a content, for readers on this machine: it never changes, and is
// removed when nothing refers to the content any more. Empty if contents are elsewhere.
func (s *Server) ContentFile(digest string) string {
	if files, ok := s.vault.contents.(*blob.Files); ok {
		return files.File(digest)
	}
	return ""
}

// brief is the most bytes of contents for which a transaction, and so all others, may wait.
const brief = 1 << 20

// keep publishes staged bytes and calls record, which commits references to them, and to the stored
// contents in beside, by one change that belongs to the scope that it gets. It may be called again. After any
// failure unused contents are removed. An error means that nothing was recorded, or that the outcome is
// unknown. A failure to remove something after a successful record is no error, so that the client
// does not repeat the change.
func (v *vault) keep(ctx context.Context, staged []blob.Staged, record func(in store.Scope) error, beside ...string) error {
	digests := slices.Clone(beside)
	size := int64(0)
	for _, s := range staged {
		digests, size = append(digests, s.Digest()), size+s.Size()
	}
	err := v.uses.Keep(ctx, store.Keeping{
		Digests: digests,
		Brief:   len(staged) > 0 && size <= brief,
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

// Open opens a content. A missing one is the error of a lost content.
func (v *vault) Open(ctx context.Context, digest string) (io.ReadSeekCloser, error) {
	return v.OpenPart(ctx, digest, blob.Whole)
}

// OpenPart is Open for reading a part.
func (v *vault) OpenPart(ctx context.Context, digest string, part blob.Part) (io.ReadSeekCloser, error) {
	content, err := v.contents.OpenPart(ctx, digest, part)
	if errors.Is(err, blob.ErrMissing) {
		err = &lostContent{digest: digest, err: err}
	}
	return content, err
}

// forget removes a content and its renditions unless something refers to it.
func (v *vault) forget(ctx context.Context, digest string) {
	v.leftover(v.uses.Drop(ctx, digest, v.Remove))
}

// leftover logs that an unused file could not be removed. The operation has still succeeded.
func (v *vault) leftover(err error) {
	if err != nil {
		v.log.WithError(err).Warn("an unused file could not be removed")
	}
}

// sweep removes contents that were published before that time and that nothing refers to. Other
// processes may work meanwhile.
func (v *vault) sweep(ctx context.Context, before time.Time) (removed int, err error) {
	err = v.Walk(ctx, before, func(digest string) error {
		return v.uses.Drop(ctx, digest, func(ctx context.Context, digest string) error {
			removed++
			return v.Remove(ctx, digest)
		})
	})
	return removed, err
}

// lostContent is the error of a content that something refers to, but that is missing or damaged.
type lostContent struct {
	document archive.ID // 0 if none is known
	digest   string
	err      error
}

// Error implements error.
func (e *lostContent) Error() string { return e.err.Error() }

// Unwrap returns the cause.
func (e *lostContent) Unwrap() error { return e.err }

// public is the public part of the message.
func (e *lostContent) public() string {
	whose := "a document"
	if e.document != 0 {
		whose = fmt.Sprintf("document %d", e.document)
	}
	return "the content of " + whose + " is missing or damaged; archivefs admin verify shows which contents are, and a backup may have them"
}

// lost returns the *lostContent in err's chain, nil if there is none.
func lost(err error) *lostContent {
	var e *lostContent
	_ = errors.As(err, &e)
	return e
}

// note logs the error for the operator.
func (e *lostContent) note(log logrus.FieldLogger) {
	if e.document != 0 {
		log = log.WithField("document", int64(e.document))
	}
	log.WithField("content", e.digest).
		Error("the content of a document is missing or damaged; archivefs admin verify shows which contents are")
}
