package care

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/archivefs/archivefs/internal/durable"
	"github.com/archivefs/archivefs/internal/server/blob"
	"github.com/archivefs/archivefs/internal/server/datalock"
	"github.com/archivefs/archivefs/internal/server/store"
)

// LackingError says that a backup lacks contents, or has damaged ones.
type LackingError struct{ Digests []string }

// Error implements error.
func (e *LackingError) Error() string {
	return fmt.Sprintf("%d contents are missing or damaged in the backup, the first is %s", len(e.Digests), e.Digests[0])
}

// Restore makes a data directory of a backup, which must be empty, or one in which a restore
// was interrupted: that one goes on. Every content and the database are compared with their
// SHA-256 on the way. No service takes the directory until it is whole.
//
// Contents that the backup lacks are a *LackingError, and the directory stays as it is, not
// whole; partial restores the archive without them.
func Restore(ctx context.Context, dir, data string, partial bool, seen *Progress) (done Copied, err error) {
	if done.Manifest, err = ReadManifest(dir); err != nil {
		return done, err
	}
	lock, err := takeTarget(data)
	if err != nil {
		return done, err
	}
	whole := false
	defer func() { err = errors.Join(err, lock.Release(whole)) }()
	database, err := restoreDatabase(dir, data, done.Manifest)
	if err != nil {
		return done, err
	}
	if err := restoreContents(ctx, dir, data, database, seen, &done); err != nil {
		return done, err
	}
	if len(done.Lacking) > 0 && !partial {
		return done, &LackingError{done.Lacking}
	}
	if _, err := hashFile(database); err != nil { // it was migrated, maybe
		return done, err
	}
	if err := durable.Rename(database, filepath.Join(data, databaseName)); err != nil {
		return done, err
	}
	whole = true
	return done, nil
}

// takeTarget makes and locks the directory that is restored to, and marks it as not whole.
func takeTarget(data string) (*datalock.Lock, error) {
	if err := durable.MkdirAll(data, 0o700); err != nil {
		return nil, fmt.Errorf("make data directory: %w", err)
	}
	entries, err := os.ReadDir(data)
	if err != nil {
		return nil, fmt.Errorf("read data directory: %w", err)
	}
	notEmpty := fmt.Errorf("%s is not empty; name an empty or new directory with --data", data)
	only := func(name string) bool {
		return !slices.ContainsFunc(entries, func(e os.DirEntry) bool { return e.Name() != name })
	}
	if _, err := os.Lstat(filepath.Join(data, "lock")); err != nil && len(entries) > 0 {
		return nil, notEmpty
	}
	lock, err := datalock.TakeAny(data)
	if err != nil {
		return nil, err
	}
	if !only("lock") && !lock.Restoring {
		return nil, errors.Join(notEmpty, lock.Release(!lock.Interrupted))
	}
	err = lock.BeginRestore()
	if err == nil {
		err = durable.SyncDir(data)
	}
	if err == nil {
		err = durable.Sweep(data)
	}
	if err != nil {
		return nil, errors.Join(err, lock.Release(false))
	}
	return lock, nil
}

// restoreDatabase copies the database to a temporary name, and returns that.
func restoreDatabase(dir, data string, m Manifest) (path string, err error) {
	source, err := os.Open(filepath.Join(dir, m.Database.File)) //nolint:gosec // of the backup
	if err != nil {
		return "", fmt.Errorf("read backup: %w", err)
	}
	defer func() { _ = source.Close() }()
	target, err := durable.CreateTemp(data)
	if err != nil {
		return "", err
	}
	_, err = io.Copy(target, source)
	if err := errors.Join(err, target.Close()); err != nil {
		return "", fmt.Errorf("copy database: %w", err)
	}
	sum, err := hashFile(target.Name())
	if err == nil && sum != m.Database.SHA256 {
		err = fmt.Errorf("the backup in %s is damaged: %s has another SHA-256 than %s says", dir, m.Database.File, manifestName)
	}
	return target.Name(), err
}

// restoreContents copies what the database refers to. It brings the database to the current
// format.
func restoreContents(ctx context.Context, dir, data, database string, seen *Progress, done *Copied) error {
	files, err := blob.OpenFiles(filepath.Join(data, contentsName))
	if err != nil {
		return err
	}
	opened, err := store.Open(ctx, database)
	if err != nil {
		return err
	}
	backup := blob.ViewFiles(filepath.Join(dir, contentsName))
	c := copying{seen: seen, to: files, from: func(ctx context.Context, digest string) (io.ReadCloser, error) { return backup.Open(ctx, digest) }}
	if err := errors.Join(c.all(ctx, opened), opened.Close()); err != nil {
		return fmt.Errorf("copy contents: %w", err)
	}
	if c.documents != done.Documents || c.contents+int64(len(c.lacking)) != done.Contents+int64(len(done.Lacking)) {
		return fmt.Errorf("the backup in %s is damaged: its database has %d documents and %d contents, and %s says %d and %d",
			dir, c.documents, c.contents, manifestName, done.Documents, done.Contents)
	}
	done.Contents, done.Bytes, done.Lacking, done.Added = c.contents, c.bytes, c.lacking, c.copied
	return nil
}

// ViewBackup opens a backup for reading, as an archive.
func ViewBackup(ctx context.Context, dir string) (*Archive, error) {
	m, err := ReadManifest(dir)
	if err != nil {
		return nil, err
	}
	opened, err := store.View(ctx, filepath.Join(dir, m.Database.File))
	if err != nil {
		return nil, err
	}
	return &Archive{opened, blob.ViewFiles(filepath.Join(dir, contentsName))}, nil
}
