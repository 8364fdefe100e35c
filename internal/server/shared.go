package server

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/archivefs/archivefs/internal/server/blob"
	"github.com/archivefs/archivefs/internal/server/store"
)

const (
	// young is the age below which an unused content is not removed: another instance may be about to
	// use it.
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
			s.dropLeft(ctx)
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

// dropLeft removes unused contents that a backup held. It retries failures later.
func (s *sweeper) dropLeft(ctx context.Context) {
	if err := s.uses.DropLeft(ctx, s.vault.Remove); err != nil && ctx.Err() == nil {
		s.log.WithError(err).Debug("contents that a backup held are not removed yet")
	}
}
