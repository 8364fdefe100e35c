// Package mounted looks at mounts from outside: at the kernel, at control directories and at state
// directories. It also unmounts.
package mounted

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/archivefs/archivefs/fs"
	"github.com/archivefs/archivefs/internal/doctor"
	"github.com/archivefs/archivefs/internal/fusectl"
)

// Archives are the mount points of archives, as far as the system knows.
func Archives() (dirs []string) {
	for _, m := range archivesSeenBy("self") {
		dirs = append(dirs, m.Dir)
	}
	return dirs
}

// Own are the mount points of archives that this user has mounted.
func Own() []string { return ownOf(archivesSeenBy("self"), os.Getuid()) }

func ownOf(mounts []fusectl.Mounted, uid int) (dirs []string) {
	for _, m := range mounts {
		if slices.Contains(strings.Split(m.Options, ","), "user_id="+strconv.Itoa(uid)) {
			dirs = append(dirs, m.Dir)
		}
	}
	return dirs
}

// archivesSeenBy are the archives in the mount namespace of a process; "self" is this one.
func archivesSeenBy(process string) []fusectl.Mounted {
	return slices.DeleteFunc(fusectl.Mounts(process), func(m fusectl.Mounted) bool { return m.Kind != doctor.Kind })
}

// IsStale reports whether dir is a mount without a process. It asks for something that the kernel
// does not cache, because cached attributes outlive the process.
func IsStale(dir string) bool {
	var s unix.Statfs_t
	return errors.Is(unix.Statfs(dir, &s), syscall.ENOTCONN)
}

// AbortMount aborts the connection of a mount to the kernel, unless the mount is gone.
func AbortMount(m fusectl.Mounted) error {
	_, text, _ := strings.Cut(m.Device, ":")
	minor, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		return err
	}
	listed, err := fusectl.Find(uint32(minor))
	if err == nil {
		defer listed.Close()
		if now, ok := At(m.Dir); !ok || now.ID != m.ID {
			return nil
		}
		err = listed.Abort()
	}
	if err == nil {
		return nil
	}
	ferr := forceUnmount(m.Dir)
	if ferr == nil || errors.Is(ferr, syscall.EBUSY) { // aborted all the same
		return nil
	}
	return err
}

// At is the archive that is mounted at dir. It asks the kernel, because the mount may not answer.
func At(dir string) (found fusectl.Mounted, ok bool) { return SeenBy("self", BehindLinks(dir)) }

// SeenBy is the archive that a process sees mounted at dir.
func SeenBy(process, dir string) (found fusectl.Mounted, ok bool) {
	for _, m := range archivesSeenBy(process) {
		if m.Dir == dir {
			found, ok = m, true
		}
	}
	return found, ok
}

// BehindLinks resolves symbolic links in dir, except the last component, which may be a mount that does not answer.
func BehindLinks(dir string) string {
	for range 40 { // the limit of Linux
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

// DetachMount detaches a mount, even with open files. It finishes even if ctx ends.
func DetachMount(ctx context.Context, dir string) error {
	return Fusermount(context.WithoutCancel(ctx), true, dir)
}

// Fusermount calls fusermount3, which unmounts without privileges.
func Fusermount(ctx context.Context, lazily bool, dir string) error {
	mount := BehindLinks(dir) // fusermount3 follows no links
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

// BusyError says that programs use a mount.
type BusyError struct {
	Dir    string
	Silent time.Duration // how long the service has not answered, if that is long: the programs may wait for it
}

func (e *BusyError) Error() string {
	const force = ", or use unmount --force"
	text := "a program has files in " + e.Dir + " open, or is in it"
	if e.Silent > 0 {
		return fmt.Sprintf("%s, and may wait for the service, which has not answered for %s; repeat this when it answers again%s", text, e.Silent, force)
	}
	return text + "; fuser -vm " + doctor.Quoted(e.Dir) + " (package psmisc) shows which: end it" + force
}

// refusal turns a message of fusermount3 into a sentence that names the cure. The program has no
// exit statuses, so the message must do.
func refusal(dir, said string, err error) error {
	switch {
	case strings.Contains(said, "busy"):
		return &BusyError{Dir: dir}
	case strings.Contains(said, "not found in /etc/mtab"), strings.Contains(said, "not permitted"), strings.Contains(said, "ermission denied"):
		return fmt.Errorf("you did not mount %s: the user who did can unmount it, or root with umount %s", dir, doctor.Quoted(dir))
	case said != "":
		return fmt.Errorf("unmount %s: %s", dir, said)
	}
	return fmt.Errorf("unmount %s: %w", dir, err)
}

// unmounter is the command that unmounts dir without privileges (fusermount3(1), on macOS
// umount(8)); lazily: even with open files.
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
