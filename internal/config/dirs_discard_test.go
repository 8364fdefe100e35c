package config_test

import (
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/archivefs/archivefs/internal/config"
)

// fill puts into the directories what the stores of a mount make there.
func fill(t *testing.T, d *config.Dirs) {
	t.Helper()
	for _, dir := range []string{filepath.Join(d.State, "spool"), filepath.Join(d.Cache, "content", "0a")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{filepath.Join(d.State, "state.db"), filepath.Join(d.Cache, "facts.db")} {
		if err := os.WriteFile(file, []byte("nothing"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestDiscardRemovesWhatIsNew(t *testing.T) {
	tests := []struct {
		name  string
		there []string // directories there before, below the test's own
		dir   string   // --state-dir, below it as well
	}{
		{"by default, nothing there", nil, ""},
		{"by default, other programs' state there", []string{"state/other", "cache/other"}, ""},
		{"a new one", nil, "a/b/state"},
		{"an empty one", []string{"a/state"}, "a/state"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			top := t.TempDir()
			t.Setenv("XDG_STATE_HOME", filepath.Join(top, "state"))
			t.Setenv("XDG_CACHE_HOME", filepath.Join(top, "cache"))
			for _, dir := range tt.there {
				if err := os.MkdirAll(filepath.Join(top, dir), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			before := snapshot(t, top)
			dir := tt.dir
			if dir != "" {
				dir = filepath.Join(top, dir)
			}
			d := openDirs(t, dir, ours)
			fill(t, d)
			if err := d.Discard(); err != nil {
				t.Error(err)
			}
			wantSame(t, before, snapshot(t, top))
			openDirs(t, dir, others) // bound to nothing, and locked by nobody
		})
	}
}

func TestDiscardKeepsWhatWasThere(t *testing.T) {
	dir := t.TempDir()
	d := openDirs(t, dir, ours)
	fill(t, d)
	closeDirs(t, d)
	before := snapshot(t, dir)
	if err := openDirs(t, dir, ours).Discard(); err != nil {
		t.Error(err)
	}
	wantSame(t, before, snapshot(t, dir))
	openDirs(t, dir, ours)
}

func TestDiscardKeepsASpoolThatHoldsSomething(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	d := openDirs(t, dir, ours)
	fill(t, d)
	waiting := filepath.Join(d.State, "spool", "1", "data")
	if err := os.Mkdir(filepath.Dir(waiting), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(waiting, []byte("a letter"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := d.Discard(); err == nil {
		t.Error("no error tells that the directory stays")
	}
	for _, path := range []string{waiting, filepath.Join(dir, "state.db"), filepath.Join(dir, "archive")} {
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
	}
	openDirs(t, dir, ours)
}

// Who opens directories that another one removes at this moment holds them alone, or not.
func TestDiscardAmongOthersThatOpen(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	var holders, held atomic.Int32
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 200 {
				d, err := config.OpenDirs(dir, ours)
				if err != nil {
					continue // in use
				}
				held.Add(1)
				if holders.Add(1) > 1 {
					t.Error("two hold the same state directory")
				}
				holders.Add(-1)
				if err := d.Discard(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if held.Load() == 0 {
		t.Error("nobody ever held it")
	}
	openDirs(t, dir, ours)
}
