package care

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/dustin/go-humanize"
	"golang.org/x/sys/unix"

	"github.com/archivefs/archivefs/internal/durable"
	"github.com/archivefs/archivefs/internal/server/blob"
	"github.com/archivefs/archivefs/internal/server/datalock"
	"github.com/archivefs/archivefs/internal/server/store"
)

// LackingError says that contents of a backup are missing or damaged.
type LackingError struct{ Digests []string }

// Error implements error.
func (e *LackingError) Error() string {
	return fmt.Sprintf("%d contents are missing or damaged in the backup, the first is %s", len(e.Digests), e.Digests[0])
}

// Restore restores a backup into a data directory or a database, which must be empty. It continues
// an interrupted restore. Every content and the database are compared with their SHA-256. No service
// accepts the archive before it is complete.
//
// If contents of the backup are missing the error is a *LackingError, and the archive stays
// incomplete; partial restores it without them.
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
	if err == nil { // an interrupted attempt may have used another backup
		err = dropUnused(ctx, data, opened)
	}
	if err == nil {
		err = opened.SkipIDs(ctx, skippedIDs)
	}
	if err := errors.Join(err, opened.Close()); err != nil {
		return err
	}
	if _, err := sumOf(database, true); err != nil { // ids were skipped
		return err
	}
	if err := durable.Rename(database, filepath.Join(data, databaseName)); err != nil {
		return err
	}
	whole = true
	return nil
}

// skippedIDs are how many ids a restored archive does not assign: what came after the backup had some of
// them, and mounts may know contents by them.
const skippedIDs = 1_000_000

// takeTarget creates and locks the target directory, and marks it as incomplete.
func takeTarget(data string) (*datalock.Lock, error) {
	if err := durable.MkdirAll(data, 0o700); err != nil {
		return nil, fmt.Errorf("make data directory: %w", err)
	}
	entries, err := os.ReadDir(data)
	if err != nil {
		return nil, fmt.Errorf("read data directory: %w", err)
	}
	notEmpty := fmt.Errorf("%s is not empty; name an empty or new directory with --data", data)
	others := slices.ContainsFunc(entries, func(e os.DirEntry) bool { return e.Name() != "lock" })
	if _, err := os.Lstat(filepath.Join(data, "lock")); err != nil && len(entries) > 0 {
		return nil, notEmpty
	}
	lock, err := datalock.TakeAny(data)
	if err != nil {
		return nil, err
	}
	if others && !lock.Restoring {
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

// database copies the database to a temporary name, and opens it.
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
	sum, err := sumOf(target.Name(), true)
	if err == nil {
		err = r.wantSum(sum)
	}
	if err != nil {
		return nil, "", err
	}
	opened, err = store.Open(ctx, target.Name())
	return opened, target.Name(), err
}

// wantSum returns an error unless sum is the SHA-256 of the backup's database.
func (r restoring) wantSum(sum string) error {
	if want := r.done.Database; sum != want.SHA256 {
		return fmt.Errorf("the backup in %s is damaged: %s has another SHA-256 than %s says", r.dir, want.File, manifestName)
	}
	return nil
}

// contents copies the contents that the database refers to.
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

// ViewBackup opens a backup for reading, like an archive.
func ViewBackup(ctx context.Context, dir string) (*Archive, error) {
	m, err := ReadManifest(dir)
	if err != nil {
		return nil, err
	}
	opened, err := store.View(ctx, filepath.Join(dir, m.Database.File))
	return withFiles(opened, dir, err)
}

// toShared makes an archive for several services: contents first, then the database in one transaction, so that no row
// lacks its content. Until then the database says that it is incomplete.
func (r restoring) toShared(ctx context.Context, to Place) (err error) {
	scratch, err := newScratch()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, scratch.close()) }()
	contents, err := openShared(ctx, to, scratch.dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, contents.close()) }()
	opened, err := r.source(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, opened.Close()) }()
	if err := r.measure(ctx, opened, scratch, to); err != nil {
		return err
	}
	held, target, err := store.RestorePostgres(ctx, to.Database)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(why(held, err), target.Close()) }()
	if err := claim(held, contents, target); err != nil {
		err = fmt.Errorf("look at contents: %w", err)
		if errors.Is(err, blob.ErrForeign) { // otherwise they may belong to the database already
			err = errors.Join(err, target.Abandon(held))
		}
		return err
	}
	if err := r.contents(held, opened, contents); err != nil {
		return err
	}
	target.Skip = skippedIDs
	return target.Fill(held, opened, r.seen.RowsLeft.Store)
}

