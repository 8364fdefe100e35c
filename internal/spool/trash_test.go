package spool

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// hidden are the names of what is left of uploads that have gone.
func hidden(t *testing.T, s *Spool) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), trashPrefix) {
			names = append(names, e.Name())
		}
	}
	return names
}

// durably makes an upload whose name is durable.
func durably(t *testing.T, s *Spool) *Upload {
	t.Helper()
	u := create(t, s, lateBill(), "text")
	must(t, u.Sync())
	return u
}

// Of an upload whose hidden name may not last nothing is left, so that a crash cannot bring it
// back without its bytes.
func TestWhatIsVolatileGoesAtOnce(t *testing.T) {
	s, _ := open(t, t.TempDir())
	must(t, create(t, s, lateBill(), "text").Remove())
	if left := hidden(t, s); len(left) != 0 {
		t.Errorf("left behind: %q", left)
	}
}

// The bytes of an upload go with it, its record when no other upload has gone for a while.
func TestTrashWaitsUntilNoMoreComes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := open(t, t.TempDir())
		for i, u := range []*Upload{durably(t, s), durably(t, s), durably(t, s)} {
			must(t, u.Remove())
			left := hidden(t, s)
			if len(left) != i+1 {
				t.Fatalf("after %d uploads: %q", i+1, left)
			}
			if _, err := os.Stat(u.DataPath()); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the bytes are still there: %v", err)
			}
			time.Sleep(trashRest - time.Millisecond)
			synctest.Wait()
		}
		time.Sleep(time.Millisecond)
		synctest.Wait()
		if left := hidden(t, s); len(left) != 0 {
			t.Errorf("left behind: %q", left)
		}
	})
}

// A crash of the machine may take back what an upload changed in the directory it took from trash, but
// not the directory's new name.
func TestTheBytesOfAnotherUploadAreNotShownAfterACrash(t *testing.T) {
	for name, recordLost := range map[string]bool{"the record, too": true, "the bytes alone": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, _ := open(t, t.TempDir(), on("one"))
				first := durably(t, s)
				record, data := readFile(filepath.Join(filepath.Dir(first.DataPath()), recordFile)), readFile(first.DataPath())
				must(t, first.Remove())
				next := create(t, s, lateBill(), "other")
				dir := filepath.Dir(next.DataPath())
				if left := hidden(t, s); len(left) != 0 {
					t.Fatalf("the directory was not taken: %q", left)
				}
				must(t, os.Remove(next.DataPath()))
				scribble(t, filepath.Join(dir, filepath.Base(first.DataPath())), data)
				if recordLost {
					scribble(t, filepath.Join(dir, recordFile), record)
				}
				s = reopen(t, s, on("two"))
				u := again(t, s, next)
				if !u.Broken() {
					t.Error("it can be sent")
				}
				if err := u.Open(); err == nil {
					t.Error("it has bytes")
					_ = u.Close()
				}
			})
		})
	}
}

func TestTrashIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bin := trash{log: Options{}.withDefaults().Log}
		dir := t.TempDir()
		for i := range trashMost + 5 {
			path := filepath.Join(dir, fmt.Sprint(i))
			must(t, os.Mkdir(path, 0o700))
			must(t, os.WriteFile(filepath.Join(path, recordFile), nil, 0o600))
			bin.put(path)
		}
		entries, err := os.ReadDir(dir)
		if err != nil || len(entries) != trashMost {
			t.Errorf("%d directories, %v", len(entries), err)
		}
		bin.empty()
		if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 {
			t.Errorf("%d directories after all were removed, %v", len(entries), err)
		}
		bin.stop()
	})
}

// What waits is removed before another process may have the spool; what the end of the
// program left, by the next start.
func TestTrashOfAnotherRun(t *testing.T) {
	s, _ := open(t, t.TempDir())
	must(t, durably(t, s).Remove())
	if len(hidden(t, s)) != 1 {
		t.Fatal("nothing is left of it to begin with")
	}
	s = reopen(t, s)
	if left := hidden(t, s); len(left) != 0 {
		t.Errorf("the next start left %q", left)
	}
	must(t, durably(t, s).Remove())
	must(t, s.Close())
	if left := hidden(t, s); len(left) != 0 {
		t.Errorf("the end left %q", left)
	}
}

// A new upload takes the directory of one that has gone, and nothing of that is left in it.
func TestANewUploadTakesTheDirectoryOfAnOldOne(t *testing.T) {
	s, _ := open(t, t.TempDir())
	old := lateBill()
	old.Path = strings.Repeat("a long path, ", 100)
	u := create(t, s, old, "text")
	must(t, u.Sync())
	must(t, u.Remove())
	u = create(t, s, lateBill(), "other")
	if left := hidden(t, s); len(left) != 0 {
		t.Errorf("left behind: %q", left)
	}
	must(t, u.Sync())
	s = reopen(t, s)
	u = again(t, s, u)
	if r := u.Record(); u.Broken() || r.Path != lateBill().Path {
		t.Errorf("%v, %+v", u.broken, r)
	}
	wantData(t, u, "other")
}
