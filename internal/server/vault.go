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

// vault joins contents with their uses: a content is durable before the transaction that
// refers to it, and removed when nothing refers to it any more. What keeps the two apart, in
// this process and between several, is the database's: see store.Uses.
type vault struct {
	contents
	uses uses
	log  logrus.FieldLogger
}

// contents keeps bytes by their SHA-256. Publish may be called again for what was staged and
// not discarded: another process may have removed a content that nothing referred to yet.
type contents interface {
	Stage(ctx context.Context, r io.Reader) (blob.Staged, error)
	Publish(ctx context.Context, staged ...blob.Staged) error
	// OpenPart opens a content of which a part is read.
	OpenPart(ctx context.Context, digest string, part blob.Part) (io.ReadSeekCloser, error)
	Remove(ctx context.Context, digest string) error
	// Has reports whether all of the contents are kept.
	Has(ctx context.Context, digests ...string) (bool, error)
	// Walk calls each for every content that was published before that time. Each may remove it.
	Walk(ctx context.Context, before time.Time, each func(digest string) error) error
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

// forget removes a content that a change has left, and its renditions, unless something refers to it.
func (v *vault) forget(ctx context.Context, digest string) {
	v.leftover(v.uses.Drop(ctx, digest, v.Remove))
}

// leftover logs that a file without a use could not be removed. What was asked is done
// all the same, so that it is not the client's concern.
func (v *vault) leftover(err error) {
	if err != nil {
		v.log.WithError(err).Warn("a file without a use stays in the data directory")
	}
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

// lostContent is the error of a content that something refers to, and that is not there or not
// whole.
type lostContent struct {
	document archive.ID // 0 when none is known
	digest   string
	err      error
}

// Error implements error.
func (e *lostContent) Error() string { return e.err.Error() }

// Unwrap returns what is the matter.
func (e *lostContent) Unwrap() error { return e.err }

// told is what everybody may know.
func (e *lostContent) told() string {
	whose := "a document"
	if e.document != 0 {
		whose = fmt.Sprintf("document %d", e.document)
	}
	return "the content of " + whose + " is missing or damaged; archivefs admin verify shows which contents are, and a backup may have them"
}

// lost returns the error in err's chain that says that a content is lost, nil without one.
func lost(err error) *lostContent {
	var e *lostContent
	_ = errors.As(err, &e)
	return e
}

// note writes it down for who can bring the content back.
func (e *lostContent) note(log logrus.FieldLogger) {
	if e.document != 0 {
		log = log.WithField("document", int64(e.document))
	}
	log.WithField("content", e.digest).
		Error("the content of a document is missing or damaged; archivefs admin verify shows which contents are")
}
