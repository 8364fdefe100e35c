package mounted

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/archivefs/archivefs/internal/doctor"
	"github.com/archivefs/archivefs/internal/fusectl"
)

// FuseConf is where the administrator allows users what only root may do else.
const FuseConf = "/etc/fuse.conf"

// MayLetOthersIn refuses --allow-other if the configuration of FUSE forbids it to the user. If that
// cannot be read, the helper decides.
func MayLetOthersIn(uid int, conf string) error {
	text, err := os.ReadFile(conf) //nolint:gosec // the configuration of FUSE
	if uid == 0 || err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil
	}
	for line := range strings.Lines(string(text)) {
		if slices.Equal(strings.Fields(line), []string{"user_allow_other"}) {
			return nil
		}
	}
	return errors.New("--allow-other needs user_allow_other in " + conf + ", on a line of its own; root can write it there")
}

// IsAutomount reports whether systemd started this mount because a process looks into dir. That
// process waits for us, and if we looked into dir we would wait for ourselves (autofs(5)).
func IsAutomount(dir string) bool {
	top := ""
	for _, m := range fusectl.Mounts("self") {
		if m.Dir == dir {
			top = m.Kind
		}
	}
	return top == "autofs"
}

// IsLeft reports whether a killed process left the mount of an archive at dir. It looks into no automount.
func IsLeft(dir string) bool {
	if _, ours := At(dir); !ours && len(fusectl.Mounts("self")) > 0 { // some systems have no list
		return false
	}
	return IsStale(dir)
}

// Uncover detaches what a killed process left at dir, and opens the directory below, in which programs can
// write until the next mount hides it.
func Uncover(ctx context.Context, dir string) (*os.File, error) {
	if err := detachQuickly(ctx, dir); err != nil {
		return nil, err
	}
	return os.Open(dir) //nolint:gosec // the user names it
}

// Hidden are the names of users' files in the directory below a mount.
func Hidden(below *os.File) (names []string, err error) {
	entries, err := below.ReadDir(-1)
	for _, e := range entries {
		if isSomebodys(e) {
			names = append(names, e.Name())
		}
	}
	return names, err
}

// CheckMountpoint checks that a mount at dir hides no files, unless nonempty allows that.
func CheckMountpoint(dir string, nonempty bool) error {
	if IsAutomount(dir) {
		return nil
	}
	if IsStale(dir) {
		return fmt.Errorf("the process behind the mount at %s is gone, and it is no archive's; unmount it first: fusermount3 -u %s", dir, doctor.Quoted(dir))
	}
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("there is no directory %s to mount at; make it first: mkdir -p %s", dir, dir)
	case err != nil:
		return fmt.Errorf("mount point: %w", err)
	case !info.IsDir():
		return fmt.Errorf("%s is not a directory; name one to mount at", dir)
	}
	if _, status, err := Status(dir); err == nil {
		if left, _ := LeftBy(status); left.Pending > 0 { // an unmount may be waiting for them
			return fmt.Errorf("an archive is mounted at %s already, and has %s to send; archivefs unmount %s waits for them: mount again when it has ended", dir, Pending(&left), dir)
		}
		return fmt.Errorf("an archive is mounted at %s already; unmount it first: archivefs unmount %s", dir, dir)
	}
	if nonempty {
		return nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("mount point: %w", err)
	}
	if slices.ContainsFunc(entries, isSomebodys) {
		return fmt.Errorf("%s is not empty, and a mount would hide what is in it; name an empty directory, or hide it with -o nonempty", dir)
	}
	return nil
}

// isSomebodys reports whether a mount would hide a user's file. Files that desktops leave in every
// directory do not count, nor does one with the name of the control directory.
func isSomebodys(e os.DirEntry) bool {
	return !slices.Contains([]string{".DS_Store", ".localized", ".directory", ".archivefs"}, e.Name())
}
