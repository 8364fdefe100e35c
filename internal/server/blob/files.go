package blob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

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

// Check finds out whether contents can be reached, and received.
func (f *Files) Check(context.Context) error {
	if _, err := os.Stat(filepath.Join(f.dir, incoming)); err != nil {
		return fmt.Errorf("reach contents: %w", err)
	}
	return nil
}

// claim names what says whose the contents are. It is no digest, so that nothing takes it for
// a content.
const claim = "archive-id"

// ErrForeign says that the contents belong to another archive, which would lose those that
// this one does not know.
var ErrForeign = errors.New("it holds the contents of another archive, whose database is another one")

// ErrUnclaimed says that no archive has ever kept contents there.
var ErrUnclaimed = errors.New("it does not hold the contents of this archive, which has documents already: there is no " + claim + " in it; " +
	"name the bucket, or the directory, where its contents are")

// unclaimed is ErrUnclaimed of a place, and how to put back the claim where that alone was lost: what
// it is, and the id in it, which is no secret.
func unclaimed(place, what, id string) error {
	return fmt.Errorf("%s: %w; where they are here for certain, and %s alone was lost, make %s with the text %s, and then let archivefs admin verify look for each of them",
		place, ErrUnclaimed, claim, what, id)
}

// WithoutClaim returns nil when no archive has claimed what is in dir, also where there is no dir.
func WithoutClaim(dir string) error {
	_, err := os.Lstat(filepath.Join(dir, claim))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("look whose %s is: %w", dir, err)
	}
	return fmt.Errorf("%s: %w", dir, ErrForeign)
}

// whose compares the claim that was found at a place with the archive's own; err is that of looking for it.
func whose(place, found string, err error, id string) error {
	switch {
	case err != nil:
		return fmt.Errorf("look whose %s is: %w", place, err)
	case strings.TrimSpace(found) != id:
		return fmt.Errorf("%s: %w", place, ErrForeign)
	}
	return nil
}

// Claim has the contents belong to an archive, and makes the directories for them. It returns
// ErrForeign when they belong to another.
func (f *Files) Claim(_ context.Context, id string) error {
	path := filepath.Join(f.dir, claim)
	found, err := os.ReadFile(path) //nolint:gosec // the operator names the directory
	first := errors.Is(err, fs.ErrNotExist)
	if !first {
		if err := whose(f.dir, string(found), err, id); err != nil {
			return err
		}
	}
	if err := f.prepare(); err != nil || !first {
		return err
	}
	return durable.WriteFile(path, []byte(id+"\n"), 0o600)
}

// Claimed returns nil when the contents belong to the archive, ErrUnclaimed when they belong
// to none, and ErrForeign when they belong to another.
func (f *Files) Claimed(_ context.Context, id string) error {
	found, err := os.ReadFile(filepath.Join(f.dir, claim))
	if errors.Is(err, fs.ErrNotExist) {
		return unclaimed(f.dir, "the file "+filepath.Join(f.dir, claim), id)
	}
	return whose(f.dir, string(found), err, id)
}

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

// held is the directory that contents go to, instead of being removed, while somebody holds
// them. It is there only then, and locked by who holds (flock(2)): one without a lock is
// what a killed process left.
const held = "held"

// Hold keeps all contents readable that are there when HoldFiles returns, whoever removes
// them: a backup reads what its copy of the database refers to.
type Hold struct {
	files *Files
	lock  *os.File
}

// HoldFiles begins to hold the contents in dir. Other processes may use it. Only one can hold
// at a time.
func HoldFiles(dir string) (*Hold, error) {
	f := ViewFiles(dir)
	for tries := 0; ; tries++ {
		if err := os.Mkdir(f.held(), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, fmt.Errorf("hold contents: %w", err)
		}
		lock, err := lockDir(f.held())
		if errors.Is(err, fs.ErrNotExist) {
			continue // whoever removes a content took it for one that was left
		}
		if errors.Is(err, unix.EWOULDBLOCK) && tries < 50 { // who removes what was left locks it, too, but not for long
			time.Sleep(20 * time.Millisecond)
			continue
		}
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, errors.New("the contents are held already: another backup is under way")
		}
		if err != nil {
			return nil, fmt.Errorf("hold contents: %w", err)
		}
		return &Hold{f, lock}, nil
	}
}

// Open opens a content that was there when the hold began, or came later and was not removed.
func (h *Hold) Open(_ context.Context, digest string) (*os.File, error) {
	if !valid(digest) {
		return nil, fmt.Errorf("content %q: %w", digest, ErrMissing)
	}
	// In this order: a content moves only from its place to those that are held. One that was
	// published again meanwhile has its place again.
	for _, path := range []string{h.files.path(digest), filepath.Join(h.files.held(), digest), h.files.path(digest)} {
		file, err := os.Open(path) //nolint:gosec // named by a digest
		if err == nil {
			return file, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("open content: %w", err)
		}
	}
	return nil, fmt.Errorf("content %s: %w", digest, ErrMissing)
}

// Release removes what was removed meanwhile.
func (h *Hold) Release() error {
	err := h.files.clearHeld() // what is moved there meanwhile is told that it is gone
	if err := errors.Join(err, h.lock.Close()); err != nil {
		return fmt.Errorf("release contents: %w", err)
	}
	return nil
}

// remove takes a content from its place: to those that are held while somebody holds them.
func (f *Files) remove(digest string) error {
	if _, err := os.Lstat(f.held()); errors.Is(err, fs.ErrNotExist) {
		return os.Remove(f.path(digest)) // as nearly always
	}
	lock, err := lockDir(f.held())
	switch {
	case errors.Is(err, unix.EWOULDBLOCK):
		err = os.Rename(f.path(digest), filepath.Join(f.held(), digest))
		if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return os.Remove(f.path(digest)) // the hold has ended, what was left is swept, or the content is gone
	case errors.Is(err, fs.ErrNotExist):
		return os.Remove(f.path(digest))
	case err != nil:
		return err
	}
	// Nobody holds, and nobody can begin to while lock is locked.
	return errors.Join(f.clearHeld(), os.Remove(f.path(digest)), lock.Close())
}

// clearHeld removes what is held, until nothing more comes.
func (f *Files) clearHeld() error {
	for {
		if err := os.RemoveAll(f.held()); !errors.Is(err, unix.ENOTEMPTY) {
			return err
		}
	}
}

func (f *Files) held() string { return filepath.Join(f.dir, held) }

// lockDir locks a directory for one alone: of two that shared the lock to sweep what was left, the
// slower one would remove what somebody holds since then. It is fs.ErrNotExist when it was removed
// before it was locked.
func lockDir(dir string) (*os.File, error) {
	lock, err := os.Open(dir) //nolint:gosec // the caller's own
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	locked, err := lock.Stat()
	if err == nil {
		var there os.FileInfo
		if there, err = os.Stat(dir); err == nil && !os.SameFile(locked, there) {
			err = fs.ErrNotExist
		}
	}
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return lock, nil
}

// sweepHeld removes what a killed process left that had held the contents.
func (f *Files) sweepHeld() error {
	lock, err := lockDir(f.held())
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.EWOULDBLOCK) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("sweep held contents: %w", err)
	}
	return errors.Join(f.clearHeld(), lock.Close())
}
