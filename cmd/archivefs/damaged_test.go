package main

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/archivefs/archivefs/internal/fusetest"
)

// A content that the disk of the service has spoiled is an error and no document, and is read
// again when it was brought back.
func TestADamagedContentIsNotRead(t *testing.T) {
	fusetest.Need(t)
	isolate(t)
	o := startOffice(t)
	dir := t.TempDir()
	path := filepath.Join(dir, "My Archive", "letter.txt")
	m := o.mount(dir, t.TempDir())
	if err := os.WriteFile(path, []byte("Guten Tag"), 0o600); err != nil {
		t.Fatal(err)
	}
	m.stop()
	content := filepath.Join(o.data, "contents", digestOf("Guten Tag")[:2], digestOf("Guten Tag"))
	if err := os.WriteFile(content, []byte("Guten Weg"), 0o600); err != nil {
		t.Fatal(err)
	}
	m = o.mount(dir, t.TempDir())
	for range 2 {
		if got, err := os.ReadFile(path); !errors.Is(err, syscall.EIO) {
			t.Errorf("read %q, %v", got, err)
		}
	}
	m.says("it has another SHA-256 than the service says")
	if err := os.WriteFile(content, []byte("Guten Tag"), 0o600); err != nil {
		t.Fatal(err)
	}
	wantFile(t, path, "Guten Tag")
	m.stop()
}
