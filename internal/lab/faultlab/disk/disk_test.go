package disk

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"syscall"
	"testing"
)

// put makes a file with content in a directory; nothing is synced.
func put(t *testing.T, d *Disk, dir *inode, name, content string) *inode {
	t.Helper()
	n, errno := d.make(dir, name, false, 0o600)
	must(t, errno)
	must(t, d.write(n, []byte(content), 0))
	return n
}

func must(t *testing.T, errno syscall.Errno) {
	t.Helper()
	if errno != 0 {
		t.Fatal(errno)
	}
}

// content is what a name in a directory holds, or "none".
func content(d *Disk, dir *inode, name string) string {
	n, errno := d.lookup(dir, name)
	if errno != 0 {
		return "none"
	}
	p := make([]byte, 1<<16)
	count, _ := d.read(n, p, 0)
	return string(p[:count])
}

// crashes returns what a crash can leave of a history, by how often in 300 crashes.
func crashes(t *testing.T, history func(*Disk), look func(*Disk) string) map[string]int {
	t.Helper()
	seen := map[string]int{}
	for seed := range uint64(300) {
		d := New()
		history(d)
		d.Crash(rand.New(rand.NewPCG(seed, 0)))
		seen[look(d)]++
	}
	return seen
}

func TestWhatASyncSavesSurvives(t *testing.T) {
	tests := map[string]struct {
		history func(*Disk)
		want    string
	}{
		"file and directory synced": {func(d *Disk) {
			n := put(t, d, d.root, "a", "kept")
			must(t, d.sync(n))
			must(t, d.syncDir(d.root))
		}, "kept"},
		"a rename whose directory was synced": {func(d *Disk) {
			must(t, d.sync(put(t, d, d.root, "a", "old")))
			must(t, d.sync(put(t, d, d.root, "tmp", "new")))
			must(t, d.rename(d.root, "tmp", d.root, "a"))
			must(t, d.syncDir(d.root))
		}, "new"},
		"a truncation that was synced": {func(d *Disk) {
			n := put(t, d, d.root, "a", "long")
			must(t, d.truncate(n, 2))
			must(t, d.sync(n))
			must(t, d.syncDir(d.root))
		}, "lo"},
		"a removal whose directory was synced": {func(d *Disk) {
			must(t, d.sync(put(t, d, d.root, "a", "kept")))
			must(t, d.syncDir(d.root))
			must(t, d.remove(d.root, "a", false))
			must(t, d.syncDir(d.root))
		}, "none"},
		"a rename between directories, one of them synced": {func(d *Disk) {
			sub, errno := d.make(d.root, "sub", true, 0o700)
			must(t, errno)
			must(t, d.sync(put(t, d, sub, "b", "moved")))
			must(t, d.rename(sub, "b", d.root, "a"))
			must(t, d.syncDir(d.root))
		}, "moved"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			seen := crashes(t, test.history, func(d *Disk) string { return content(d, d.root, "a") })
			if seen[test.want] != 300 {
				t.Errorf("after crashes: %v, want always %q", seen, test.want)
			}
		})
	}
}

func TestWhatWasNotSyncedMayBeLost(t *testing.T) {
	tests := map[string]struct {
		history func(*Disk)
		want    []string // what some crashes leave
	}{
		"the name of a file that was synced": {func(d *Disk) {
			must(t, d.sync(put(t, d, d.root, "a", "kept")))
		}, []string{"none", "kept"}},
		"the content of a file whose name was synced": {func(d *Disk) {
			put(t, d, d.root, "a", "lost")
			must(t, d.syncDir(d.root))
		}, []string{"", "\x00\x00\x00\x00", "lost"}},
		"a rename without a sync of the directory": {func(d *Disk) {
			must(t, d.sync(put(t, d, d.root, "a", "old")))
			must(t, d.sync(put(t, d, d.root, "tmp", "new")))
			must(t, d.syncDir(d.root))
			must(t, d.rename(d.root, "tmp", d.root, "a"))
		}, []string{"old", "new"}},
		"a removal": {func(d *Disk) {
			must(t, d.sync(put(t, d, d.root, "a", "back")))
			must(t, d.syncDir(d.root))
			must(t, d.remove(d.root, "a", false))
		}, []string{"none", "back"}},
		"one of two writes": {func(d *Disk) {
			n := put(t, d, d.root, "a", "....")
			must(t, d.sync(n))
			must(t, d.syncDir(d.root))
			must(t, d.write(n, []byte("x"), 0))
			must(t, d.write(n, []byte("y"), 3))
		}, []string{"....", "x...", "...y", "x..y"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			seen := crashes(t, test.history, func(d *Disk) string { return content(d, d.root, "a") })
			for _, want := range test.want {
				if seen[want] == 0 {
					t.Errorf("after crashes: %v, want %q among them", seen, want)
				}
			}
		})
	}
}

