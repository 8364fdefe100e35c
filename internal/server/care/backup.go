package care

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/archivefs/archivefs/internal/durable"
	"github.com/archivefs/archivefs/internal/server/blob"
	"github.com/archivefs/archivefs/internal/server/datalock"
	"github.com/archivefs/archivefs/internal/server/store"
)

// copyPrefix begins the name of a backup's database. The beginning of its SHA-256 follows.
const copyPrefix = "archive-"

// Copied are the figures of a backup or a restore.
type Copied struct {
	Manifest
	Added int64 `json:"added"` // contents that were missing before
}

// Backup copies an archive at one moment after the call into a directory, while services run. It
// does not copy contents of an earlier backup in the directory again, and that backup stays valid
// until the new one is complete. The format does not depend on the kind of archive.
//
// It first holds the contents (see hold), then copies the database, then the contents that the copy
// refers to: all of them existed when the copy was made, and are held.
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

// takeBackup creates and locks the directory of a backup. It refuses one with other files.
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

// copyDatabase makes a durable copy of the database at one moment.
func copyDatabase(ctx context.Context, from *store.Store, dir string, m *Manifest) error {
	temporary, err := durable.CreateTemp(dir)
	if err != nil {
		return err
	}
	name := temporary.Name() // SQLite takes an empty file for a new database
	err = errors.Join(temporary.Close(), from.CopyTo(ctx, name))
	if err == nil {
		m.Database.SHA256, err = sumOf(name, true)
	}
	if err != nil {
		return errors.Join(err, os.Remove(name))
	}
	m.Database.File = copyPrefix + m.Database.SHA256[:16] + ".db"
	return durable.Rename(name, filepath.Join(dir, m.Database.File))
}

// copyContents copies the contents that the copied database refers to.
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

// dropUnused removes contents that a database does not refer to. The caller makes sure that nobody
// else uses the directory.
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

const (
	manifestName = "manifest.json"
	// format is the version of a backup's layout.
	format = 1
)

// Manifest is written last, and marks a backup as complete. The directory of a backup also has the
// database, under the name in the manifest, and contents/XX/SHA256.
type Manifest struct {
	Format   int       `json:"format"`
	Made     time.Time `json:"made"` // the moment of the copy of the database
	Database struct {
		File   string `json:"file"`
		SHA256 string `json:"sha256"`
	} `json:"database"`
	Documents int64 `json:"documents"`
	Contents  int64 `json:"contents"`
	Bytes     int64 `json:"bytes"` // of the contents
	// Lacking are contents that were damaged or missing in the archive.
	Lacking []string `json:"lacking,omitempty"`
}

// ReadManifest reads the manifest of a backup.
func ReadManifest(dir string) (m Manifest, err error) {
	text, err := os.ReadFile(filepath.Join(dir, manifestName)) //nolint:gosec // the operator names the directory
	if errors.Is(err, fs.ErrNotExist) {
		return m, fmt.Errorf("there is no whole backup in %s: it has no %s", dir, manifestName)
	}
	if err != nil {
		return m, fmt.Errorf("read backup: %w", err)
	}
	if err := json.Unmarshal(text, &m); err != nil {
		return m, fmt.Errorf("the backup in %s is damaged: %s: %w", dir, manifestName, err)
	}
	if m.Format != format {
		return m, fmt.Errorf("the backup in %s has the format %d, this program knows %d: use a newer archivefs", dir, m.Format, format)
	}
	if m.Database.File != filepath.Base(m.Database.File) {
		return m, fmt.Errorf("the backup in %s is damaged: %s names a file elsewhere", dir, manifestName)
	}
	return m, nil
}

func (m Manifest) write(dir string) error {
	text, err := json.MarshalIndent(m, "", "  ")
	if err == nil {
		err = durable.WriteFile(filepath.Join(dir, manifestName), append(text, '\n'), 0o600)
	}
	if err != nil {
		return fmt.Errorf("complete backup: %w", err)
	}
	return nil
}

// sumOf returns the SHA-256 of a file, which it syncs if that is asked for.
func sumOf(path string, sync bool) (sum string, err error) {
	file, err := os.Open(path) //nolint:gosec // of an archive or a backup
	if err != nil {
		return "", err
	}
	hash := sha256.New()
	_, err = io.Copy(hash, file)
	if sync {
		err = errors.Join(err, file.Sync())
	}
	if err := errors.Join(err, file.Close()); err != nil {
		return "", err
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}
