package fs_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/archivefs/archivefs/internal/testing/hostile"
)

// born returns the attributes of a file with its time of birth, zero if it has none.
func born(t *testing.T, path string) (unix.Statx_t, time.Time) {
	t.Helper()
	var st unix.Statx_t
	must(t, unix.Statx(unix.AT_FDCWD, path, unix.AT_SYMLINK_NOFOLLOW, unix.STATX_BASIC_STATS|unix.STATX_BTIME, &st))
	if st.Mask&unix.STATX_BTIME == 0 {
		return st, time.Time{}
	}
	return st, time.Unix(st.Btime.Sec, int64(st.Btime.Nsec))
}

// needStatx skips the test where the kernel does not ask for times of birth.
func needStatx(t *testing.T) {
	t.Helper()
	var name unix.Utsname
	must(t, unix.Uname(&name))
	release := unix.ByteSliceToString(name.Release[:])
	var major, minor int
	get(fmt.Sscanf(release, "%d.%d", &major, &minor))(t)
	if major < 6 || major == 6 && minor < 6 {
		t.Skipf("Linux %s has no FUSE_STATX", release)
	}
}

// The time of birth is the creation date of the document; all else is as stat(2) says.
func TestTimeOfBirth(t *testing.T) {
	t.Parallel()
	needStatx(t)
	f := newForeign(t, hostile.Config{})
	created := time.Date(2018, 4, 25, 12, 0, 0, 0, time.UTC)
	early := time.Date(1962, 1, 2, 3, 4, 5, 0, time.UTC)
	f.AddDocument(f.bills, hostile.Document{Name: "a.txt", Content: []byte("eins"), Created: created, Archived: created.AddDate(1, 0, 0), Pages: 1})
	f.AddDocument(f.inbox, hostile.Document{Name: "old.txt", Content: []byte("zwei"), Created: early, Pages: 1})
	m := f.mount(t, nil)
	bills := m.path("Muster GmbH", "Rechnungen")
	part := filepath.Join(bills, "neu.part")
	must(t, os.WriteFile(part, []byte("local"), 0o600))
	for path, want := range map[string]time.Time{
		m.path(".archivefs", "status.json"): {}, // before any other: its answer shall not end the questions
		m.dir:                               {},
		bills:                               {},
		part:                                {},
		filepath.Join(bills, "a.txt"):       created,
		m.path("inboxes", "Administrator", "old.txt"): early,
	} {
		for range 2 { // the second answer may be the kernel's own
			st, at := born(t, path)
			if !at.Equal(want) {
				t.Errorf("%s was born at %v, want %v", path, at, want)
			}
			var plain unix.Stat_t
			must(t, unix.Lstat(path, &plain))
			if uint32(st.Mode) != plain.Mode || st.Ino != plain.Ino || st.Uid != plain.Uid ||
				filepath.Base(path) != "status.json" && (st.Mtime.Sec != plain.Mtim.Sec || st.Size != uint64(plain.Size)) { // that one is new each time
				t.Errorf("%s: %+v differs from %+v", path, st, plain)
			}
		}
	}
}

// To ask for the time of birth costs no request.
func TestTimeOfBirthCostsNoRequest(t *testing.T) {
	t.Parallel()
	needStatx(t)
	f := newForeign(t, hostile.Config{List: hostile.ListShape{Sizes: true}})
	f.AddDocument(f.bills, hostile.Document{Name: "a.txt", Content: []byte("eins"), Created: time.Unix(1e9, 0), Pages: 1})
	m := f.mount(t, nil)
	path := m.path("Muster GmbH", "Rechnungen", "a.txt")
	get(os.Stat(path))(t)
	before := len(f.Requests())
	if _, at := born(t, path); at.Unix() != 1e9 {
		t.Errorf("born at %v", at)
	}
	if after := f.Requests()[before:]; len(after) > 0 {
		t.Errorf("requests: %+v", after)
	}
}
