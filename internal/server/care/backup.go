package care

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/archivefs/archivefs/internal/durable"
	"github.com/archivefs/archivefs/internal/server/blob"
	"github.com/archivefs/archivefs/internal/server/datalock"
	"github.com/archivefs/archivefs/internal/server/store"
)

// copyPrefix is what the name of a backup's database begins with. The rest is of its SHA-256.
const copyPrefix = "archive-"

// Copied are the numbers of a backup or a restore.
type Copied struct {
	Manifest
	Added int64 `json:"added"` // contents that were not there before
}

// Backup copies an archive into a directory, as it is at one moment after the call, while
// services go on. What was there of an earlier backup is not copied again; that one stays whole
// until this one is. Of whatever kind the archive is, the backup is the same.
//
// Contents are held first (see hold), then the database is copied, then the contents that the
// copy refers to: each was there when the copy was made, and is held since before.
//
// Contents that are damaged or missing in the archive are left out, and named in the manifest.
func Backup(ctx context.Context, from Place, dir string, seen *Progress) (done Copied, err error) {
	archive, err := View(ctx, from)
	if err != nil {
		return done, err
	}
	defer func() { err = errors.Join(err, archive.Close()) }()
	lock, err := takeBackup(dir)
	if err != nil {
		return done, err
	}
	defer func() { err = errors.Join(err, lock.Release(true)) }()
	held, hold, err := archive.hold(ctx, from)
	if err != nil {
		return done, err
	}
	done.Format, done.Made = format, time.Now().UTC().Truncate(time.Second)
	err = copyDatabase(held, archive.Store, dir, &done.Manifest)
	if err == nil {
		err = copyContents(held, archive, hold, dir, seen, &done)
	}
	if err == nil {
		err = hold.lasts()
	}
	if err := errors.Join(why(held, err), hold.release()); err != nil {
		return done, err
	}
	if err := done.write(dir); err != nil {
		return done, err
	}
	return done, prune(ctx, dir, done.Manifest)
}

// takeBackup makes and locks the directory of a backup. One that holds something else is refused.
func takeBackup(dir string) (*datalock.Lock, error) {
	if err := durable.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make directory of the backup: %w", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("read directory of the backup: %w", err)
	}
	for _, entry := range entries {
		switch name := entry.Name(); {
		case name == manifestName, name == contentsName, name == "lock", durable.IsTemp(name):
		case strings.HasPrefix(name, copyPrefix) && strings.HasSuffix(name, ".db"):
		default:
			return nil, fmt.Errorf("%s is not empty, and holds no backup; name an empty or new directory", dir)
		}
	}
	lock, err := datalock.TakeBackup(dir)
	if err != nil {
		return nil, err
	}
	if err := durable.Sweep(dir); err != nil { // of an interrupted backup
		return nil, errors.Join(err, lock.Release(true))
	}
	return lock, nil
}

// copyDatabase makes a durable copy of the database, as of one moment.
func copyDatabase(ctx context.Context, from *store.Store, dir string, m *Manifest) error {
	temporary, err := durable.CreateTemp(dir)
	if err != nil {
		return err
	}
	name := temporary.Name() // an empty file is taken for a new database
	err = errors.Join(temporary.Close(), from.CopyTo(ctx, name))
	if err == nil {
		m.Database.SHA256, err = hashFile(name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(name))
	}
	m.Database.File = copyPrefix + m.Database.SHA256[:16] + ".db"
	return durable.Rename(name, filepath.Join(dir, m.Database.File))
}

// copyContents copies what the copied database refers to.
func copyContents(ctx context.Context, from *Archive, hold *hold, dir string, seen *Progress, done *Copied) error {
	files, err := blob.OpenFiles(filepath.Join(dir, contentsName))
	if err != nil {
		return err
	}
	copied, err := store.View(ctx, filepath.Join(dir, done.Database.File))
	if err != nil {
		return err
	}
	c := copying{seen: seen, to: inFiles{files}, from: hold.open, abreast: from.abreast()}
	if err := errors.Join(c.all(ctx, copied), copied.Close()); err != nil {
		return fmt.Errorf("copy contents: %w", err)
	}
	done.Documents, done.Contents, done.Bytes, done.Lacking, done.Added = c.documents, c.contents, c.bytes, c.lacking, c.copied
	return nil
}

// prune removes what only earlier backups needed.
func prune(ctx context.Context, dir string, m Manifest) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("remove what an earlier backup needed: %w", err)
	}
	for _, entry := range entries {
		if name := entry.Name(); strings.HasPrefix(name, copyPrefix) && name != m.Database.File {
			if err := os.Remove(filepath.Join(dir, name)); err != nil {
				return fmt.Errorf("remove what an earlier backup needed: %w", err)
			}
		}
	}
	copied, err := store.View(ctx, filepath.Join(dir, m.Database.File))
	if err != nil {
		return err
	}
	return errors.Join(dropUnused(ctx, dir, copied), copied.Close())
}

// dropUnused removes the contents in a directory that a database does not refer to. The caller
// sees to it that nobody else uses the directory.
func dropUnused(ctx context.Context, dir string, s *store.Store) error {
	files, used := blob.ViewFiles(filepath.Join(dir, contentsName)), references{store: s}
	return files.Walk(ctx, time.Now().Add(time.Hour), func(digest string) error {
		has, err := used.has(ctx, digest)
		if err != nil || has {
			return err
		}
		return files.Remove(ctx, digest)
	})
}
