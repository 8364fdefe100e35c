package doctor

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
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
