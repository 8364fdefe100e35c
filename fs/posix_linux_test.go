package fs_test

import (
	"slices"
	"testing"

	"github.com/hanwen/go-fuse/v2/posixtest"
)

// Reasons why cases of the POSIX suite do not apply to an archive.
const (
	noLinks   = "the archive has no links"
	immutable = "it changes or removes a file after close, which is when it was archived"
	noMoves   = "archived documents and folders stay where they are"
)

var notHere = map[string]string{
	"FallocateKeepSize":          "space is not reserved; programs then write",
	"FcntlFlockLocksFile":        "locks are the kernel's, which keeps those of flock and fcntl apart",
	"FileBasic":                  "modes are the mount's, not a file's",
	"FstatDeleted":               immutable,
	"Link":                       noLinks,
	"LinkUnlinkRename":           noLinks,
	"MkdirRmdir":                 "folders cannot be removed",
	"NlinkZero":                  immutable,
	"OpenAt":                     noMoves,
	"OpenSymlinkRace":            noLinks,
	"ParallelFileOpen":           immutable,
	"RenameOpenDir":              noMoves,
	"RenameOverwriteDestExist":   noMoves,
	"RenameOverwriteDestNoExist": noMoves,
	"SetattrSymlink":             noLinks,
	"SymlinkReadlink":            noLinks,
	"Tmpfile":                    "a file without a name has no place in an archive",
	"TruncateFile":               immutable,
	"TruncateNoFile":             immutable,
}

func TestPosix(t *testing.T) {
	var all []string
	for name := range posixtest.All {
		all = append(all, name)
	}
	slices.Sort(all)
	for _, name := range all {
		t.Run(name, func(t *testing.T) {
			if why, ok := notHere[name]; ok {
				t.Logf("does not apply: %s", why)
				return
			}
			o := newOffice(t, nil)
			m := o.mount(t, nil)
			posixtest.All[name](t, m.path("Muster GmbH", "Briefe"))
		})
	}
}
