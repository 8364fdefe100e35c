package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
)

// Device checks /dev/fuse, through which a file system talks to the kernel. A user who may not open
// it can mount with the helper.
func Device(path string, root bool) Finding {
	const check = "FUSE device"
	f, err := os.OpenFile(path, os.O_RDWR, 0) //nolint:gosec // the device of FUSE
	switch {
	case err == nil:
		_ = f.Close() // nothing was written
		return Fine(check, path+" can be opened")
	case errors.Is(err, os.ErrNotExist), errors.Is(err, syscall.ENODEV), errors.Is(err, syscall.ENXIO):
		return Fail(check, "there is no "+path, "root loads it with modprobe fuse; a container needs --device "+path+" and the capability SYS_ADMIN")
	case errors.Is(err, os.ErrPermission) && !root:
		return Warn(check, "you may not open "+path+"; fusermount3 has to do it for you", "if mounting fails: chmod 666 "+path+", as root")
	}
	return Fail(check, fmt.Sprintf("%s cannot be opened: %v", path, cause(err)), "a container needs --device "+path+" and the capability SYS_ADMIN")
}

// InstallHelper says how to install the program that Helper checks.
const InstallHelper = "install fuse3: apt install fuse3, or dnf install fuse3"

// Helper checks the program that mounts for users other than root, and unmounts for all.
func Helper(name string, root bool) Finding {
	check := "FUSE helper"
	path, err := exec.LookPath(name)
	if err != nil {
		return Fail(check, "the program "+name+" is missing", InstallHelper)
	}
	info, err := os.Stat(path)
	if err != nil {
		return Fail(check, fmt.Sprintf("%s cannot be used: %v", path, cause(err)), "install fuse3 again")
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if mayMount := info.Mode()&os.ModeSetuid != 0 && ok && owner.Uid == 0; !root && !mayMount {
		return Fail(check, path+" may not mount for you, because it does not run as root", "root gives it that back: chown root "+path+" && chmod u+s "+path)
	}
	return Fine(check, path)
}

// OtherUsers says whether --allow-other is possible. refusal is why not, nil for nothing; wanted
// says whether the options have it.
func OtherUsers(wanted bool, refusal error) Finding {
	const check = "other users"
	switch {
	case refusal != nil && wanted:
		return Fail(check, "they cannot be let in", refusal.Error())
	case refusal != nil:
		return Fine(check, "they stay out; "+refusal.Error())
	case wanted:
		return Fine(check, "--allow-other lets them in")
	}
	return Fine(check, "they stay out; --allow-other would let them in")
}

// Kernel says what the kernel supports. release is its version, such as 6.9.3-amd64; privileged
// says whether this user may pass open files to it (passthrough).
func Kernel(release string, privileged bool) Finding {
	const check = "kernel"
	var major, minor int // 0 if it has none
	_, _ = fmt.Sscanf(release, "%d.%d", &major, &minor)
	name := "Linux " + release
	switch {
	case runtime.GOOS != "linux":
		return Fine(check, runtime.GOOS+", which has no passthrough")
	case major < 4 || major == 4 && minor < 20:
		return Warn(check, name+" is older than what this program was tried on", "4.20 or later is better")
	case major < 6 || major == 6 && minor < 9:
		return Fine(check, name+", which has no passthrough yet; that began with 6.9")
	case !privileged:
		return Fine(check, name+"; passthrough takes the capability SYS_ADMIN, which you do not have")
	}
	return Fine(check, name+"; passthrough is possible")
}

// Privileged reports whether a process has the capability SYS_ADMIN, by the text of its
// /proc/PID/status.
func Privileged(status string) bool {
	const sysAdmin = 21 // capabilities(7)
	var effective uint64
	_, of, _ := strings.Cut(status, "CapEff:")
	_, _ = fmt.Sscanf(of, "%x", &effective) // none without that line
	return effective>>sysAdmin&1 == 1
}

// cause is the error about a path, without the path.
func cause(err error) error {
	var wrong *fs.PathError
	if errors.As(err, &wrong) {
		return wrong.Err
	}
	return err
}
