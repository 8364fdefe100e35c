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
	"github.com/archivefs/archivefs/internal/journal"
)

const (
	incoming = "incoming" // directory of staged contents
	// abandoned is how long a staged file may go without a write before it is swept.
	abandoned = 24 * time.Hour
)

// Files stores contents in one directory, in 256 sub-directories by the first two digits of the digest.
type Files struct {
	*staging
	dir    string
	view   bool     // somebody else may be writing there
	synced sync.Map // the set of names of sub-directories that are durable

	log     *journal.Log // nil without one
	logged  logged
	crowded int64      // so many bytes without files are too many
	placing sync.Mutex // held while contents of the journal get their files
	past    past
}

// OpenFiles creates dir (0700) and removes staged files of an interrupted upload. The caller makes
// sure that no other process uses dir.
func OpenFiles(dir string) (*Files, error) {
	staged := filepath.Join(dir, incoming)
	if err := os.RemoveAll(staged); err != nil {
		return nil, fmt.Errorf("sweep staged contents: %w", err)
	}
	f := newFiles(dir)
	if err := f.prepare(); err != nil {
		return nil, err
	}
	return f, f.sweepHeld()
}

// OpenSharedFiles is OpenFiles for a dir that other processes use at the same time: it removes
// staged files only if nobody wrote to them for a day. Claim creates dir.
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
	f := newFiles(dir)
	return f, f.sweepHeld()
}

func newFiles(dir string) *Files {
	return &Files{staging: newStaging(filepath.Join(dir, incoming), true), dir: dir, logged: logged{at: map[string]loggedContent{}}}
}

// ViewFiles only reads dir, and contents that have no files yet from the journal of the service. It creates and sweeps
// nothing.
func ViewFiles(dir string) *Files {
	f := newFiles(dir)
	f.view = true
	return f
}

// Publish makes staged contents durable under their digests, with few syncs. When it returns a crash
// cannot lose them. An existing content is replaced by the same bytes, so that it is durable in any
// case. After an error some may be stored.
func (f *Files) Publish(_ context.Context, contents ...Staged) error {
	files, err := f.own(contents)
	if err != nil {
		return err
	}
	var size int64
	for _, staged := range files {
		size += staged.size
	}
	if f.takesLogged(size) {
		return f.publishLogged(files)
	}
	return f.place(files)
}

// place gives contents their files, durably.
func (f *Files) place(files []*stagedFile) error {
	named := make([]durable.Named, 0, len(files))
	var made []*os.File // beside those of the contents
	done := false
	defer func() {
		for _, file := range made {
			if done {
				_ = file.Close()
			} else {
				_ = durable.Discard(file, nil)
			}
		}
	}()
	for _, staged := range files {
		target := f.path(staged.digest)
		if err := f.makeShard(filepath.Base(filepath.Dir(target))); err != nil {
			return fmt.Errorf("make content directory: %w", err)
		}
		file, err := staged.file(filepath.Dir(target))
		if err != nil {
			return fmt.Errorf("write content: %w", err)
		}
		if file != staged.File {
			made = append(made, file)
		}
		named = append(named, durable.Named{File: file, Path: target})
	}
	if err := durable.PublishAll(named); err != nil {
		return fmt.Errorf("publish content: %w", err)
	}
	done = true
	for _, staged := range files {
		staged.placed = true
	}
	return nil
}

// makeShard creates a sub-directory and makes its name durable, even if it existed: its creator may
// not have synced it yet. One sync covers all existing names.
func (f *Files) makeShard(name string) error {
	err := os.Mkdir(filepath.Join(f.dir, name), 0o700)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if _, ok := f.synced.Load(name); ok && err != nil {
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
		f.synced.Store(entry.Name(), struct{}{})
	}
	return nil
}

// Open opens a content for reading. The error is ErrMissing if there is none.
func (f *Files) Open(_ context.Context, digest string) (io.ReadSeekCloser, error) {
	if !valid(digest) {
		return nil, fmt.Errorf("content %q: %w", digest, ErrMissing)
	}
	return f.open(digest, f.path(digest))
}

