package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"github.com/dustin/go-humanize"
	"golang.org/x/sys/unix"

	"github.com/archivefs/archivefs/internal/fusectl"
)

// Kind is the kind of file system of our mounts.
const Kind = "fuse.archivefs"

// State is the status of a mount.
type State struct {
	Away   string // why the service does not answer; empty if it does
	Disk   string // why the disk of its state takes no files; empty if it does
	Failed int    // uploads
	// HeldBack are whole documents that stay on this machine because of their names.
	HeldBack []string
	Unseen   string // the programs that it cannot look at; empty if there are none
}

const mountCheck = "mount"

// Mount explains the status of the mount at dir, or the error err of asking for it.
func Mount(dir string, err error, s State) Finding {
	switch {
	case errors.Is(err, syscall.ENOTCONN):
		return Fail(mountCheck, dir+" is stale (Transport endpoint is not connected): the process behind it is gone",
			"archivefs unmount "+Quoted(dir)+" takes it away; then mount again, and what waited goes on")
	case errors.Is(err, os.ErrPermission):
		return Fine(mountCheck, dir+" belongs to another user")
	case errors.Is(err, os.ErrNotExist): // since the mounts were listed
		return Fine(mountCheck, dir+" has just gone")
	case err != nil:
		return Fail(mountCheck, fmt.Sprintf("%s cannot be asked: %v", dir, cause(err)), "see the log of its process; fusermount3 -uz "+Quoted(dir)+" takes it away")
	case s.Away != "":
		return Warn(mountCheck, dir+" works, but its service is away: "+s.Away, "see what is said about the service")
	case s.Disk != "":
		return Warn(mountCheck, dir+" takes no files: "+s.Disk, "make the disk of its state directory writable, or make room on it")
	case s.Failed > 0:
		return Warn(mountCheck, fmt.Sprintf("%s works; uploads that failed: %d", dir, s.Failed), "archivefs uploads list "+Quoted(dir)+" shows them")
	case len(s.HeldBack) > 0:
		return Warn(mountCheck, fmt.Sprintf("%s works; whole documents that stay here because of their names: %s", dir, strings.Join(s.HeldBack, ", ")), "rename them, and they are archived")
	case s.Unseen != "":
		return Unseen(mountCheck, dir+" works, but", s.Unseen)
	}
	return Fine(mountCheck, dir+" works")
}

// Unseen explains that a mount cannot look at some programs.
func Unseen(check, what, programs string) Finding {
	return Warn(check, what+" cannot look at "+programs+": what is killed while it writes seems to have finished",
		"mount in the PID namespace of these programs, with its /proc")
}

// Share explains what a share of Samba lacks that exports the archive at dir.
func Share(name, dir string, lacks []string) Finding {
	const check = "share"
	if len(lacks) > 0 {
		return Warn(check, fmt.Sprintf("the share %s of Samba, of %s, lacks %s", name, dir, strings.Join(lacks, ", ")),
			"archivefs share samba prints the section that it should have")
	}
	return Fine(check, fmt.Sprintf("the share %s of Samba exports %s", name, dir))
}

// Quoted quotes a path for a shell.
func Quoted(path string) string {
	if strings.ContainsFunc(path, func(r rune) bool {
		return !strings.ContainsRune("/.-_~", r) && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	}) {
		return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
	}
	return path
}

// NFS warns of each of the archives at dirs that is exported by NFS: by the kernel (exports(5)) or by
// nfs-ganesha, whose configurations are in etc. A client keeps handles of files across a restart of the
// mount, and they are those of other documents then.
func NFS(etc string, dirs []string) (findings []Finding) {
	files := []string{filepath.Join(etc, "exports")}
	more, _ := filepath.Glob(filepath.Join(etc, "exports.d", "*.exports")) // the pattern is right
	for _, file := range append(files, more...) {
		findings = append(findings, exported(file, dirs, ofKernel)...)
	}
	return append(findings, exported(filepath.Join(etc, "ganesha", "ganesha.conf"), dirs, ofGanesha)...)
}

