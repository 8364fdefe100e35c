package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/server/blob"
	"github.com/archivefs/archivefs/internal/server/store"
)

// vault joins contents with their uses: a content is durable before the transaction that refers to it, and removed when
// nothing refers to it any more. store.Uses keeps additions and removals apart, in this process and between several.
type vault struct {
	contents
	uses uses
	log  logrus.FieldLogger
}

// uses knows what contents are used, and keeps those apart who refer to a content and who remove it.
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
// removed when nothing refers to the content any more. With later, the file may be made later. Empty if contents are elsewhere.
func (s *Server) ContentFile(digest string, later bool) string {
	if files, ok := s.vault.contents.(*blob.Files); ok {
		return files.File(digest, later)
	}
	return ""
}

// brief is the most bytes of contents for which a transaction, and so all others, may wait.
const brief = 1 << 20

// keep publishes staged bytes and calls record, which commits references to them, and to the stored contents in beside,
// by one change that belongs to the scope that it gets. It may be called again. After any failure unused contents are
// removed. An error means that nothing was recorded, or that the outcome is unknown. A failure to remove something
// after a successful record is no error, so that the client does not repeat the change.
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

func (e *lostContent) Error() string { return e.err.Error() }
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
	e, _ := errors.AsType[*lostContent](err)
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

const (
	// young is the age below which an unused content is not removed: another instance may be about to use it.
	young = 24 * time.Hour
	// sweepEvery is how often an instance looks for unused contents.
	sweepEvery = 24 * time.Hour
	// leftEvery is how often it tries to remove unused contents that a backup held.
	leftEvery = 3 * time.Second
)

// claimer stores contents in a place that other archives might also use.
type claimer interface {
	contents
	Claim(ctx context.Context, id string) error
	Claimed(ctx context.Context, id string) error
}

// openShared opens an archive that other processes may serve at the same time.
func openShared(ctx context.Context, options Options) (*Server, error) {
	db, err := store.OpenPostgres(ctx, options.Database)
	if err != nil {
		return nil, err
	}
	contents, err := openSharedContents(ctx, options)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	s := newServer(options, db, contents)
	if err := join(ctx, db, contents); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	s.inBackground(ctx, (&sweeper{vault: s.vault, uses: db.Uses, log: s.log, tick: time.NewTicker(sweepEvery).C}).run)
	s.startIndexing(ctx, db.Index)
	s.startErasing(ctx)
	return s, nil
}

// openSharedContents opens what Options.Blobs names, or files in the data directory.
func openSharedContents(ctx context.Context, options Options) (claimer, error) {
	dir := filepath.Join(options.Data, "contents")
	if options.Blobs == "" {
		if err := withoutDatabase(options.Data); err != nil {
			return nil, fmt.Errorf("open data directory: %w", err)
		}
		files, err := blob.OpenSharedFiles(dir)
		if err != nil {
			return nil, fmt.Errorf("open data directory: %w", err)
		}
		return files, nil
	}
	address, err := blob.ParseAddress(options.Blobs)
	if err != nil {
		return nil, fmt.Errorf("open contents: %w", err)
	}
	return blob.OpenBucket(ctx, address, filepath.Join(dir, "incoming"))
}

// withoutDatabase refuses a directory that is an archive of its own: the sweeper would remove its
// contents, which the other database does not know.
func withoutDatabase(data string) error {
	file := databaseFile(data)
	if _, err := os.Lstat(file); err == nil {
		return fmt.Errorf("%s is the database of an archive whose contents are in the same directory: name another directory", file)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// join makes sure that database and contents belong together.
func join(ctx context.Context, db *store.Store, contents claimer) error {
	made, err := store.NewID()
	if err != nil {
		return err
	}
	id, err := db.Tenant(store.DefaultTenant).FirstSetting(ctx, store.SettingID, made)
	if err == nil {
		err = store.WantWhole(id) // a restore may have just begun
	}
	if err != nil {
		return err
	}
	// An archive with documents has a place of contents that it claimed earlier: it must be this one.
	used, err := db.Used(ctx)
	if err == nil && used {
		err = contents.Claimed(ctx, id)
	}
	if err == nil {
		err = contents.Claim(ctx, id)
	}
	if err != nil {
		return fmt.Errorf("open contents: %w", err)
	}
	return nil
}

// sweeper removes unused contents: at each tick those that killed instances left, and more often those
// that a backup held.
type sweeper struct {
	vault *vault
	uses  *store.Uses
	log   logrus.FieldLogger
	tick  <-chan time.Time
}

func (s *sweeper) run(ctx context.Context) {
	left := time.NewTicker(leftEvery)
	defer left.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-left.C:
			if err := s.uses.DropLeft(ctx, s.vault.Remove); err != nil && ctx.Err() == nil {
				s.log.WithError(err).Debug("contents that a backup held are not removed yet") // tried again later
			}
		case now := <-s.tick:
			s.sweepBefore(ctx, now.Add(-young))
		}
	}
}

func (s *sweeper) sweepBefore(ctx context.Context, before time.Time) {
	removed, err := s.vault.sweep(ctx, before)
	switch {
	case ctx.Err() != nil:
	case err != nil:
		s.log.WithError(err).Warn("not all unused contents were removed; the next attempt is tomorrow")
	case removed > 0:
		s.log.WithField("contents-removed", removed).Info("removed unused contents")
	}
}
