package spool

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/sirupsen/logrus"
	"golang.org/x/sys/unix"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/durable"
	"github.com/archivefs/archivefs/internal/journal"
	"github.com/archivefs/archivefs/internal/retry"
)

// Options configure a spool. Only Dir is required.
type Options struct {
	// Dir is the spool's own directory; it is made when it is not there.
	Dir string
	// Budget bounds the bytes of all files together, 0 for no bound.
	Budget int64
	// Reserve is how many bytes to leave free on the disk, at most a sixteenth of it.
	Reserve int64
	// MakeRoom frees at least so many bytes of the spool's disk, of what can be fetched
	// again; false: it could free none. It must not call the spool. nil for never.
	MakeRoom func(bytes int64) bool
	// DiskFailed is told each time a write shows that the disk takes no files, and why (Spool.Disk). It
	// must neither wait nor call the spool. nil for nobody.
	DiskFailed func(error)
	// Receipts is the file of the receipt log (Receipt); empty for none.
	Receipts string
	Log      logrus.FieldLogger // nil: nothing is logged
	// Now is the clock; nil for time.Now.
	Now func() time.Time
	// Sleep waits for d or until ctx is done, whose error it then returns; nil for a timer.
	Sleep func(ctx context.Context, d time.Duration) error
	// LateBy is how long after the end of a request that was not answered in time, or was cut off by the end of the
	// program, the archive may still take what it brought. Until then it is looked for and not sent again.
	LateBy time.Duration
	// RetryFor is how long Deliver repeats what ended in doubt, counted from that end.
	RetryFor time.Duration
	// Boot names the run of the machine: what was written in another one without a sync is not
	// trusted. Empty for what the system says; where it says nothing everything is synced.
	Boot string
	// Early has the disk begin to write a large file while a program writes it, because its close waits for the disk.
	Early bool
	// JournalSize is the size of each file of the journal, in bytes; 0 for 16 MiB.
	JournalSize int64
	// Fault is asked at every Point whether the transition fails there; nil for never. It must not call the spool.
	Fault func(Point) error
}

// Spool is the queue of files between this machine and the archive.
type Spool struct {
	opts   Options
	dir    string
	log    logrus.FieldLogger
	lock   *os.File // holds flock(2) on dir
	budget budget
	disk   disk
	ids    ids

	receipts receipts
	journal  *journal.Log
	later    later
	// numbers says that an answer to an upload had the number of a document (delivery.numbered).
	numbers atomic.Bool
	// crashed are documents of which a replacement may have been sent when the machine stopped, and when this run began.
	crashed map[archive.ID]time.Time
	// keys says that the service shows idempotency keys: what comes back after a crash is found for certain.
	keys atomic.Bool
	// silent says that the service does not tell what it made of an e-mail (delivery.others).
	silent atomic.Bool

	mu sync.RWMutex
	// uploads are by id.
	uploads map[string]*Upload // +checklocks:mu
}

// ErrLocked says that another process has the spool.
var ErrLocked = errors.New("the spool is in use by another process")

// Open takes over the spool in a directory and recovers what the last run left, without
// asking the archive. The error wraps ErrLocked while another process has the spool.
func Open(opts Options) (*Spool, error) {
	s := &Spool{opts: opts.withDefaults(), dir: filepath.Clean(opts.Dir), uploads: map[string]*Upload{}, crashed: map[archive.ID]time.Time{}}
	s.log = s.opts.Log
	if err := durable.MkdirAll(s.dir, 0o700); err != nil {
		return nil, fmt.Errorf("open spool: %w", err)
	}
	size, err := sizeOf(s.dir)
	if err != nil {
		return nil, fmt.Errorf("open spool: %w", err)
	}
	s.budget = budget{
		limit: opts.Budget, reserve: min(opts.Reserve, size/16), makeRoom: s.opts.MakeRoom,
		diskFree: func() (int64, error) { return diskFree(s.dir) },
	}
	lock, err := durable.LockDir(s.dir)
	if errors.Is(err, unix.EWOULDBLOCK) {
		err = ErrLocked
	}
	if err != nil {
		return nil, fmt.Errorf("open spool %s: %w", s.dir, err)
	}
	s.lock = lock
	if opts.Receipts != "" {
		if err := s.receipts.open(opts.Receipts); err != nil {
			return nil, errors.Join(fmt.Errorf("open spool: %w", err), s.free())
		}
	}
	if err := s.recover(); err != nil {
		return nil, errors.Join(fmt.Errorf("open spool: %w", err), s.free())
	}
	return s, nil
}

