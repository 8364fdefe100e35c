package doctor

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

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
