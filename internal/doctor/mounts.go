package doctor

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
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
