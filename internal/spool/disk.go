package spool

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/dustin/go-humanize"
	"golang.org/x/sys/unix"
)

const (
	// probeName is that of a file which shows whether the disk can be written.
	probeName = "probe"
	// probeWait bounds how long that is waited for: a failing disk may take minutes.
	probeWait = 2 * time.Second
	// probeRoom is how much room a disk needs that is not full, in bytes.
	probeRoom = 1 << 20
	// troubled is how long a disk that failed a write (EIO) is not trusted, even if others succeed.
	troubled = time.Minute
	// readOnly is a flag of statfs: ST_RDONLY on Linux, MNT_RDONLY elsewhere.
	readOnly = 1
)

// disk is the last that is known of the spool's disk.
type disk struct {
	mu sync.Mutex
	// failed is the error of a write, nil once the disk takes writes again.
	failed error // +checklocks:mu
	// at is when that was.
	at time.Time // +checklocks:mu
	// probe gives what the probe under way finds, nil for none.
	probe chan error // +checklocks:mu
}

// saw notes an error of the disk, and returns err.
func (s *Spool) saw(err error) error {
	if ofDisk(err) {
		s.disk.mu.Lock()
		s.disk.failed, s.disk.at = err, s.now()
		s.disk.mu.Unlock()
		s.opts.DiskFailed(err)
	}
	return err
}

// ofDisk reports whether err says that a disk cannot be written, whatever is written.
func ofDisk(err error) bool {
	is := func(errno syscall.Errno) bool { return errors.Is(err, errno) }
	return !errors.Is(err, errLimit) && slices.ContainsFunc([]syscall.Errno{syscall.EROFS, syscall.EIO, syscall.ENOSPC, syscall.EDQUOT}, is)
}

// Disk returns why no file can be accepted: the spool's disk is read-only, or it is full or
// failing, as a write showed and a probe does not disprove. nil: nothing is known to be wrong.
func (s *Spool) Disk() error {
	var st unix.Statfs_t
	if err := unix.Statfs(s.dir, &st); err != nil {
		return fmt.Errorf("%s: %w", s.dir, err)
	}
	if st.Flags&readOnly != 0 {
		return fmt.Errorf("%s: %w", s.dir, syscall.EROFS)
	}
	s.disk.mu.Lock()
	failed := s.disk.failed
	if failed == nil {
		s.disk.mu.Unlock()
		return nil
	}
	probe := s.disk.probe
	if probe == nil {
		probe = make(chan error, 1)
		s.disk.probe = probe
		go func() { probe <- s.tryDisk() }()
	}
	s.disk.mu.Unlock()
	select {
	case err := <-probe:
		return s.probed(err)
	case <-time.After(probeWait):
		return failed
	}
}

// probed ends a probe, and returns what is known now.
func (s *Spool) probed(err error) error {
	d := &s.disk
	d.mu.Lock()
	defer d.mu.Unlock()
	d.probe = nil
	switch {
	case err != nil:
		d.failed = err
	case !errors.Is(d.failed, syscall.EIO), s.now().Sub(d.at) >= troubled:
		d.failed = nil
	}
	return d.failed
}

// tryDisk writes a small file durably, and removes it.
func (s *Spool) tryDisk() error {
	if err := s.journal.Settle(); err != nil { // what nothing needs any more is free then
		return err
	}
	if free, err := s.budget.diskFree(); err != nil {
		return err
	} else if free-s.budget.reserve < probeRoom {
		return fmt.Errorf("%s: %w (%s are kept free)", s.dir, syscall.ENOSPC, humanize.IBytes(uint64(max(s.budget.reserve, 0))))
	}
	f, err := os.OpenFile(filepath.Join(s.dir, probeName), os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString("probe")
	return errors.Join(err, s.fault(PointSync), f.Sync(), f.Close(), os.Remove(f.Name()))
}

// Point names a place between two steps of a transition, where a test makes the program or the disk fail.
type Point string

// The points, in the order in which a file passes them.
const (
	PointCreated   Point = "created"   // its record is written
	PointUpdate    Point = "update"    // before a changed record is written
	PointUpdated   Point = "updated"   // after
	PointSync      Point = "sync"      // before the data is synced
	PointSynced    Point = "synced"    // the data is durable, the record is not yet
	PointKeep      Point = "keep"      // the data of a local file is durable
	PointKept      Point = "kept"      // its record too
	PointCommit    Point = "commit"    // the data is complete and durable
	PointCommitted Point = "committed" // the record says so
	PointReopen    Point = "reopen"    // before a record says that it is written again
	PointReopened  Point = "reopened"  // after
	PointSend      Point = "send"      // before external id and baseline are written
	PointSending   Point = "sending"   // after; nothing is sent yet
	PointAnswered  Point = "answered"  // the service has answered, the record does not know
	PointConfirmed Point = "confirmed" // the record knows
	PointFail      Point = "fail"      // before a record says that it failed
	PointFailed    Point = "failed"    // after
	PointRetry     Point = "retry"     // before a failed upload is committed again
	PointRetried   Point = "retried"   // after
	PointRemove    Point = "remove"    // before the journal says that it is gone
	PointRemoved   Point = "removed"   // it is gone
	PointRecover   Point = "recover"   // before an unfinished upload is written as failed
	PointRecovered Point = "recovered" // after
	PointSwept     Point = "swept"     // all uploads of the last run are known
)

// fault asks the test's hook whether to fail here.
func (s *Spool) fault(p Point) error {
	if s.opts.Fault == nil {
		return nil
	}
	return s.saw(s.opts.Fault(p))
}

// Points returns all points, for tests that must pass through each of them.
func Points() []Point {
	return []Point{
		PointCreated, PointUpdate, PointUpdated, PointSync, PointSynced, PointKeep, PointKept,
		PointCommit, PointCommitted, PointReopen, PointReopened, PointSend, PointSending, PointAnswered, PointConfirmed,
		PointFail, PointFailed, PointRetry, PointRetried, PointRemove, PointRemoved,
		PointRecover, PointRecovered, PointSwept,
	}
}