// source opens the database of the backup for reading, in place.
func (r restoring) source(ctx context.Context) (*store.Store, error) {
	path := filepath.Join(r.dir, r.done.Database.File)
	sum, err := sumOf(path, false)
	if err == nil {
		err = r.wantSum(sum)
	}
	if err != nil {
		return nil, err
	}
	return store.View(ctx, path)
}

// measure determines how much there is to do, and whether there is room for it.
func (r restoring) measure(ctx context.Context, opened *store.Store, scratch *scratch, to Place) error {
	extent, err := opened.Extent(ctx)
	if err != nil {
		return err
	}
	r.seen.RowsLeft.Store(extent.Rows)
	if to.Blobs == "" {
		return nil
	}
	return scratch.want(min(r.done.Bytes, togetherBytes+extent.Largest)) // contents pass through the directory
}

// claim assigns the contents to the restored archive. If this place is not claimed yet, the archive first gets a new
// id: an interrupted attempt may have left incomplete contents at another place under the current one.
func claim(ctx context.Context, contents shared, target *store.Restoring) error {
	err := contents.Claimed(ctx, target.ID)
	if errors.Is(err, blob.ErrUnclaimed) {
		err = target.Rename(ctx)
	}
	if err != nil {
		return err
	}
	return contents.Claim(ctx, target.ID)
}

// shared are the contents of an archive for several services.
type shared interface {
	destination
	// Claim has the contents belong to an archive, and Claimed reports whether they do.
	Claim(ctx context.Context, id string) error
	Claimed(ctx context.Context, id string) error
	close() error
}

// openShared opens the target of restored contents.
func openShared(ctx context.Context, to Place, scratch string) (shared, error) {
	if to.Blobs != "" {
		bucket, err := openBucket(ctx, to.Blobs, scratch)
		if err != nil {
			return nil, err
		}
		return newInBucket(ctx, bucket), nil
	}
	if Exists(to.Data) == nil {
		return nil, fmt.Errorf("there is an archive in %s already; name another directory with --data, or a bucket with --blobs", to.Data)
	}
	files, err := blob.OpenSharedFiles(filepath.Join(to.Data, contentsName))
	if err != nil {
		return nil, err
	}
	return inFiles{files}, nil
}

// scratchPrefix begins the names of a restore's temporary directories.
const scratchPrefix = "archivefs-restore-"

// scratch is a temporary directory. It is locked while it is used, so that other
// restores can tell it from one that a killed restore left.
type scratch struct {
	dir  string
	lock *os.File // nil if directories cannot be locked
}

// newScratch makes a scratch directory, and removes abandoned ones.
func newScratch() (*scratch, error) {
	sweepScratch(os.TempDir())
	for {
		dir, err := os.MkdirTemp("", scratchPrefix)
		if err != nil {
			return nil, fmt.Errorf("make directory for the restore: %w", err)
		}
		switch lock, err := durable.LockDir(dir); {
		case err == nil:
			return &scratch{dir, lock}, nil
		case !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, fs.ErrNotExist):
			return &scratch{dir, nil}, nil // nobody can lock it, so nobody sweeps it
		}
		// Another restore removed it before it was locked.
	}
}

// sweepScratch removes what killed restores of this user left. It ignores errors.
func sweepScratch(in string) {
	entries, _ := os.ReadDir(in)
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil || !strings.HasPrefix(entry.Name(), scratchPrefix) || !info.IsDir() {
			continue
		}
		if owner, ok := info.Sys().(*syscall.Stat_t); !ok || int(owner.Uid) != os.Geteuid() {
			continue
		}
		dir := filepath.Join(in, entry.Name())
		if lock, err := durable.LockDir(dir); err == nil {
			_ = os.RemoveAll(dir)
			_ = lock.Close()
		}
	}
}

// want returns an error unless there is room for so many bytes.
func (s *scratch) want(bytes int64) error {
	var disk unix.Statfs_t
	if err := unix.Statfs(s.dir, &disk); err != nil {
		return fmt.Errorf("look for room for temporary files: %w", err)
	}
	free, needed := disk.Bavail*uint64(disk.Bsize), uint64(max(bytes, 0)) //nolint:gosec // a block size is positive
	if free >= needed {
		return nil
	}
	return fmt.Errorf("there is room for %s of temporary files in %s, and up to %s are needed; make room, or name another directory in TMPDIR",
		humanize.IBytes(free), os.TempDir(), humanize.IBytes(needed))
}

func (s *scratch) close() error {
	err := os.RemoveAll(s.dir)
	if s.lock != nil {
		err = errors.Join(err, s.lock.Close())
	}
	return err
}
