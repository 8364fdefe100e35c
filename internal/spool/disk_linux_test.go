package spool

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// onDisk is a spool on a disk of its own, of size bytes.
func onDisk(t *testing.T, size string, opts Options) *Spool {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("only root mounts a disk")
	}
	opts.Dir = t.TempDir()
	if err := unix.Mount("test", opts.Dir, "tmpfs", 0, "size="+size); err != nil {
		t.Skipf("mount a disk: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(opts.Dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	s, err := Open(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func wantDisk(t *testing.T, s *Spool, want error) {
	t.Helper()
	if err := s.Disk(); !errors.Is(err, want) {
		t.Errorf("the disk's state is %v, want %v", err, want)
	}
}

func TestADiskThatIsReadOnly(t *testing.T) {
	s := onDisk(t, "4m", Options{})
	wantDisk(t, s, nil)
	for range 2 { // as soon as it is, and after a write
		if err := unix.Mount("", s.dir, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
			t.Fatal(err)
		}
		wantDisk(t, s, syscall.EROFS)
		if _, err := s.Create(Record{Name: "a"}); !errors.Is(err, syscall.EROFS) {
			t.Errorf("create on a read-only disk: %v", err)
		}
		wantDisk(t, s, syscall.EROFS)
		if err := unix.Mount("", s.dir, "", unix.MS_REMOUNT, ""); err != nil {
			t.Fatal(err)
		}
		wantDisk(t, s, nil)
	}
}

func TestADiskThatIsFull(t *testing.T) {
	var told error
	s := onDisk(t, "4m", Options{DiskFailed: func(err error) { told = err }})
	u, err := s.Create(Record{Name: "a"})
	if err != nil {
		t.Fatal(err)
	}
	for off := int64(0); err == nil; off += 64 << 10 {
		_, err = u.WriteAt(make([]byte, 64<<10), off)
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("a full disk: %v", err)
	}
	if !errors.Is(told, syscall.ENOSPC) {
		t.Errorf("told %v, want %v", told, syscall.ENOSPC)
	}
	wantDisk(t, s, syscall.ENOSPC)
	if err := u.Truncate(0); err != nil {
		t.Fatal(err)
	}
	wantDisk(t, s, nil)
}

// That files may take no more of it says nothing about the disk.
func TestADiskOfWhichNoMoreMayBeTaken(t *testing.T) {
	s := onDisk(t, "4m", Options{Budget: 100})
	u, err := s.Create(Record{Name: "a"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := u.WriteAt(make([]byte, 200), 0); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("got %v", err)
	}
	s.disk.mu.Lock()
	defer s.disk.mu.Unlock()
	if s.disk.failed != nil {
		t.Errorf("the disk has failed: %v", s.disk.failed)
	}
}

// A disk that lost a write is not trusted at once, although it takes others.
func TestADiskThatFails(t *testing.T) {
	now, fails := time.Unix(1e9, 0), true
	s := onDisk(t, "4m", Options{Now: func() time.Time { return now }, Fault: func(p Point) error {
		if fails && p == PointSync {
			return syscall.EIO
		}
		return nil
	}})
	u, err := s.Create(Record{Name: "a"})
	if err != nil {
		t.Fatal(err)
	}
	wantDisk(t, s, nil)
	if err := u.Sync(false); !errors.Is(err, syscall.EIO) {
		t.Fatalf("got %v", err)
	}
	wantDisk(t, s, syscall.EIO)
	fails = false
	wantDisk(t, s, syscall.EIO)
	now = now.Add(troubled)
	wantDisk(t, s, nil)
}

// refusingSyncs has each sync of the journal fail until the end of f.
func refusingSyncs(t *testing.T, s *Spool, f func()) {
	t.Helper()
	names, err := os.ReadDir("/proc/self/fd")
	must(t, err)
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0) // which takes no fdatasync
	must(t, err)
	defer func() { must(t, null.Close()) }()
	for _, name := range names {
		fd, err := strconv.Atoi(name.Name())
		must(t, err)
		if path, err := os.Readlink("/proc/self/fd/" + name.Name()); err != nil || !strings.HasPrefix(path, filepath.Join(s.dir, "log.")) {
			continue
		}
		was, err := unix.Dup(fd)
		must(t, err)
		must(t, unix.Dup3(int(null.Fd()), fd, unix.O_CLOEXEC))
		defer func() { must(t, errors.Join(unix.Dup3(was, fd, unix.O_CLOEXEC), unix.Close(was))) }()
	}
	f()
}

// What a sync that fails has lost of a content, also its length, is written anew with the next record.
func TestASyncThatFailsBeforeARecord(t *testing.T) {
	s, _ := open(t, t.TempDir(), on("one"))
	u := create(t, s, lateBill(), "a bill of some pages")
	must(t, u.Sync(true))
	must(t, u.Truncate(6))
	if _, err := u.WriteAt([]byte("B"), 2); err != nil {
		t.Fatal(err)
	}
	refusingSyncs(t, s, func() {
		if err := s.SyncRemovals(); err == nil {
			t.Fatal("the journal is synced")
		}
	})
	must(t, commit(u))
	s = reopen(t, s, on("two")) // after a crash of the machine
	u, there := s.Get(u.ID())
	if !there {
		t.Fatal("the upload is gone")
	}
	if u.State() != Queued {
		t.Errorf("it is %s: %s", u.State(), u.Record().Reason)
	}
	wantContent(t, u, []byte("a Bill"))
}
