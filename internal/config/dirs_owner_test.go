package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/archivefs/archivefs/internal/config"
)

// Root may write anywhere: in the directory of another user it would leave files that this one
// can neither read nor remove.
func TestADirectoryOfAnotherUserIsRefused(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root gives a directory away")
	}
	const other = 12345
	for _, below := range []string{"", "cache"} {
		dir := t.TempDir()
		closeDirs(t, openDirs(t, dir, ours))
		if err := os.Chown(filepath.Join(dir, below), other, other); err != nil {
			t.Fatal(err)
		}
		before := snapshot(t, dir)
		d, err := config.OpenDirs(dir, ours)
		if err == nil {
			closeDirs(t, d)
		}
		want := filepath.Join(dir, below) + " belongs to the user 12345; mount as that user, or name another directory with --state-dir"
		if err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("open: got %v, want %q", err, want)
		}
		if _, err := config.LookDirs(dir, ours); err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("look: got %v, want %q", err, want)
		}
		if after := snapshot(t, dir); len(after) != len(before) {
			t.Errorf("there is %v, was %v", after, before)
		}
	}
	empty := t.TempDir()
	if err := os.Chown(empty, other, other); err != nil {
		t.Fatal(err)
	}
	if d, err := config.OpenDirs(empty, ours); err == nil {
		closeDirs(t, d)
		t.Error("an empty directory of another user is taken")
	}
}
