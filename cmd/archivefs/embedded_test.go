package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/archivefs/archivefs/internal/testing/fusetest"
)

// onDisk is how many bytes the files below dir take, each once by whatever names.
func onDisk(t *testing.T, dir string) (bytes int64) {
	t.Helper()
	seen := map[uint64]bool{}
	err := filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		if stat, ok := info.Sys().(*syscall.Stat_t); ok && !seen[stat.Ino] {
			seen[stat.Ino] = true
			bytes += info.Size()
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return bytes
}

// The archive is on this machine: neither what is put in nor what is read is kept once more.
func TestAnArchiveOnThisMachineKeepsEachFileOnce(t *testing.T) {
	fusetest.Need(t)
	home := isolate(t)
	const files, size, journal = 12, 3 << 20, 16 << 20
	content := func(i int) []byte {
		b := bytes.Repeat([]byte{byte(i + 1)}, size)
		copy(b, fmt.Sprint("file ", i))
		return b
	}
	dir := t.TempDir()
	letters := filepath.Join(dir, "My Archive", "Letters")
	for run := range 2 { // as put in, and as read by another mount
		m := startMount(t, dir, "--embedded")
		m.line("mounted ")
		if run == 0 {
			if err := os.Mkdir(letters, 0o700); err != nil {
				t.Fatal(err)
			}
		}
		for i := range files {
			path := filepath.Join(letters, fmt.Sprint(i, ".bin"))
			if run == 0 {
				if err := os.WriteFile(path, content(i), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			for range 2 {
				got, err := os.ReadFile(path)
				if err != nil || !bytes.Equal(got, content(i)) {
					t.Errorf("%s: %d bytes, or others: %v", path, len(got), err)
				}
			}
		}
		if used := onDisk(t, home); used > files*size*3/2+journal {
			t.Errorf("%d files of %d bytes take %d", files, size, used)
		}
		m.stop()
		if used := onDisk(t, home); used > files*size*3/2 {
			t.Errorf("after the end %d files of %d bytes take %d", files, size, used)
		}
	}
}
