package blob

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/archivefs/archivefs/internal/durable"
)

const (
	incoming = "incoming" // directory of staged contents
	digits   = 64         // length of a SHA-256 in hexadecimal
)

// Files keeps contents below one directory, in 256 sub-directories by the first two
// digits of the digest.
type Files struct {
	dir    string
	chunks sync.Pool // of *[chunk]byte
}

// OpenFiles makes dir (0700) when it is not there and removes what an interrupted
// upload left staged. The caller sees to it that no other process uses dir.
func OpenFiles(dir string) (*Files, error) {
	staged := filepath.Join(dir, incoming)
	if err := os.RemoveAll(staged); err != nil {
		return nil, fmt.Errorf("sweep staged contents: %w", err)
	}
	if err := durable.MkdirAll(staged, 0o700); err != nil {
		return nil, fmt.Errorf("make content directory: %w", err)
	}
	return &Files{dir: dir, chunks: sync.Pool{New: func() any { return new([chunk]byte) }}}, nil
}

// Open opens a content for reading. It returns ErrMissing when it is not kept.
func (f *Files) Open(_ context.Context, digest string) (io.ReadSeekCloser, error) {
	if !valid(digest) {
		return nil, fmt.Errorf("content %q: %w", digest, ErrMissing)
	}
	file, err := os.Open(f.path(digest))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("content %s: %w", digest, ErrMissing)
	}
	if err != nil {
		return nil, fmt.Errorf("open content: %w", err)
	}
	return file, nil
}

// Remove drops a content; one that is not kept is no error. Who has it open goes on
// reading it.
func (f *Files) Remove(_ context.Context, digest string) error {
	if !valid(digest) {
		return nil
	}
	err := os.Remove(f.path(digest))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove content: %w", err)
	}
	return nil
}

// Has reports whether all of the contents are kept.
func (f *Files) Has(_ context.Context, digests ...string) (bool, error) {
	for _, digest := range digests {
		if !valid(digest) {
			return false, nil
		}
		_, err := os.Lstat(f.path(digest))
		if errors.Is(err, fs.ErrNotExist) {
			return false, nil
		}
		if err != nil {
			return false, fmt.Errorf("look for content: %w", err)
		}
	}
	return true, nil
}

// Walk calls each for every content that is kept, which it may remove.
func (f *Files) Walk(ctx context.Context, each func(digest string) error) error {
	shards, err := os.ReadDir(f.dir)
	if err != nil {
		return fmt.Errorf("list contents: %w", err)
	}
	for _, shard := range shards {
		if shard.Name() == incoming || !shard.IsDir() {
			continue
		}
		entries, err := os.ReadDir(filepath.Join(f.dir, shard.Name()))
		if err != nil {
			return fmt.Errorf("list contents: %w", err)
		}
		for _, entry := range entries {
			if err := ctx.Err(); err != nil {
				return err
			}
			if !valid(entry.Name()) {
				continue
			}
			if err := each(entry.Name()); err != nil {
				return err
			}
		}
	}
	return nil
}

func (f *Files) path(digest string) string {
	return filepath.Join(f.dir, digest[:2], digest)
}

// valid keeps anything but a digest from becoming part of a path.
func valid(digest string) bool {
	if len(digest) != digits {
		return false
	}
	_, err := hex.DecodeString(digest)
	return err == nil
}
