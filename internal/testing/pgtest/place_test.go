package pgtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A server's directory lies with the other files of a run of the tests where its user can enter
// that, and goes with them.
func TestPlace(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root has to give a directory away")
	}
	open, err := os.MkdirTemp("/tmp", "pgtest") //nolint:usetesting // others can enter no other
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(open) })
	closed, below, long := filepath.Join(open, "closed"), filepath.Join(open, "closed", "below"), filepath.Join(open, strings.Repeat("long", 20))
	for _, dir := range []string{closed, below, long} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{open, below, long} {
		if err := os.Chmod(dir, 0o777|os.ModeSticky); err != nil {
			t.Fatal(err)
		}
	}
	for dir, want := range map[string]string{open: open, closed: "/tmp", below: "/tmp", long: "/tmp"} {
		t.Setenv("TMPDIR", dir)
		if got := place(); got != want {
			t.Errorf("with %s it is %s", dir, got)
		}
	}
}
