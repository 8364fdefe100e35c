package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"github.com/archivefs/archivefs/internal/fusectl"
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
	if wrong, ok := errors.AsType[*fs.PathError](err); ok {
		return wrong.Err
	}
	return err
}

// AppArmor is what a machine says about the profile that confines fusermount3. Ubuntu has it since 25.04.
type AppArmor struct {
	Enabled  string // a file with Y if the kernel enforces profiles
	Profiles string // the directory of the profiles
}

// SystemAppArmor is that of this machine.
var SystemAppArmor = AppArmor{"/sys/module/apparmor/parameters/enabled", "/etc/apparmor.d"}

const helperProfile = "fusermount3"

// unconfined are the directories below which the profile allows mounts.
var unconfined = []string{"/home/", "/root/", "/mnt/", "/media/", "/tmp/", "/run/user/"}

// Cure returns the command that lets fusermount3 mount at dir, empty if the profile allows that or there
// is none. Only root can see what the kernel enforces, so it goes by the files.
func (a AppArmor) Cure(dir string) string {
	enabled, err := os.ReadFile(a.Enabled)
	if err != nil || strings.TrimSpace(string(enabled)) != "Y" {
		return ""
	}
	if slices.ContainsFunc(unconfined, func(above string) bool { return strings.HasPrefix(dir, above) }) {
		return ""
	}
	profile := filepath.Join(a.Profiles, helperProfile)
	if _, err := os.Stat(profile); err != nil {
		return ""
	}
	if _, err := os.Lstat(filepath.Join(a.Profiles, "disable", helperProfile)); err == nil {
		return ""
	}
	own, place := filepath.Join(a.Profiles, "local", helperProfile), `"`+special.ReplaceAllString(dir, `\$0`)+`/"`
	if rules, err := os.ReadFile(own); err == nil && strings.Contains(string(rules), place) { //nolint:gosec // of the machine's configuration
		return ""
	}
	return `printf '%s\n' ` + Quoted("mount fstype=fuse.archivefs options=(nosuid,nodev) options in (ro,rw,noexec) -> "+place+",") +
		" " + Quoted("umount "+place+",") + " >>" + own + " && apparmor_parser -r " + profile + ", as root"
}

// special is what has a meaning in a quoted path of a profile (apparmor.d(5)).
var special = regexp.MustCompile(`["\\*?\[\]{}^]`)

// SELinuxFS is where the kernel shows its SELinux; there is nothing where it has none.
const SELinuxFS = "/sys/fs/selinux"

// SELinux warns if SELinux, as selinuxfs shows it, keeps Samba from what the archive at dir shares: its
// boolean for FUSE is off (samba_selinux(8)), and none of the mounts has given the archive another label.
func SELinux(selinuxfs, dir string, mounts []fusectl.Mounted) []Finding {
	enforces, _ := os.ReadFile(filepath.Join(selinuxfs, "enforce"))                         //nolint:gosec // of the kernel
	permits, err := os.ReadFile(filepath.Join(selinuxfs, "booleans", "samba_share_fusefs")) //nolint:gosec // of the kernel
	if err != nil || !strings.HasPrefix(string(enforces), "1") || !strings.HasPrefix(string(permits), "0") {
		return nil
	}
	for _, m := range mounts {
		if strings.HasPrefix(dir+"/", m.Dir+"/") && m.Kind == Kind && strings.Contains(m.Options, "context=") {
			return nil
		}
	}
	return []Finding{Warn("share", "SELinux keeps Samba from "+dir, "setsebool -P samba_share_fusefs on, as root")}
}
