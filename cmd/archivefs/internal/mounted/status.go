package mounted

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/pkg/xattr"
	"golang.org/x/sys/unix"

	"github.com/archivefs/archivefs/cmd/archivefs/internal/command"
	"github.com/archivefs/archivefs/fs"
	"github.com/archivefs/archivefs/internal/config"
	"github.com/archivefs/archivefs/internal/doctor"
)

// MountLimit is how long a mount may take to return its status.
const MountLimit = 3 * time.Second

// NoticesSoon is how long a process takes at most to notice that it was unmounted.
const NoticesSoon = 3 * time.Second

// ErrSilent says that a mount does not answer.
var ErrSilent = fmt.Errorf("no answer within %s", MountLimit)

// Answers returns an error unless the mount at dir answers and is open to this user. Other
// processes ask it, because a process that asks a mount that hangs cannot be killed.
func Answers(dir string) error {
	// The kernel caches the attributes of the first request. It does not cache the second, which is
	// open to all.
	for _, args := range [][]string{{"--", dir}, {"-f", "--", dir}} {
		var said bytes.Buffer
		look := exec.Command("stat", args...) //nolint:gosec,noctx // a path; it is not waited for longer than below
		look.Env, look.Stderr = append(os.Environ(), "LC_ALL=C"), &said
		if err := look.Start(); err != nil {
			return err
		}
		ended := make(chan error, 1)
		go func() { ended <- look.Wait() }()
		limit := time.NewTimer(MountLimit)
		select {
		case err := <-ended:
			limit.Stop()
			if err != nil {
				return errorOf(said.String())
			}
		case <-limit.C:
			_ = look.Process.Kill() // it is killed once the mount answers
			return ErrSilent
		}
	}
	return nil
}

// errorOf turns the message of stat(1) back into an error.
func errorOf(said string) error {
	for _, err := range []syscall.Errno{syscall.ENOTCONN, syscall.EACCES, syscall.ENOENT} {
		if strings.HasSuffix(strings.ToLower(strings.TrimSpace(said)), err.Error()) {
			return err
		}
	}
	return errors.New(strings.TrimSpace(said))
}

// Status reads the status of the mount at dir.
func Status(dir string) ([]byte, *fs.Status, error) {
	text, err := os.ReadFile(filepath.Join(dir, ".archivefs", "status.json")) //nolint:gosec // the user names it
	switch {
	case errors.Is(err, syscall.ENOTCONN):
		stale := fmt.Sprintf("the mount at %s is stale: the process behind it is gone; archivefs unmount %s takes it away", dir, doctor.Quoted(dir))
		if state, err := config.StateAt(BehindLinks(dir)); err == nil {
			stale += "; or " + GoesOn(state, false)
		}
		return nil, nil, errors.New(stale)
	case errors.Is(err, os.ErrPermission):
		return nil, nil, fmt.Errorf(
			"%s is not open to you; if an archive is mounted there, only its user can use it (root can unmount it with umount %s)", dir, doctor.Quoted(dir))
	case errors.Is(err, os.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return nil, nil, errors.New(command.Join("there is no archive mounted at "+dir, lastAt(dir)))
	case err != nil:
		return nil, nil, fmt.Errorf("ask the mount at %s: %w", dir, err)
	}
	var status fs.Status
	if err := json.Unmarshal(text, &status); err != nil {
		return nil, nil, fmt.Errorf("the mount at %s answers with something else than a status: %w", dir, err)
	}
	return text, &status, nil
}

// UploadsStatus reads the status of the mount at dir for what it says about uploads. It is an error that the
// mount tells this user nothing about them.
func UploadsStatus(dir string) (*fs.Status, error) {
	_, status, err := Status(dir)
	if err == nil && status.Partial {
		return nil, fmt.Errorf("only the user whose mount %s is sees what waits there to be archived or could not be, and decides about it", dir)
	}
	return status, err
}

// MountOf returns the directory at which the archive with an absolute path is mounted.
func MountOf(path string) (string, error) {
	var here, above unix.Stat_t
	if err := unix.Stat(path, &here); err != nil {
		return "", err
	}
	dir := path
	for dir != "/" && unix.Stat(filepath.Dir(dir), &above) == nil && above.Dev == here.Dev {
		dir = filepath.Dir(dir)
	}
	if _, err := os.Stat(filepath.Join(dir, ".archivefs", "status.json")); err != nil {
		return "", errors.New("it is in no mounted archive")
	}
	return dir, nil
}

// Attribute returns an extended attribute of a file, empty if it has none.
func Attribute(path, name string) string {
	value, _ := xattr.Get(path, name)
	return string(value)
}

// SetAttribute sets an extended attribute. Errors are those of the system alone.
func SetAttribute(path, name, value string) error {
	err := xattr.Set(path, name, []byte(value))
	if of := (*xattr.Error)(nil); errors.As(err, &of) {
		return of.Err
	}
	return err
}

// AwayInWords says why a service cannot be used.
func AwayInWords(refused bool) string {
	if refused {
		return "the service refuses the credentials"
	}
	return "the service does not answer, or cannot do what it is asked"
}
