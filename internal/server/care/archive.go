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

// Shared names an archive that several services use.
type Shared struct {
	Database string // the URL of a PostgreSQL database
	Blobs    string // the address of a bucket; empty for files in Data
	Data     string // the data directory
}

// ViewShared opens an archive of several services for reading.
func ViewShared(ctx context.Context, shared Shared) (*Archive, error) {
	opened, err := store.ViewPostgres(ctx, shared.Database)
	if err != nil {
		return nil, err
	}
	if shared.Blobs == "" {
		return &Archive{opened, blob.ViewFiles(filepath.Join(shared.Data, contentsName))}, nil
	}
	address, err := blob.ParseAddress(shared.Blobs)
	if err != nil {
		return nil, errors.Join(err, opened.Close())
	}
	bucket, err := blob.OpenBucket(ctx, address, os.TempDir()) // nothing is received there
	if err != nil {
		return nil, errors.Join(err, opened.Close())
	}
	return &Archive{opened, viewed{bucket}}, nil
}

// viewed is a bucket that nothing is swept in.
type viewed struct{ *blob.Bucket }

// Walk implements Contents.
func (v viewed) Walk(ctx context.Context, before time.Time, each func(digest string) error) error {
	return v.List(ctx, before, each)
}

// Exists is an error where dir is no data directory.
func Exists(dir string) error {
	if _, err := os.Stat(filepath.Join(dir, databaseName)); err != nil {
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
