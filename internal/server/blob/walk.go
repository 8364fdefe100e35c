package blob

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/minio/minio-go/v7"
)

// listed is how many objects a bucket is asked for at a time.
const listed = 1000

// Walk calls each for every content that was published before that time. Each may remove it.
func (f *Files) Walk(ctx context.Context, before time.Time, each func(digest string) error) error {
	err := filepath.WalkDir(f.dir, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (path == filepath.Join(f.dir, incoming) || path == f.held()):
			return fs.SkipDir
		case !entry.Type().IsRegular() || !valid(entry.Name()):
			return ctx.Err()
		}
		info, err := entry.Info()
		if errors.Is(err, os.ErrNotExist) { // removed meanwhile
			return nil
		}
		if err != nil || info.ModTime().After(before) {
			return err
		}
		return each(entry.Name())
	})
	if err != nil {
		return fmt.Errorf("list contents: %w", err)
	}
	return nil
}

// Walk calls each for every content that was published before that time. Each may remove it.
// It drops the parts of contents, too, that nobody completed since then.
func (b *Bucket) Walk(ctx context.Context, before time.Time, each func(digest string) error) error {
	if err := b.List(ctx, before, func(digest string, _ int64) error { return each(digest) }); err != nil {
		return err
	}
	return b.dropParts(ctx, before)
}

// List is Walk for who shall change nothing, and tells sizes.
func (b *Bucket) List(ctx context.Context, before time.Time, each func(digest string, size int64) error) error {
	listing := minio.ListObjectsOptions{Prefix: b.address.Prefix, Recursive: true, MaxKeys: listed}
	for object := range b.core.ListObjectsIter(ctx, b.address.Bucket, listing) {
		if object.Err != nil {
			return fmt.Errorf("list contents: %w", b.failed(object.Err))
		}
		digest := object.Key[len(b.address.Prefix):]
		if !valid(digest) || object.LastModified.After(before) {
			continue
		}
		if err := each(digest, object.Size); err != nil {
			return err
		}
	}
	return nil
}

// dropParts drops what a crash left of contents that were sent in parts.
func (b *Bucket) dropParts(ctx context.Context, before time.Time) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // ends the listing
	for upload := range b.core.ListIncompleteUploads(ctx, b.address.Bucket, b.address.Prefix, true) {
		if upload.Err != nil {
			return fmt.Errorf("list contents: %w", b.failed(upload.Err))
		}
		if upload.Initiated.After(before) {
			continue
		}
		if err := b.abort(ctx, upload.Key, upload.UploadID); err != nil {
			return err
		}
	}
	return nil
}
