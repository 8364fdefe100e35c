package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/archivefs/archivefs/internal/testing/fusetest"
)

func TestProfiles(t *testing.T) {
	fusetest.Need(t)
	home := isolate(t)
	dir, cpu, heap := t.TempDir(), filepath.Join(home, "cpu"), filepath.Join(home, "heap")
	m := startMount(t, dir, "--embedded", "--cpu-profile", cpu, "--heap-profile", heap)
	m.line("mounted ")
	m.stop()
	for _, path := range []string{cpu, heap} {
		b, err := os.ReadFile(path)
		if err != nil || !bytes.HasPrefix(b, []byte{0x1f, 0x8b}) { // gzip, as pprof has it
			t.Errorf("%s: %d bytes, %v", filepath.Base(path), len(b), err)
		}
	}
	if status, _, stderr := call(t, "mount", dir, "--embedded", "--cpu-profile", filepath.Join(home, "none", "cpu")); status != 1 || stderr == "" {
		t.Errorf("a profile that cannot be written: exit status %d, %q", status, stderr)
	}
}
