package user

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/archivefs/archivefs/cmd/archivefs/internal/mounted"
	"github.com/archivefs/archivefs/cmd/archivefs/internal/settings"
	"github.com/archivefs/archivefs/fs"
	"github.com/archivefs/archivefs/internal/config"
	"github.com/archivefs/archivefs/internal/doctor"
	"github.com/archivefs/archivefs/internal/spool"
)

// uploadPlace is where uploads wait: a mount, or the state directory of one that has ended.
type uploadPlace interface {
	List() []fs.UploadInfo
	// Open opens the bytes of an upload. name is its ID and what the file is called.
	Open(id string) (f *os.File, name string, modified time.Time, err error)
	Discard(id string) error
	Close() error
}

// UploadsAt opens the place that an operand names, MOUNTPOINT|PROFILE|STATEDIR. The caller
// closes it.
func UploadsAt(c *cli.Context, operand string) (dir string, place uploadPlace, err error) {
	if dir, err = settings.MountpointAt(c, operand); err != nil {
		return "", nil, err
	}
	_, status, err := mounted.Status(dir)
	if err == nil {
		return dir, mountedAt(dir, status), nil
	}
	if _, none := config.BoundTo(dir); none != nil {
		return "", nil, err
	}
	if c.Command.Name == RetryCommand().Name {
		return "", nil, fmt.Errorf("%s is a state directory, and only a mount sends what waits in it: mount again with the credentials of then, "+
			"or save it with archivefs uploads export %s", dir, doctor.Quoted(dir))
	}
	place, err = openKept(dir, "archivefs uploads "+c.Command.Name)
	return dir, place, err
}

// mountedUploads are those of a mount, whose control directory shows them.
type mountedUploads struct {
	dir  string
	list []fs.UploadInfo
}

// mountedAt are the uploads of the mount at dir, and its local files, oldest first.
func mountedAt(dir string, status *fs.Status) *mountedUploads {
	list := slices.Concat(status.Uploads.List, status.Uploads.Locals)
	slices.SortFunc(list, func(a, b fs.UploadInfo) int { return strings.Compare(a.ID, b.ID) })
	return &mountedUploads{dir: dir, list: list}
}

func (m *mountedUploads) List() []fs.UploadInfo { return m.list }

func (m *mountedUploads) Open(id string) (f *os.File, name string, modified time.Time, err error) {
	path, err := m.file(id)
	if err != nil {
		return nil, "", time.Time{}, err
	}
	if f, err = os.Open(path); err != nil { //nolint:gosec // in the mount
		return nil, "", time.Time{}, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, "", time.Time{}, errors.Join(err, f.Close())
	}
	return f, filepath.Base(path), info.ModTime(), nil
}

func (m *mountedUploads) Discard(id string) error {
	path, err := m.file(id)
	if err != nil {
		return err
	}
	err = os.Remove(path)
	if errors.Is(err, syscall.EBUSY) {
		return errors.New("it is being sent, or may be archived already; wait for its outcome")
	}
	return err
}

func (m *mountedUploads) Close() error { return nil }

// file finds the file of an upload in the control directory.
func (m *mountedUploads) file(id string) (string, error) {
	uploads := filepath.Join(m.dir, ".archivefs", "uploads")
	entries, err := os.ReadDir(uploads)
	if err != nil {
		return "", fmt.Errorf("read the uploads: %w", err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), id+" ") {
			return filepath.Join(uploads, e.Name()), nil
		}
	}
	if name, err := os.Readlink(filepath.Join(uploads, id)); err == nil { // a local file
		return filepath.Join(uploads, name), nil
	}
	return "", fmt.Errorf("upload %s has no file: %w", id, os.ErrNotExist)
}

// keptUploads are those in a state directory, which is this process's until Close: neither a
// mount nor another command works on it meanwhile.
type keptUploads struct {
	fs.Kept
	dirs *config.Dirs
}

// openKept takes a state directory for a command.
func openKept(dir, command string) (*keptUploads, error) {
	dirs, err := config.OpenBound(dir, command)
	var used *config.InUseError
	switch {
	case errors.As(err, &used) && used.Mountpoint != "":
		return nil, fmt.Errorf("%s is in use by the mount at %s%s: name that in its place, or try again when its process has ended", dir, used.Mountpoint, used.Process())
	case errors.As(err, &used) && used.Command == "":
		return nil, fmt.Errorf("%s is in use by a mount that begins%s: try again", dir, used.Process())
	case err != nil:
		return nil, err
	}
	s, err := spool.Open(spool.Options{Dir: mounted.SpoolOf(dir), Boot: mounted.MachineRun()})
	if err != nil {
		return nil, errors.Join(err, dirs.Close())
	}
	return &keptUploads{Kept: fs.Kept{Spool: s}, dirs: dirs}, nil
}

func (k *keptUploads) Close() error { return errors.Join(k.Spool.Close(), k.dirs.Close()) }