// exported warns of the archives at dirs that a configuration names, or a directory in them.
func exported(file string, dirs []string, pathOf func(line string) string) (findings []Finding) {
	b, err := os.ReadFile(file) //nolint:gosec // of the machine's configuration
	if err != nil {
		return nil // there is none, or it is for root
	}
	for _, dir := range dirs {
		if slices.ContainsFunc(strings.Split(string(b), "\n"), func(line string) bool {
			at := path.Clean(pathOf(strings.TrimSpace(line)))
			return at == dir || strings.HasPrefix(at, dir+"/")
		}) {
			findings = append(findings, Warn("NFS", dir+" is exported by NFS, and after a restart of the mount a client may read another document than the one it opened",
				"take it out of "+file+"; let clients mount a share of Samba, or run archivefs themselves"))
		}
	}
	return findings
}

// ofKernel returns the path of a line of exports(5), which may be in quotes.
func ofKernel(line string) string {
	if quoted, is := strings.CutPrefix(line, `"`); is {
		at, _, _ := strings.Cut(quoted, `"`)
		return at
	}
	at, _, _ := strings.Cut(strings.ReplaceAll(line, "\t", " "), " ")
	return fusectl.Unescape(at)
}

// ofGanesha returns the path of a line of a block EXPORT, which may begin on the same line.
func ofGanesha(line string) string {
	line, _, _ = strings.Cut(line, "#")
	for parameter := range strings.FieldsFuncSeq(line, func(r rune) bool { return strings.ContainsRune("{};", r) }) {
		if name, value, _ := strings.Cut(parameter, "="); strings.EqualFold(strings.TrimSpace(name), "path") {
			return strings.Trim(strings.TrimSpace(value), `"'`)
		}
	}
	return ""
}

// Usage is the free and the total space of a disk.
type Usage struct {
	Free, Total uint64 // bytes, for this user
	Files       uint64 // how many files can be created; 0 with a Total of files of 0 is unknown
	AllFiles    uint64
}

// UsageOf returns the usage of the disk on which dir is, or will be.
func UsageOf(dir string) (Usage, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(existing(dir), &s); err != nil {
		return Usage{}, err
	}
	block := uint64(s.Bsize) //nolint:gosec,unconvert,nolintlint // positive; its type differs between systems
	return Usage{Free: s.Bavail * block, Total: s.Blocks * block, Files: s.Ffree, AllFiles: s.Files}, nil
}

// existing is dir, or the nearest existing directory above it.
func existing(dir string) string {
	for {
		if _, err := os.Lstat(dir); !errors.Is(err, os.ErrNotExist) || dir == filepath.Dir(dir) {
			return dir
		}
		dir = filepath.Dir(dir)
	}
}

// scarce is the free space in bytes below which Space warns.
const scarce = 1 << 30

// Space checks the disk of dir, on which what is kept. keepFree bytes of the disk, or a sixteenth
// of it, must stay free.
func Space(what, dir string, u Usage, err error, keepFree int64) Finding {
	check := "space for " + what
	if err != nil {
		return Fail(check, fmt.Sprintf("the disk of %s does not say what it has: %v", dir, err), "look at it with df "+existing(dir))
	}
	free := humanize.IBytes(u.Free) + " free for " + dir
	reserve := min(uint64(max(keepFree, 0)), u.Total/16)
	switch {
	case u.Total == 0:
		return noDisk(check, dir)
	case u.AllFiles > 0 && u.Files == 0:
		return Fail(check, "the disk of "+dir+" can have no further files", "remove files there: df -i "+existing(dir))
	case u.Free <= reserve:
		return Fail(check, fmt.Sprintf("the disk is full: %s, and %s are kept free", free, humanize.IBytes(reserve)),
			"make room there, or name another directory")
	case u.Free < scarce:
		return Warn(check, "little: "+free, "make room before you put in large documents")
	}
	return Fine(check, free)
}

// noDisk reports that dir is in a file system of the kernel, such as /proc, where root may write by
// its mode but nothing can be kept.
func noDisk(check, dir string) Finding {
	return Fail(check, "nothing can be kept in "+dir+", which is on no disk", "name another directory")
}

// Writable checks whether this user can write to dir, or create it.
func Writable(check, dir string) Finding {
	at := existing(dir)
	usage, unknown := UsageOf(at)
	switch err := unix.Access(at, unix.W_OK|unix.X_OK); {
	case unknown == nil && usage.Total == 0:
		return noDisk(check, dir)
	case err != nil:
		return Fail(check, fmt.Sprintf("you cannot write to %s: %v", at, err), "change who owns it: chown, or name another directory")
	case at != dir:
		return Fine(check, dir+" is made at the first mount")
	}
	return Fine(check, dir)
}

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

// Privileged reports whether a process has the capability SYS_ADMIN, by the text of its /proc/PID/status.
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
