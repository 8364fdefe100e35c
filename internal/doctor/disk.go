package doctor

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/dustin/go-humanize"
	"golang.org/x/sys/unix"
)

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
