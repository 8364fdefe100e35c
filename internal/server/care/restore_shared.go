package care

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/archivefs/archivefs/internal/server/blob"
	"github.com/archivefs/archivefs/internal/server/store"
)

// toShared makes an archive that several services can use: contents first, then the database at
// once, so that there is never a row without its content. The database tells everybody else until
// then that it is not whole.
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
	opened, err := r.source(ctx, scratch)
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
		if errors.Is(err, blob.ErrForeign) { // else they may belong to the database by now
			err = errors.Join(err, target.Abandon(held))
		}
		return err
	}
	if err := r.contents(held, opened, contents); err != nil {
		return err
	}
	return target.Fill(held, opened, scratch.dir, r.seen.RowsLeft.Store)
}

// source opens the database of the backup for reading, where it lies. One of an older format is copied,
// and brought to the current one.
func (r restoring) source(ctx context.Context, scratch *scratch) (*store.Store, error) {
	path := filepath.Join(r.dir, r.done.Database.File)
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("read backup: %w", err)
	}
	sum, err := sumFile(path)
	if err == nil {
		err = r.wantSum(sum)
	}
	if err != nil {
		return nil, err
	}
	opened, err := store.View(ctx, path)
	if !errors.Is(err, store.ErrOlder) {
		return opened, err
	}
	if err := scratch.want(2 * info.Size()); err != nil { // all of it may be in the log of SQLite, too
		return nil, err
	}
	opened, _, err = r.database(ctx, scratch.dir)
	return opened, err
}

// measure finds out how much there is to do, and whether there is room for it.
func (r restoring) measure(ctx context.Context, opened *store.Store, scratch *scratch, to Place) error {
	extent, err := opened.Extent(ctx)
	if err != nil {
		return err
	}
	r.seen.RowsLeft.Store(extent.Rows)
	needed := extent.Room
	if to.Blobs != "" { // contents are on their way there before the texts are
		needed = max(needed, min(r.done.Bytes, togetherBytes+extent.Largest))
	}
	return scratch.want(needed)
}

// claim has the contents belong to the archive that is restored. Those of an interrupted attempt
// that went elsewhere must not, too, as half of them are lacking there: where this place is not
// claimed yet, the archive gets another id first.
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

// shared are the contents of an archive that several services can use.
type shared interface {
	destination
	// Claim has the contents belong to an archive, and Claimed reports whether they do.
	Claim(ctx context.Context, id string) error
	Claimed(ctx context.Context, id string) error
	close() error
}

// openShared opens the place of contents that are to be restored.
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