// File returns the path of a content's file, which never changes while it exists, and makes the file of one that only
// the journal has, unless later is set: then the file may come with the next checkpoint. Empty if there is none.
func (f *Files) File(digest string, later bool) string {
	if !valid(digest) {
		return ""
	}
	path := f.path(digest)
	_, logged := f.inLog(digest)
	switch {
	case !logged && later:
		if _, err := os.Stat(path); err != nil {
			return ""
		}
	case logged && !later && f.unlog(digest) != nil:
		return ""
	}
	return path
}

// OpenPart is Open: reading a part of a file costs no more than the part.
func (f *Files) OpenPart(ctx context.Context, digest string, _ Part) (io.ReadSeekCloser, error) {
	return f.Open(ctx, digest)
}

// Remove removes a content; a missing one is no error. Its readers can continue, and so can the
// holder of all contents (see Hold).
func (f *Files) Remove(_ context.Context, digest string) error {
	if !valid(digest) {
		return nil
	}
	err := f.removeLogged(digest)
	if err == nil {
		err = f.remove(digest)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove content: %w", err)
	}
	return nil
}

// Has reports whether all of the contents are stored.
func (f *Files) Has(_ context.Context, digests ...string) (bool, error) {
	for _, digest := range digests {
		if !valid(digest) {
			return false, nil
		}
		if _, logged := f.inLog(digest); logged {
			continue
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

// Check checks that contents can be read and received.
func (f *Files) Check(context.Context) error {
	if _, err := os.Stat(filepath.Join(f.dir, incoming)); err != nil {
		return fmt.Errorf("reach contents: %w", err)
	}
	return nil
}

// claim is the file with the id of the owner. Its name is no digest, so it is not taken for a content.
const claim = "archive-id"

// ErrForeign says that the contents belong to another archive. This one would remove those that it does not know.
var ErrForeign = errors.New("it holds the contents of another archive, with another database")

// ErrUnclaimed says that no archive has ever stored contents there.
var ErrUnclaimed = errors.New("it does not hold the contents of this archive, which has documents already: there is no " + claim + " in it; " +
	"name the bucket, or the directory, where its contents are")

// unclaimed is ErrUnclaimed, with how to restore a lost claim: its path, and the id in it, which is no secret.
func unclaimed(place, what, id string) error {
	return fmt.Errorf("%s: %w; if they are certainly here, and only %s was lost, make %s with the text %s, then run archivefs admin verify to check each of them",
		place, ErrUnclaimed, claim, what, id)
}

// WithoutClaim returns nil if no archive has claimed dir, or if dir does not exist.
func WithoutClaim(dir string) error {
	_, err := os.Lstat(filepath.Join(dir, claim))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("find the owner of %s: %w", dir, err)
	}
	return fmt.Errorf("%s: %w", dir, ErrForeign)
}

// whose compares the claim at a place with the archive's own; err is the error of reading it.
func whose(place, found string, err error, id string) error {
	switch {
	case err != nil:
		return fmt.Errorf("find the owner of %s: %w", place, err)
	case strings.TrimSpace(found) != id:
		return fmt.Errorf("%s: %w", place, ErrForeign)
	}
	return nil
}

// Claim assigns the contents to an archive, and creates the directories for them. The error is
// ErrForeign if they belong to another.
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

// Claimed returns nil if the contents belong to the archive, ErrUnclaimed if they belong to none,
// and ErrForeign if they belong to another.
func (f *Files) Claimed(_ context.Context, id string) error {
	found, err := os.ReadFile(filepath.Join(f.dir, claim))
	if errors.Is(err, fs.ErrNotExist) {
		return unclaimed(f.dir, "the file "+filepath.Join(f.dir, claim), id)
	}
	return whose(f.dir, string(found), err, id)
}

// Walk calls each for every content that has had its file since before that time. each may remove it. Files that a killed
// process was about to publish before that time are removed, except by ViewFiles.
func (f *Files) Walk(ctx context.Context, before time.Time, each func(digest string) error) error {
	err := filepath.WalkDir(f.dir, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (path == filepath.Join(f.dir, incoming) || path == f.held()):
			return fs.SkipDir
		case !entry.Type().IsRegular():
			return ctx.Err()
		}
		temporary := durable.IsTemp(entry.Name()) && !f.view
		if !temporary && !valid(entry.Name()) {
			return ctx.Err()
		}
		info, err := entry.Info()
		if errors.Is(err, os.ErrNotExist) { // removed meanwhile
			return nil
		}
		if err != nil || info.ModTime().After(before) {
			return err
		}
		if temporary {
			if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) { //nolint:gosec // below the service's own directory
				return err
			}
			return nil
		}
		return each(entry.Name())
	})
	if err != nil {
		return fmt.Errorf("list contents: %w", err)
	}
	return nil
}

