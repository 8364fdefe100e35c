package care

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A restore removes the leftovers of killed ones, and nothing that a running one uses.
func TestScratch(t *testing.T) {
	in := t.TempDir()
	t.Setenv("TMPDIR", in)
	left, foreign := filepath.Join(in, scratchPrefix+"left"), filepath.Join(in, scratchPrefix+"file")
	if err := os.Mkdir(left, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{filepath.Join(left, "archive.db"), foreign} {
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	there := func(path string) bool {
		_, err := os.Lstat(path)
		return err == nil
	}
	one, err := newScratch()
	if err != nil {
		t.Fatal(err)
	}
	if there(left) || !there(foreign) || !there(one.dir) {
		t.Error("what was left is there, or what was not is gone")
	}
	other, err := newScratch()
	if err != nil {
		t.Fatal(err)
	}
	if other.dir == one.dir || !there(one.dir) {
		t.Errorf("%s is in use, and is taken away", one.dir)
	}
	if err := one.want(1 << 10); err != nil {
		t.Error(err)
	}
	if err := one.want(1 << 60); err == nil || !strings.Contains(err.Error(), "up to 1.0 EiB are needed") || !strings.Contains(err.Error(), in) {
		t.Errorf("there is room for everything: %v", err)
	}
	for _, s := range []*scratch{one, other} {
		if err := s.close(); err != nil || there(s.dir) {
			t.Errorf("it is left: %v", err)
		}
	}
}
