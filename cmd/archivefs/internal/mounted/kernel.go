// Package mounted looks at mounts from outside: what the kernel, their control directories and their
// state directories say of them. It unmounts them, and says what they leave.
package mounted

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/archivefs/archivefs/fs"
	"github.com/archivefs/archivefs/internal/doctor"
	"github.com/archivefs/archivefs/internal/fusectl"
)

// Archives are the directories at which archives are mounted, as far as the system
// tells.
func Archives() (dirs []string) {
	for _, m := range doctor.Mounts(Mountinfo("self")) {
		dirs = append(dirs, m.Dir)
	}
	return dirs
}

// IsStale reports whether dir is a mount whose process is gone. It asks what the kernel does
// not remember by itself: the attributes of a mount outlive its process.
func IsStale(dir string) bool {
	var s unix.Statfs_t
	return errors.Is(unix.Statfs(dir, &s), syscall.ENOTCONN)
}

// AbortMount aborts the connection of a mount to the kernel.
func AbortMount(m doctor.Mounted) error {
	_, text, _ := strings.Cut(m.Device, ":")
	minor, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		return err
	}
	if err = fusectl.Abort(uint32(minor)); err == nil {
		return nil
	}
	ferr := forceUnmount(m.Dir)
	if ferr == nil || errors.Is(ferr, syscall.EBUSY) { // aborted all the same
		return nil
	}
	return err
}

// Mountinfo is what is mounted in the mount namespace of a process, or of this one, "self". It is
// empty where the system does not tell.
func Mountinfo(process string) string {
	text, _ := os.ReadFile(filepath.Join("/proc", process, "mountinfo")) //nolint:gosec // below /proc
	return string(text)
}

// At is the archive that is known to be mounted at dir. It asks the kernel and not the mount,
// which may not answer.
func At(dir string) (found doctor.Mounted, ok bool) {
	dir = BehindLinks(dir)
	for _, m := range doctor.Mounts(Mountinfo("self")) {
		if m.Dir == dir {
			found, ok = m, true
		}
	}
	return found, ok
}

// BehindLinks is the directory that dir names, where a mount may be that does not answer: it is
// not looked at.
func BehindLinks(dir string) string {
	for range 40 { // as many as Linux follows
		if above, err := filepath.EvalSymlinks(filepath.Dir(dir)); err == nil {
			dir = filepath.Join(above, filepath.Base(dir))
		}
		target, err := os.Readlink(dir)
		if err != nil {
			return dir
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(filepath.Dir(dir), target)
		}
		dir = target
	}
	return dir
}

// DetachMount takes a mount out of sight also while files of it are open. It does not leave
// that half done when ctx ends.
func DetachMount(ctx context.Context, dir string) error {
	return Fusermount(context.WithoutCancel(ctx), true, dir)
}

// Fusermount calls the helper that unmounts without privileges.
func Fusermount(ctx context.Context, lazily bool, dir string) error {
	mount := BehindLinks(dir) // the helper follows none
	if !strings.HasPrefix(mount, "/") {
		mount = "./" + mount
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	command := unmounter(lazily, mount)
	out, err := exec.CommandContext(ctx, command[0], command[1:]...).CombinedOutput() //nolint:gosec // a path, as an argument
	switch {
	case err == nil:
		return nil
	case errors.Is(err, exec.ErrNotFound):
		return fmt.Errorf("unmount %s: %w; %s", dir, fs.ErrNoHelper, doctor.InstallHelper)
	}
	return refusal(dir, strings.Join(strings.Fields(string(out)), " "), err)
}

// refusal turns what fusermount3 said into a sentence that names the cure. It has no exit
// statuses of its own, so that its words must do.
func refusal(dir, said string, err error) error {
	switch {
	case strings.Contains(said, "busy"):
		return fmt.Errorf("a program has files in %s open, or is in it; fuser -vm %s (package psmisc) shows which: end it, or use unmount --force", dir, doctor.Quoted(dir))
	case strings.Contains(said, "not found in /etc/mtab"), strings.Contains(said, "not permitted"), strings.Contains(said, "ermission denied"):
		return fmt.Errorf("you did not mount %s: the user who did can unmount it, or root with umount %s", dir, doctor.Quoted(dir))
	case said != "":
		return fmt.Errorf("unmount %s: %s", dir, said)
	}
	return fmt.Errorf("unmount %s: %w", dir, err)
}

// unmounter is the command that unmounts dir without privileges (fusermount3(1), on macOS umount(8));
// lazily, also while files are open.
func unmounter(lazily bool, dir string) []string {
	switch {
	case runtime.GOOS == "darwin" && lazily:
		return []string{"umount", "-f", dir}
	case runtime.GOOS == "darwin":
		return []string{"umount", dir}
	case lazily:
		return []string{"fusermount3", "-uz", dir}
	}
	return []string{"fusermount3", "-u", dir}
}
