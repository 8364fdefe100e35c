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

// Restore makes an archive of a backup, of whatever kind the backup was taken: in a data directory,
// which must be empty, or in a database that is. One to which a restore was interrupted goes
// on. Every content and the database are compared with their SHA-256 on the way. No service
// takes the archive until it is whole.
//
// Contents that the backup lacks are a *LackingError, and the archive stays as it is, not whole;
// partial restores it without them.
func Restore(ctx context.Context, dir string, to Place, partial bool, seen *Progress) (done Copied, err error) {
	if done.Manifest, err = ReadManifest(dir); err != nil {
		return done, err
	}
	r := restoring{dir: dir, partial: partial, seen: seen, done: &done}
	if to.Database == "" {
		err = r.toData(ctx, to.Data)
	} else {
		err = r.toShared(ctx, to)
	}
	return done, err
}

// restoring is a restore under way.
type restoring struct {
	dir     string // of the backup
	partial bool
	seen    *Progress
	done    *Copied
}

// toData makes a data directory.
func (r restoring) toData(ctx context.Context, data string) (err error) {
	lock, err := takeTarget(data)
	if err != nil {
		return err
	}
	whole := false
	defer func() { err = errors.Join(err, lock.Release(whole)) }()
	opened, database, err := r.database(ctx, data)
	if err != nil {
		return err
	}
	files, err := blob.OpenFiles(filepath.Join(data, contentsName))
	if err == nil {
		err = r.contents(ctx, opened, inFiles{files})
	}
	if err == nil { // an interrupted attempt may have been with another backup
		err = dropUnused(ctx, data, opened)
	}
	if err := errors.Join(err, opened.Close()); err != nil {
		return err
	}
	if _, err := hashFile(database); err != nil { // it was migrated, maybe
		return err
	}
	if err := durable.Rename(database, filepath.Join(data, databaseName)); err != nil {
		return err
	}
	whole = true
	return nil
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

// database copies the database to a temporary name, opens it, and brings it to the current
// format.
func (r restoring) database(ctx context.Context, in string) (opened *store.Store, path string, err error) {
	source, err := os.Open(filepath.Join(r.dir, r.done.Database.File))
	if err != nil {
		return nil, "", fmt.Errorf("read backup: %w", err)
	}
	defer func() { _ = source.Close() }()
	target, err := durable.CreateTemp(in)
	if err != nil {
		return nil, "", err
	}
	_, err = io.Copy(target, source)
	if err := errors.Join(err, target.Close()); err != nil {
		return nil, "", fmt.Errorf("copy database: %w", err)
	}
	sum, err := hashFile(target.Name())
	if err == nil {
		err = r.wantSum(sum)
	}
	if err != nil {
		return nil, "", err
	}
	opened, err = store.Open(ctx, target.Name())
	return opened, target.Name(), err
}

// wantSum is an error unless that is the SHA-256 of the backup's database.
func (r restoring) wantSum(sum string) error {
	if want := r.done.Database; sum != want.SHA256 {
		return fmt.Errorf("the backup in %s is damaged: %s has another SHA-256 than %s says", r.dir, want.File, manifestName)
	}
	return nil
}

// contents copies what the database refers to.
func (r restoring) contents(ctx context.Context, opened *store.Store, to destination) error {
	backup := blob.ViewFiles(filepath.Join(r.dir, contentsName))
	c := copying{seen: r.seen, to: to, abreast: 1, from: func(ctx context.Context, digest string) (io.ReadCloser, error) { return backup.Open(ctx, digest) }}
	if err := c.all(ctx, opened); err != nil {
		return fmt.Errorf("copy contents: %w", err)
	}
	done := r.done
	if c.documents != done.Documents || c.contents+int64(len(c.lacking)) != done.Contents+int64(len(done.Lacking)) {
		return fmt.Errorf("the backup in %s is damaged: its database has %d documents and %d contents, and %s says %d and %d",
			r.dir, c.documents, c.contents, manifestName, done.Documents, done.Contents)
	}
	done.Contents, done.Bytes, done.Lacking, done.Added = c.contents, c.bytes, c.lacking, c.copied
	if len(done.Lacking) > 0 && !r.partial {
		return &LackingError{done.Lacking}
	}
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
