// Package care is for the administrator of an archive: it verifies, backs up and restores.
//
// Services may use the archive at the same time. Verifying changes nothing, and does not report
// what services remove meanwhile. A backup is the archive at one moment after its start: see
// Backup. An interrupted operation is never taken for a complete one.
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

// Contents is the storage of contents.
type Contents interface {
	Open(ctx context.Context, digest string) (io.ReadSeekCloser, error)
	Remove(ctx context.Context, digest string) error
	// Walk calls each for every content published before that time, in ascending order.
	Walk(ctx context.Context, before time.Time, each func(digest string) error) error
}

// Archive is an archive to work on.
type Archive struct {
	Store    *store.Store
	Contents Contents
}

// ViewData opens a data directory for reading. Services may use it.
func ViewData(ctx context.Context, dir string) (*Archive, error) {
	if err := Exists(dir); err != nil {
		return nil, err
	}
	opened, err := store.View(ctx, filepath.Join(dir, databaseName))
	return withFiles(opened, dir, err)
}

// withFiles is an archive whose contents are in a directory, unless its database could not be opened.
func withFiles(opened *store.Store, dir string, err error) (*Archive, error) {
	if err != nil {
		return nil, err
	}
	return &Archive{opened, blob.ViewFiles(filepath.Join(dir, contentsName))}, nil
}

// OpenData opens a data directory for changes. The caller makes sure that it is one (see Exists),
// and that no other process uses it.
func OpenData(ctx context.Context, dir string) (*Archive, error) {
	opened, err := store.Open(ctx, filepath.Join(dir, databaseName))
	return withFiles(opened, dir, err)
}

// Place is the location of an archive.
type Place struct {
	Database string // the URL of a PostgreSQL database; empty for SQLite and files in Data
	Blobs    string // the address of a bucket; empty for files in Data
	Data     string // the data directory
}

// View opens an archive for reading. Services may use it.
func View(ctx context.Context, place Place) (*Archive, error) {
	if place.Database == "" {
		return ViewData(ctx, place.Data)
	}
	opened, err := store.ViewPostgres(ctx, place.Database)
	if err != nil || place.Blobs == "" {
		return withFiles(opened, place.Data, err)
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

// viewed is a bucket that is not swept.
type viewed struct{ *blob.Bucket }

func (v viewed) Walk(ctx context.Context, before time.Time, each func(digest string) error) error {
	return v.List(ctx, before, func(digest string, _ int64) error { return each(digest) })
}

// claimed checks that the contents belong to the archive: in others all would be missing.
func (a *Archive) claimed(ctx context.Context) error {
	place, ok := a.Contents.(interface {
		Claimed(ctx context.Context, id string) error
	})
	if !ok {
		return nil
	}
	id, err := a.Store.Tenant(store.DefaultTenant).Setting(ctx, store.SettingID)
	if err != nil || id == "" {
		return nil // the check of the database reports the error
	}
	if err := place.Claimed(ctx, id); err != nil {
		return fmt.Errorf("look at contents: %w", err)
	}
	return nil
}

// Exists returns an error unless dir is a data directory.
func Exists(dir string) error {
	if _, err := os.Stat(filepath.Join(dir, databaseName)); err != nil {
		if err := datalock.WantWhole(dir); err != nil {
			return err
		}
		return fmt.Errorf("there is no archive in %s: %w", dir, err)
	}
	return nil
}

// Close closes the database, and the contents.
func (a *Archive) Close() error {
	err := a.Store.Close()
	if contents, ok := a.Contents.(io.Closer); ok {
		err = errors.Join(err, contents.Close())
	}
	return err
}

// hold keeps all contents readable that exist when it begins, even if they are removed.
type hold struct {
	open func(ctx context.Context, digest string) (io.ReadCloser, error)
	// lasts returns an error if the hold was interrupted.
	lasts   func() error
	release func() error
}

// hold starts to hold the contents of an archive. The returned context ends when the hold fails.
//
// Services with a PostgreSQL database may run on several machines. There the hold is in the database,
// which all of them share, even if the contents are files.
func (a *Archive) hold(ctx context.Context, place Place) (context.Context, *hold, error) {
	if place.Database == "" {
		files, err := blob.HoldFiles(filepath.Join(place.Data, contentsName))
		if err != nil {
			return nil, nil, err
		}
		return ctx, &hold{open: files.Open, lasts: func() error { return nil }, release: files.Release}, nil
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

// why returns the error of an operation, or the reason why its context ended.
func why(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); err != nil && cause != nil && !errors.Is(cause, context.Canceled) {
		return cause
	}
	return err
}
