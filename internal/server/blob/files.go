package blob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/archivefs/archivefs/internal/durable"
)

const (
	incoming = "incoming" // directory of staged contents
	// abandoned is how long nobody wrote to what was staged when it belongs to nobody any more.
	abandoned = 24 * time.Hour
)

// Files keeps contents below one directory, in 256 sub-directories by the first two
// digits of the digest.
type Files struct {
	*staging
	dir    string
	shards sync.Map // names of the sub-directories that survive a crash
}

// OpenFiles makes dir (0700) when it is not there and removes what an interrupted
// upload left staged. The caller sees to it that no other process uses dir.
func OpenFiles(dir string) (*Files, error) {
	staged := filepath.Join(dir, incoming)
	if err := os.RemoveAll(staged); err != nil {
		return nil, fmt.Errorf("sweep staged contents: %w", err)
	}
	f := &Files{staging: newStaging(staged, true), dir: dir}
	if err := f.prepare(); err != nil {
		return nil, err
	}
	return f, f.sweepHeld()
}

// OpenSharedFiles is OpenFiles for a dir that other processes use at the same time: what is
// staged there may be theirs, unless nobody wrote to it for a day. Claim makes what is not there.
func OpenSharedFiles(dir string) (*Files, error) {
	staged := filepath.Join(dir, incoming)
	entries, err := os.ReadDir(staged)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("sweep staged contents: %w", err)
	}
	for _, entry := range entries {
		info, err := entry.Info()
		if err == nil && time.Since(info.ModTime()) > abandoned {
			err = os.Remove(filepath.Join(staged, entry.Name()))
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("sweep staged contents: %w", err)
		}
	}
	f := &Files{staging: newStaging(staged, true), dir: dir}
	return f, f.sweepHeld()
}

// ViewFiles is for reading what is in dir alone. Nothing is made or swept.
func ViewFiles(dir string) *Files {
	return &Files{staging: newStaging(filepath.Join(dir, incoming), true), dir: dir}
}

// Publish makes contents that were staged here durable under their digests, all with few
// waits for the disk. It returns once a crash can no longer lose them. A content that is
// kept already is replaced by its equal, so that it is durable in any case. After an error
// some may be kept and others not.
func (f *Files) Publish(ctx context.Context, contents ...Staged) error {
	files, err := f.own(contents)
	if err != nil {
		return err
	}
	named := make([]durable.Named, 0, len(files))
	for _, staged := range files {
		if staged.published {
			kept, err := f.Has(ctx, staged.digest)
			if err != nil {
				return err
			}
			if kept {
				continue
			}
			if err := staged.renew(); err != nil { // another process has removed it
				return fmt.Errorf("publish content again: %w", err)
			}
		}
		target := f.path(staged.digest)
		if err := f.makeShard(filepath.Base(filepath.Dir(target))); err != nil {
			return fmt.Errorf("make content directory: %w", err)
		}
		named = append(named, durable.Named{File: staged.File, Path: target})
	}
	if err := durable.PublishAll(named); err != nil {
		return fmt.Errorf("publish content: %w", err)
	}
	for _, staged := range files {
		staged.published = true
	}
	return nil
}

// makeShard makes a sub-directory, and its name durable: also when it was there, because whoever
// made it may not have come to that, or may be about to. The sync is one of all names that are
// there, so the others need none.
func (f *Files) makeShard(name string) error {
	err := os.Mkdir(filepath.Join(f.dir, name), 0o700)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if _, kept := f.shards.Load(name); kept && err != nil {
		return nil
	}
	there, err := os.ReadDir(f.dir)
	if err != nil {
		return err
	}
	if err := durable.SyncDir(f.dir); err != nil {
		return err
	}
	for _, entry := range there {
		f.shards.Store(entry.Name(), true)
	}
	return nil
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

// File is the path of the file that holds a content, which never changes, while it is kept; empty
// where it is none of a content.
func (f *Files) File(digest string) string {
	if !valid(digest) {
		return ""
	}
	return f.path(digest)
}

// OpenPart is Open: a part of a file costs no more than is read of it.
func (f *Files) OpenPart(ctx context.Context, digest string, _ Part) (io.ReadSeekCloser, error) {
	return f.Open(ctx, digest)
}

// Remove drops a content; one that is not kept is no error. Who has it open goes on
// reading it, and so does who holds all contents (see Hold).
func (f *Files) Remove(_ context.Context, digest string) error {
	if !valid(digest) {
		return nil
	}
	err := f.remove(digest)
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

func (f *Files) path(digest string) string {
	return filepath.Join(f.dir, digest[:2], digest)
}
