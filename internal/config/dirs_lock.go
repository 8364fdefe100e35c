package config

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/durable"
)

// InUseError says that another process has a state directory.
type InUseError struct {
	State      string
	Mountpoint string // of the mount that has it; empty before it is usable
	Ending     bool   // that mount was unmounted, and its process ends
	Detached   bool   // it is mounted there no more, and its process does not end
	Command    string // that has it, where that is no mount, or one that ends; printable
	PID        int    // of the process; 0 where it is not known
}

// What stands in the lock of a mount begins with one of these, before the mount point. Programs that
// do not know the second take it for a command.
const (
	atMountpoint = ", at "
	wasMountedAt = "the mount that was at "
)

func (e *InUseError) Error() string {
	if e.Command != "" {
		return fmt.Sprintf("the state directory %s is in use by %s%s; try again when that has ended", e.State, e.Command, e.Process())
	}
	if e.Detached {
		return fmt.Sprintf("the state directory %s is in use by %s%s%s, which files that are open or another mount namespace keep; end what uses it, or that process",
			e.State, wasMountedAt, archive.Printable(e.Mountpoint), e.Process())
	}
	where := ""
	if e.Mountpoint != "" {
		where = atMountpoint + archive.Printable(e.Mountpoint)
	}
	return fmt.Sprintf("the state directory %s is in use by another mount of this archive%s%s; "+
		"unmount that, or name another directory with --state-dir", e.State, where, e.Process())
}

// Process is " (process PID)", empty where the process is not known.
func (e *InUseError) Process() string {
	if e.PID == 0 {
		return ""
	}
	return fmt.Sprintf(" (process %d)", e.PID)
}

// UsedBy returns who has a state directory, nil if nobody has it, as far as this user may know.
func UsedBy(state string) *InUseError {
	if held, err := locked(filepath.Join(state, lockName)); !held || err != nil {
		return nil
	}
	return LastUsedBy(state)
}

// LastUsedBy is UsedBy, also after the process has ended.
func LastUsedBy(state string) *InUseError {
	lock, err := os.Open(filepath.Join(state, lockName)) //nolint:gosec // the state directory is the user's choice
	if err != nil {
		return nil
	}
	defer lock.Close() //nolint:errcheck // it was only read
	return inUse(state, lock)
}

// inUse reads who has a state directory from the lock, where usedBy wrote it.
func inUse(state string, lock io.Reader) *InUseError {
	content, _ := io.ReadAll(lock)
	who, e := string(content), &InUseError{State: state}
	if at := strings.LastIndexByte(who, '\n'); at >= 0 {
		e.PID, _ = strconv.Atoi(who[at+1:])
		who = who[:at]
	}
	if at, ok := strings.CutPrefix(who, atMountpoint); ok {
		e.Mountpoint = at
		return e
	}
	e.Command = archive.Printable(who)
	if at, ok := strings.CutPrefix(who, wasMountedAt); ok {
		e.Mountpoint, e.Ending = at, true
	}
	return e
}

// take locks the state directory: two mounts never share one. The lock goes with the process.
func (d *Dirs) take() error {
	path := filepath.Join(d.State, lockName)
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600) //nolint:gosec // below our own directory
	if err != nil {
		return fmt.Errorf("lock state directory: %w", err)
	}
	if err := lockAlone(f); err != nil {
		defer f.Close() //nolint:errcheck // nothing was written
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return inUse(d.State, f)
		}
		return fmt.Errorf("lock state directory %s: %w", d.State, err)
	}
	if durable.StillAt(path, f) != nil {
		_ = f.Close() // nothing was written
		return fmt.Errorf("another mount that failed removed the state directory %s at this moment; try again", d.State)
	}
	d.lock = f
	return d.usedBy("")
}

// A process that only looks at a state directory shares its lock with others that look, for an
// instant, or for as long as a busy machine does not run it.
const (
	lookTime = 2 * time.Millisecond
	lookMost = 5000 // waits for those that look
)

// lockAlone takes the lock exclusively. It waits for those that only look, and is EWOULDBLOCK at
// once while another process has it exclusively.
func lockAlone(f *os.File) error {
	for n := 0; ; n++ {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EWOULDBLOCK) || n == lookMost || syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB) != nil {
			return err
		}
		if err := syscall.Flock(int(f.Fd()), syscall.LOCK_UN); err != nil {
			return err
		}
		time.Sleep(lookTime)
	}
}

// MountedAt notes where the archive is mounted, for InUseError and StateAt.
func (d *Dirs) MountedAt(dir string) error {
	d.mountpoint = dir
	return errors.Join(d.usedBy(atMountpoint+dir), d.linkFrom(dir))
}

// Ending notes that the archive is not mounted any more and the process about to end: the next
// mount may wait for that (Hasten).
func (d *Dirs) Ending() error { return d.usedBy(wasMountedAt + d.mountpoint) }

// placeOf is the link from a mount point to the state directory of its mount, for when the mount
// cannot be asked. A mount that was killed leaves it.
func placeOf(mountpoint string) (string, error) {
	home, err := LookHomes("")
	return filepath.Join(home.State, "at-"+dirName(mountpoint)), err
}

// linkFrom makes that link, for as long as the directories are open.
func (d *Dirs) linkFrom(mountpoint string) error {
	link, err := placeOf(mountpoint)
	if err != nil {
		return err
	}
	made := missing(filepath.Dir(link))
	if err := private(filepath.Dir(link)); err != nil {
		return err
	}
	if err := os.Remove(link); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	d.links = append([]string{link}, made...)
	return os.Symlink(d.State, link)
}

// StateAt returns the state directory of the mount at a mount point, or of the one that was killed there.
func StateAt(mountpoint string) (string, error) {
	link, err := placeOf(mountpoint)
	if err != nil {
		return "", err
	}
	return os.Readlink(link)
}

// usedBy notes who has the directory, empty for a mount that is not usable yet, and in a line of its own the process.
func (d *Dirs) usedBy(who string) error {
	who += "\n" + strconv.Itoa(os.Getpid())
	err := d.lock.Truncate(0)
	if err == nil {
		_, err = d.lock.WriteAt([]byte(who), 0)
	}
	if err != nil {
		return fmt.Errorf("write to the lock of the state directory: %w", err)
	}
	return nil
}

// Hasten asks the mount that has a state directory to leave its uploads to the next one if it was unmounted, until the
// mark is closed or the process ends. The error wraps syscall.EWOULDBLOCK while another process asks.
func Hasten(state string) (mark io.Closer, err error) {
	f, err := os.OpenFile(filepath.Join(state, hastenName), os.O_CREATE|os.O_RDWR, 0o600) //nolint:gosec // below our own directory
	if err != nil {
		return nil, err
	}
	if err := lockAlone(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// IsHastened reports whether another process asks for that.
func (d *Dirs) IsHastened() bool {
	is, err := locked(filepath.Join(d.State, hastenName))
	return is && err == nil
}
