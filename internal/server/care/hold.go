package care

import (
	"context"
	"errors"
	"io"
	"path/filepath"

	"github.com/archivefs/archivefs/internal/server/blob"
)

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
