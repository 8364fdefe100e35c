package server

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"io/fs"
	"os"
	"slices"
	"syscall"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/server/store"
)

// candidate is a file that may become a document.
type candidate struct {
	path, name string
	size       int64 // when it was found
	changed    time.Time
	in         *branch
	known      []store.NamedContent // the documents of its name in its folder
}

// fileOutcome is what became of a candidate. The zero value: it is in the archive already.
type fileOutcome struct {
	received *receipt
	skipped  string // why it stays out
}

// document describes the document that is archived now. A time of change that lies ahead,
// or at the beginning of all times, is none.
func (c candidate) document(now time.Time) store.Document {
	created := c.changed
	if created.After(now) || created.Unix() <= 0 {
		created = now
	}
	return store.Document{Folder: c.in.id, Name: c.name, Created: created, Archived: now}
}

// take receives a file as if it were uploaded, unless its folder has it. What is wrong with
// the file is told by the outcome; an error is the archive's own, or the context's.
func (f *furnisher) take(ctx context.Context, c candidate) (fileOutcome, error) {
	file, err := openRegular(c.path)
	if err != nil {
		return fileOutcome{skipped: reason(err)}, nil
	}
	defer func() { _ = file.Close() }()
	if slices.ContainsFunc(c.known, func(k store.NamedContent) bool { return k.Size == c.size }) {
		sum := sha256.New()
		if _, err := io.Copy(sum, interruptible{ctx, file}); err != nil {
			return spoilt(ctx, err)
		}
		digest := hex.EncodeToString(sum.Sum(nil))
		if slices.ContainsFunc(c.known, func(k store.NamedContent) bool { return k.Digest == digest }) {
			return fileOutcome{}, nil
		}
		if _, err := file.Seek(0, io.SeekStart); err != nil {
			return spoilt(ctx, err)
		}
	}
	content := &bounded{Reader: interruptible{ctx, file}, left: f.intake.most, limit: f.intake.most}
	received, err := f.intake.receive(ctx, nobody, content, c.name, "")
	switch {
	case err == nil:
		return fileOutcome{received: &received}, nil
	case archive.KindOf(err) == archive.KindTooLarge:
		return fileOutcome{skipped: "larger than " + amount(f.intake.most)}, nil
	case content.failed != nil:
		return spoilt(ctx, content.failed)
	}
	return fileOutcome{}, err
}

// spoilt is the outcome of a file that cannot be read, unless nobody waits for it.
func spoilt(ctx context.Context, err error) (fileOutcome, error) {
	if ctx.Err() != nil {
		return fileOutcome{}, ctx.Err()
	}
	return fileOutcome{skipped: reason(err)}, nil
}

// openRegular opens what was a regular file when its directory was read, and still is.
func openRegular(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0) //nolint:gosec // the operator names the tree
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: path, Err: syscall.EINVAL}
	}
	if err != nil {
		_ = file.Close()
		return nil, err
	}
	return file, nil
}

// interruptible ends reading with its context.
type interruptible struct {
	ctx  context.Context // lives as long as one copy
	file *os.File
}

// Read implements io.Reader.
func (r interruptible) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.file.Read(p)
}
