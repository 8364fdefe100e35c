package spool

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/sirupsen/logrus"
	"golang.org/x/sys/unix"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/durable"
)

// Options configure a spool. Only Dir is required.
type Options struct {
	// Dir is the spool's own directory; it is made when it is not there.
	Dir string
	// Budget bounds the bytes of all files together, 0 for no bound.
	Budget int64
	// Reserve is how many bytes to leave free on the disk.
	Reserve int64
	Log     logrus.FieldLogger // nil: nothing is logged
	// Now is the clock; nil for time.Now.
	Now func() time.Time
	// Sleep waits for d or until ctx is done, whose error it then returns; nil for a timer.
	Sleep func(ctx context.Context, d time.Duration) error
	// RetryFor is how long Deliver repeats what ended in doubt, counted from that end.
	RetryFor time.Duration
	// Fault is asked at every Point whether the transition fails there; nil for never. It
	// must not call the spool.
	Fault func(Point) error
}

// Spool is the queue of files between this machine and the archive.
type Spool struct {
	opts   Options
	dir    string
	log    logrus.FieldLogger
	lock   *os.File // holds flock(2) on dir
	budget budget
	ids    ids

	mu      sync.RWMutex
	uploads map[string]*Upload // by id; guarded by mu
}

// ErrLocked says that another process has the spool.
var ErrLocked = errors.New("the spool is in use by another process")

// Open takes over the spool in a directory and recovers what the last run left, without
// asking the archive. Running it again changes nothing more. The error wraps ErrLocked
// while another process has the spool.
func Open(opts Options) (*Spool, error) {
	s := &Spool{opts: opts.withDefaults(), dir: opts.Dir, uploads: map[string]*Upload{}}
	s.log = s.opts.Log
	s.budget = budget{limit: opts.Budget, reserve: opts.Reserve, diskFree: func() (int64, error) { return diskFree(s.dir) }}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return nil, fmt.Errorf("open spool: %w", err)
	}
	lock, err := lockDir(s.dir)
	if err != nil {
		return nil, fmt.Errorf("open spool %s: %w", s.dir, err)
	}
	s.lock = lock
	if err := s.recover(); err != nil {
		return nil, errors.Join(fmt.Errorf("open spool: %w", err), s.Close())
	}
	return s, nil
}

func (o Options) withDefaults() Options {
	if o.Log == nil {
		silent := logrus.New()
		silent.SetLevel(logrus.PanicLevel)
		o.Log = silent
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Sleep == nil {
		o.Sleep = sleep
	}
	return o
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// lockDir opens dir and locks it for this process.
func lockDir(dir string) (*os.File, error) {
	f, err := os.Open(dir) //nolint:gosec // the spool's own directory
	if err != nil {
		return nil, err
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		err = ErrLocked
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Close lets another process have the spool. No method of it or of its uploads, except
// Upload.Close, may run then or later.
func (s *Spool) Close() error {
	if err := s.lock.Close(); err != nil {
		return fmt.Errorf("close spool: %w", err)
	}
	return nil
}

// Create begins an empty file, with the descriptive fields of r. It survives an end of
// the program; Sync and the transitions make it survive one of the machine.
func (s *Spool) Create(r Record) (*Upload, error) {
	now := s.now()
	r = r.clone()
	fresh := Record{Version: recordVersion, ID: s.ids.next(now), State: Created, Created: now, Changed: now}
	fresh.keepOwned(&r)
	r.Visible = false
	if err := s.build(&r); err != nil {
		return nil, fmt.Errorf("spool: create: %w", err)
	}
	u := newUpload(s, r)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.uploads[r.ID] = u
	return u, nil
}

// Prefixes of the hidden names of directories that are not yet, or no longer, uploads.
const (
	newPrefix   = ".new-"
	trashPrefix = ".trash-"
)

// build makes the directory of a new upload: under a hidden name, then under its own.
func (s *Spool) build(r *Record) error {
	hidden := filepath.Join(s.dir, newPrefix+r.ID)
	if err := os.Mkdir(hidden, 0o700); err != nil {
		return err
	}
	err := s.fill(hidden, r)
	if err == nil {
		err = os.Rename(hidden, filepath.Join(s.dir, r.ID))
	}
	if err != nil {
		return errors.Join(err, os.RemoveAll(hidden))
	}
	return s.fault(PointCreateShown)
}

func (s *Spool) fill(dir string, r *Record) error {
	data, err := os.OpenFile(filepath.Join(dir, dataFile), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600) //nolint:gosec // below the spool's own directory
	if err != nil {
		return err
	}
	if err := data.Close(); err != nil {
		return err
	}
	if err := writeRecord(filepath.Join(dir, recordFile), r, false); err != nil {
		return err
	}
	return s.fault(PointCreateBuilt)
}

// hide makes the directory of an upload disappear, durably when sync is set, so that a
// crash cannot bring back half of it.
func (s *Spool) hide(id string, sync bool) (trash string, err error) {
	trash = filepath.Join(s.dir, trashPrefix+id)
	rename := os.Rename
	if sync {
		rename = durable.Rename
	}
	if err := rename(filepath.Join(s.dir, id), trash); err != nil {
		return "", fmt.Errorf("spool: remove upload %s: %w", id, err)
	}
	return trash, nil
}

func (s *Spool) forget(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.uploads, id)
}

// Get returns the upload of that id.
func (s *Spool) Get(id string) (*Upload, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	u, ok := s.uploads[id]
	return u, ok
}

// List returns all uploads, oldest first.
func (s *Spool) List() []*Upload {
	s.mu.RLock()
	list := make([]*Upload, 0, len(s.uploads))
	for _, u := range s.uploads {
		list = append(list, u)
	}
	s.mu.RUnlock()
	slices.SortFunc(list, func(a, b *Upload) int { return cmp.Compare(a.id, b.id) })
	return list
}

// Usage is how many bytes the files hold together, and how many files there are.
func (s *Spool) Usage() (bytes int64, files int) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.budget.total(), len(s.uploads)
}

// Free is how many bytes may still be written: what is left of the budget, or of the disk
// without the reserve, whichever is less.
func (s *Spool) Free() (uint64, error) {
	free, err := s.budget.free()
	return uint64(free), err //nolint:gosec // never negative
}

// Archive is what Deliver needs of the archive service. Errors are judged by their
// archive.Kind.
type Archive interface {
	// Upload sends a new document and returns its id, 0 when the service does not tell.
	Upload(ctx context.Context, up archive.Upload, body archive.Blob) (archive.ID, error)
	// Replace sends new content for an inbox document.
	Replace(ctx context.Context, doc archive.ID, name string, keywords []string, body archive.Blob) error
	// Documents lists a folder.
	Documents(ctx context.Context, folder archive.ID, opts archive.ListOptions) ([]archive.Document, error)
	// Data returns the data of a document, with its external id where it is shown.
	Data(ctx context.Context, doc archive.ID) (archive.DocumentData, error)
	// Content opens a document's bytes.
	Content(ctx context.Context, req archive.ContentRequest) (*archive.Content, error)
}
