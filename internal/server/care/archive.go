// Package care is for the administrator of an archive: it verifies what the archive keeps,
// copies it, brings a copy back, and counts.
//
// All of it may be done while services use the archive. Verifying changes nothing, and what
// was removed rightly meanwhile is no finding. A backup is the archive as it was at one moment
// after it began: see Backup. What is interrupted is never taken for whole.
package care

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/archivefs/archivefs/internal/server/blob"
	"github.com/archivefs/archivefs/internal/server/datalock"
	"github.com/archivefs/archivefs/internal/server/store"
)

// The names in a data directory.
const (
	databaseName = "archive.db"
	contentsName = "contents"
)

// Contents are what an archive keeps bytes in.
type Contents interface {
	Open(ctx context.Context, digest string) (io.ReadSeekCloser, error)
	Remove(ctx context.Context, digest string) error
	// Walk calls each for every content that was published before that time, in ascending order.
	Walk(ctx context.Context, before time.Time, each func(digest string) error) error
}

// Archive is what is looked after.
type Archive struct {
	Store    *store.Store
	Contents Contents
}

// ViewData opens a data directory for reading. Services may use it meanwhile.
func ViewData(ctx context.Context, dir string) (*Archive, error) {
	if err := Exists(dir); err != nil {
		return nil, err
	}
	opened, err := store.View(ctx, filepath.Join(dir, databaseName))
	if err != nil {
		return nil, err
	}
	return &Archive{opened, blob.ViewFiles(filepath.Join(dir, contentsName))}, nil
}

// OpenData opens a data directory for changes. The caller sees to it that no other process
// uses it, and that it is one (see Exists).
func OpenData(ctx context.Context, dir string) (*Archive, error) {
	opened, err := store.Open(ctx, filepath.Join(dir, databaseName))
	if err != nil {
		return nil, err
	}
	return &Archive{opened, blob.ViewFiles(filepath.Join(dir, contentsName))}, nil
}

// Place says where an archive is.
type Place struct {
	Database string // the URL of a PostgreSQL database; empty for SQLite and files in Data
	Blobs    string // the address of a bucket; empty for files in Data
	Data     string // the data directory
}

// View opens an archive for reading. Services may use it meanwhile.
func View(ctx context.Context, place Place) (*Archive, error) {
	if place.Database == "" {
		return ViewData(ctx, place.Data)
	}
	opened, err := store.ViewPostgres(ctx, place.Database)
	if err != nil {
		return nil, err
	}
	if place.Blobs == "" {
		return &Archive{opened, blob.ViewFiles(filepath.Join(place.Data, contentsName))}, nil
	}
	bucket, err := openBucket(ctx, place.Blobs, os.TempDir()) // nothing is received there
	if err != nil {
		return nil, errors.Join(err, opened.Close())
	}
	return &Archive{opened, viewed{bucket}}, nil
}

func openBucket(ctx context.Context, blobs, scratch string) (*blob.Bucket, error) {
	address, err := blob.ParseAddress(blobs)
	if err != nil {
		return nil, err
	}
	return blob.OpenBucket(ctx, address, scratch)
}

// viewed is a bucket that nothing is swept in.
type viewed struct{ *blob.Bucket }

// Walk implements Contents.
func (v viewed) Walk(ctx context.Context, before time.Time, each func(digest string) error) error {
	return v.List(ctx, before, func(digest string, _ int64) error { return each(digest) })
}

// claimed makes sure that the contents are those of the archive: elsewhere all would be missing.
func (a *Archive) claimed(ctx context.Context) error {
	place, ok := a.Contents.(interface {
		Claimed(ctx context.Context, id string) error
	})
	if !ok {
		return nil
	}
	id, err := a.Store.Tenant(store.DefaultTenant).Setting(ctx, store.SettingID)
	if err != nil || id == "" {
		return nil // examining the database says what is wrong with it
	}
	if err := place.Claimed(ctx, id); err != nil {
		return fmt.Errorf("look at contents: %w", err)
	}
	return nil
}

// Exists is an error where dir is no data directory.
func Exists(dir string) error {
	if _, err := os.Stat(filepath.Join(dir, databaseName)); err != nil {
		if err := datalock.WantWhole(dir); err != nil {
			return err
		}
		return fmt.Errorf("there is no archive in %s: %w", dir, err)
	}
	return nil
}

// Close closes the database, and the connections to a bucket.
func (a *Archive) Close() error {
	err := a.Store.Close()
	if bucket, ok := a.Contents.(viewed); ok {
		err = errors.Join(err, bucket.Close())
	}
	return err
}

// hold keeps all contents readable that are there when it begins, whoever removes them.
type hold struct {
	open func(ctx context.Context, digest string) (io.ReadCloser, error)
	// lasts is an error unless nothing was removed until now.
	lasts   func() error
	release func() error
}

// hold begins to hold the contents of an archive. The context that it returns ends when that
// fails.
//
// Services with a PostgreSQL database may be on several machines, and their contents anywhere:
// there the database is what they have in common, also where the contents are files.
func (a *Archive) hold(ctx context.Context, place Place) (context.Context, *hold, error) {
	if place.Database == "" {
		files, err := blob.HoldFiles(filepath.Join(place.Data, contentsName))
		if err != nil {
			return nil, nil, err
		}
		return ctx, &hold{
			open:    func(ctx context.Context, digest string) (io.ReadCloser, error) { return files.Open(ctx, digest) },
			lasts:   func() error { return nil },
			release: files.Release,
		}, nil
	}
	if err := a.claimed(ctx); err != nil {
		return nil, nil, err
	}
	held, of, err := a.Store.Uses.HoldContents(ctx)
	if err != nil {
		return nil, nil, err
	}
	return held, &hold{
		open:    func(ctx context.Context, digest string) (io.ReadCloser, error) { return a.Contents.Open(ctx, digest) },
		lasts:   func() error { return of.Check(ctx) },
		release: func() error { of.Release(); return nil },
	}, nil
}

// why is the error of what was done with a context, or why that context ended by itself.
func why(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); err != nil && cause != nil && !errors.Is(cause, context.Canceled) {
		return cause
	}
	return err
}
