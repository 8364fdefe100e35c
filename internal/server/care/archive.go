package care

import (
	"context"
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

// Exists is an error where dir is no data directory.
func Exists(dir string) error {
	if _, err := os.Stat(filepath.Join(dir, databaseName)); err != nil {
		return fmt.Errorf("there is no archive in %s: %w", dir, err)
	}
	return nil
}

// Close closes the database.
func (a *Archive) Close() error { return a.Store.Close() }