func TestARenameIsNeverHalf(t *testing.T) {
	seen := crashes(t, func(d *Disk) {
		sub, errno := d.make(d.root, "sub", true, 0o700)
		must(t, errno)
		must(t, d.sync(put(t, d, d.root, "a", "x")))
		must(t, d.syncDir(d.root))
		must(t, d.rename(d.root, "a", sub, "b"))
	}, func(d *Disk) string {
		sub, errno := d.lookup(d.root, "sub")
		must(t, errno)
		return content(d, d.root, "a") + " " + content(d, sub, "b")
	})
	if seen["x none"] == 0 || seen["none x"] == 0 || len(seen) != 2 {
		t.Errorf("after crashes: %v, want either name and never both or none", seen)
	}
}

func TestADirectoryNeverHasTwoNames(t *testing.T) {
	seen := crashes(t, func(d *Disk) {
		_, errno := d.make(d.root, "a", true, 0o700)
		must(t, errno)
		must(t, d.syncDir(d.root))
		for _, names := range [][2]string{{"a", "b"}, {"b", "c"}, {"c", "d"}} {
			must(t, d.rename(d.root, names[0], d.root, names[1]))
		}
	}, func(d *Disk) (all string) {
		for _, l := range d.list(d.root) {
			all += l.name
		}
		return all
	})
	if seen["a"] == 0 || seen["d"] == 0 || seen["a"]+seen["b"]+seen["c"]+seen["d"] != 300 {
		t.Errorf("after crashes: %v, want one of the names it had", seen)
	}
}

func TestTheLastWriteIsTorn(t *testing.T) {
	whole := string(bytes.Repeat([]byte("w"), 4*block))
	seen := crashes(t, func(d *Disk) {
		n := put(t, d, d.root, "a", whole)
		must(t, d.syncDir(d.root))
		_ = n
	}, func(d *Disk) string {
		switch c := content(d, d.root, "a"); {
		case c == "":
			return "lost"
		case c == whole:
			return "whole"
		case len(c) < len(whole):
			return "short"
		case c == string(make([]byte, len(whole))):
			return "zeros"
		}
		return "garbage"
	})
	for _, want := range []string{"lost", "whole", "short", "zeros", "garbage"} {
		if seen[want] == 0 {
			t.Errorf("after crashes: %v, want %s among them", seen, want)
		}
	}
}

func TestAFailedSyncLosesWhatItShouldHaveKept(t *testing.T) {
	d := New()
	n := put(t, d, d.root, "a", "lost")
	must(t, d.syncDir(d.root))
	d.Fail(Fault{Op: Sync, Name: "a", Nth: 1, Times: 1, Errno: syscall.EIO})
	if errno := d.sync(n); errno != syscall.EIO {
		t.Fatalf("sync: %v, want EIO", errno)
	}
	must(t, d.sync(n))
	if got := content(d, d.root, "a"); got != "lost" {
		t.Errorf("programs see %q, want what they wrote", got)
	}
	d.Crash(rand.New(rand.NewPCG(1, 1)))
	if got := content(d, d.root, "a"); got != "" {
		t.Errorf("after a crash: %q, want nothing", got)
	}
	if got := d.Struck()["disk sync EIO"]; got != 1 {
		t.Errorf("counted %d faults, want 1", got)
	}
}

func TestFaultsStrikeByName(t *testing.T) {
	d := New()
	d.Fail(Fault{Op: Write, Name: "d*", Nth: 2, Times: 1, Errno: syscall.ENOSPC})
	put(t, d, d.root, "other", "x")
	n := put(t, d, d.root, "data", "x")
	if errno := d.write(n, []byte("y"), 0); errno != syscall.ENOSPC {
		t.Errorf("second write: %v, want ENOSPC", errno)
	}
	must(t, d.write(n, []byte("z"), 0))
}

func TestTheSameSeedLeavesTheSameDisk(t *testing.T) {
	leave := func() string {
		d := New()
		for _, name := range []string{"a", "b", "c", "d"} {
			put(t, d, d.root, name, "content of "+name)
		}
		d.Crash(rand.New(rand.NewPCG(7, 7)))
		var all strings.Builder
		for _, name := range []string{"a", "b", "c", "d"} {
			all.WriteString(content(d, d.root, name) + "\n")
		}
		return all.String()
	}
	if first, second := leave(), leave(); first != second {
		t.Errorf("two disks of one seed differ: %q and %q", first, second)
	}
}