func (o Options) withDefaults() Options {
	if o.Log == nil {
		silent := logrus.New()
		silent.SetLevel(logrus.PanicLevel)
		o.Log = silent
	}
	if o.MakeRoom == nil {
		o.MakeRoom = func(int64) bool { return false }
	}
	if o.DiskFailed == nil {
		o.DiskFailed = func(error) {}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Sleep == nil {
		o.Sleep = retry.Sleep
	}
	if o.Boot == "" {
		o.Boot = boot()
	}
	o.JournalSize = cmp.Or(o.JournalSize, journalSize)
	return o
}

// Close lets another process have the spool. No method of it or of its uploads, except
// Upload.Close, may run then or later.
func (s *Spool) Close() error {
	for _, u := range s.List() {
		if err := settle(u); err != nil { // a machine that is switched off now does not crash
			u.log.Warn(err)
		}
	}
	s.later.end()
	return errors.Join(s.journal.Close(), s.free())
}

// settle makes a volatile upload durable at the end of a run.
func settle(u *Upload) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.removed.Load() || u.State() == Unusable {
		return nil
	}
	return u.syncLocked()
}

// free ends what Close ends, as the end of the program does.
func (s *Spool) free() error {
	s.later.end()
	if s.journal != nil {
		s.journal.Abandon()
	}
	// Closing it would not do: a program that is being started may still have the descriptor.
	unlocked := unix.Flock(int(s.lock.Fd()), unix.LOCK_UN)
	if err := errors.Join(s.receipts.close(), unlocked, s.lock.Close()); err != nil {
		return fmt.Errorf("close spool: %w", err)
	}
	return nil
}

// now is the time as records keep it.
func (s *Spool) now() time.Time { return s.opts.Now().UTC().Round(0) }

// boot names the run of the machine (random(4)), empty where the system does not tell.
func boot() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
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
	files = len(s.uploads)
	s.mu.RUnlock()
	return s.budget.total(), files
}

// Free is how many bytes may still be written: what is left of the budget, or of the disk
// without the reserve, whichever is less.
func (s *Spool) Free() (uint64, error) {
	free, err := s.budget.free()
	return uint64(free), err //nolint:gosec // never negative
}

// budget counts the bytes of the spool against its limit and the free space of its disk.
type budget struct {
	limit    int64 // bytes; 0 for none
	reserve  int64 // free bytes to leave on the disk
	diskFree func() (int64, error)
	// makeRoom frees at least so many bytes of the disk; false: it could free none.
	makeRoom func(int64) bool

	mu sync.Mutex
	// used is the length of all data files.
	used int64 // +checklocks:mu
	// flying counts the bytes being written, which the disk may not count yet.
	flying int64 // +checklocks:mu
}

// errLimit is ENOSPC of the limit, and not of the disk.
var errLimit = fmt.Errorf("%w", syscall.ENOSPC)

// diskFree returns how many bytes an unprivileged process may still write below dir.
func diskFree(dir string) (int64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, fmt.Errorf("free space of the disk: %w", err)
	}
	free := st.Bavail * uint64(st.Bsize) //nolint:gosec // a block size is positive
	return int64(min(free, math.MaxInt64)), nil
}

func sizeOf(dir string) (int64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, fmt.Errorf("size of the disk: %w", err)
	}
	return int64(min(st.Blocks*uint64(st.Bsize), math.MaxInt64)), nil //nolint:gosec // a block size is positive
}

// free is what may still be written, in bytes.
func (b *budget) free() (int64, error) {
	disk, err := b.diskFree()
	if err != nil {
		return 0, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	free := disk - b.reserve - b.flying
	if b.limit > 0 {
		free = min(free, b.limit-b.used)
	}
	return max(free, 0), nil
}

// take books a write of n bytes by which a file grows by grow bytes. The error is ENOSPC
// when there is no room for all of it. Whoever took gives back with done.
func (b *budget) take(n, grow int64) error {
	short, err := b.tryTake(n, grow)
	if err == nil && short > 0 && b.makeRoom(short) {
		short, err = b.tryTake(n, grow)
	}
	if err == nil && short > 0 {
		err = fmt.Errorf("the disk with what waits to be archived is full (%s of it are kept free); make room, or discard uploads that failed: %w",
			humanize.IBytes(uint64(max(b.reserve, 0))), syscall.ENOSPC)
	}
	return err
}

// tryTake books what take is asked for, unless the disk is short of so many bytes.
func (b *budget) tryTake(n, grow int64) (short int64, err error) {
	disk, err := b.diskFree()
	if err != nil {
		return 0, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.limit > 0 && grow > b.limit-b.used {
		return 0, fmt.Errorf("what waits to be archived may take %s in all; let it be archived, discard uploads that failed, or allow more: %w",
			humanize.IBytes(uint64(b.limit)), errLimit)
	}
	if short = n - (disk - b.reserve - b.flying); short > 0 {
		return short, nil
	}
	b.used += grow
	b.flying += n
	return 0, nil
}

// mayTake is the error that take would have now.
func (b *budget) mayTake(n, grow int64) error {
	if n <= 0 {
		return nil
	}
	if err := b.take(n, grow); err != nil {
		return err
	}
	b.done(n, grow, 0)
	return nil
}

// done ends a write that took n and grow bytes; the file grew by grown in the end.
func (b *budget) done(n, grow, grown int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.flying -= n
	b.used += grown - grow
}

// add counts bytes that are there, or with a negative n no longer.
func (b *budget) add(n int64) { b.done(0, 0, n) }

func (b *budget) total() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used
}