// held is the directory for contents that are removed during a hold. It exists only during the hold,
// and is locked by the holder; without a lock it was left by a killed process. A sweeper locks it, too: if two
// sweepers shared the lock, the slower one would remove contents of a hold that has begun meanwhile.
const held = "held"

// Hold keeps all contents readable that exist when HoldFiles returns, even if they are removed. A
// backup needs it: it reads the contents that its copy of the database refers to.
type Hold struct {
	files *Files
	lock  *os.File
}

// HoldFiles starts to hold the contents in dir, which other processes may use. Only one can hold at a time.
func HoldFiles(dir string) (*Hold, error) {
	f := ViewFiles(dir)
	for tries := 0; ; tries++ {
		if err := os.Mkdir(f.held(), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, fmt.Errorf("hold contents: %w", err)
		}
		lock, err := durable.LockDir(f.held())
		if errors.Is(err, fs.ErrNotExist) {
			continue // a remover took it for one left by a killed process
		}
		if errors.Is(err, unix.EWOULDBLOCK) && tries < 50 { // a sweeper also locks it, briefly
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

// Open opens a content that existed when the hold began, or was added later and not removed.
func (h *Hold) Open(_ context.Context, digest string) (io.ReadCloser, error) {
	if !valid(digest) {
		return nil, fmt.Errorf("content %q: %w", digest, ErrMissing)
	}
	place := h.files.path(digest)
	return h.files.open(digest, place, filepath.Join(h.files.held(), digest), place) // it may have been published again
}

// Release removes the contents that were removed during the hold.
func (h *Hold) Release() error {
	err := h.files.clearHeld() // a remover that comes now finds the directory gone
	if err := errors.Join(err, h.lock.Close(), h.files.Close()); err != nil {
		return fmt.Errorf("release contents: %w", err)
	}
	return nil
}

// removeLogged removes a content from the journal. One that somebody holds gets its file, like any other.
func (f *Files) removeLogged(digest string) error {
	if _, logged := f.inLog(digest); !logged {
		return nil
	}
	if _, err := os.Lstat(f.held()); err == nil {
		return f.unlog(digest)
	}
	f.placing.Lock() // it may be getting its file
	defer f.placing.Unlock()
	f.dropLogged(digest)
	return nil
}

// remove removes the file of a content; while somebody holds them, it moves it to held.
func (f *Files) remove(digest string) error {
	if _, err := os.Lstat(f.held()); errors.Is(err, fs.ErrNotExist) {
		return os.Remove(f.path(digest)) // almost always
	}
	lock, err := durable.LockDir(f.held())
	switch {
	case errors.Is(err, unix.EWOULDBLOCK):
		err = os.Rename(f.path(digest), filepath.Join(f.held(), digest))
		if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return os.Remove(f.path(digest)) // the hold has ended, was swept, or the content is gone
	case errors.Is(err, fs.ErrNotExist):
		return os.Remove(f.path(digest))
	case err != nil:
		return err
	}
	// There is no hold, and none can start while lock is locked.
	return errors.Join(f.clearHeld(), os.Remove(f.path(digest)), lock.Close())
}

// clearHeld removes held contents, until no more arrive.
func (f *Files) clearHeld() error {
	for {
		if err := os.RemoveAll(f.held()); !errors.Is(err, unix.ENOTEMPTY) {
			return err
		}
	}
}

func (f *Files) held() string { return filepath.Join(f.dir, held) }

// sweepHeld removes held contents that a killed process left.
func (f *Files) sweepHeld() error {
	lock, err := durable.LockDir(f.held())
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.EWOULDBLOCK) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("sweep held contents: %w", err)
	}
	return errors.Join(f.clearHeld(), lock.Close())
}
