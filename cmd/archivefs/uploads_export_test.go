package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/archivefs/archivefs/internal/fusetest"
)

// What a name holds reaches the file that is exported, and no terminal.
func TestExportOfAnOddName(t *testing.T) {
	fusetest.Need(t)
	isolate(t)
	o := startOffice(t)
	dir := t.TempDir()
	m := o.mount(dir, t.TempDir())
	const name, shown, half = "a\x1b[31m\u202eb.pdf", `a\x1b[31m\u202eb.pdf`, "%PDF-1.7 and no end"
	if err := os.WriteFile(filepath.Join(dir, "My Archive", name), []byte(half), 0o600); !errors.Is(err, syscall.EIO) {
		t.Errorf("half a PDF: %v, want %v", err, syscall.EIO)
	}
	t.Chdir(t.TempDir())
	status, stdout, stderr := call(t, "uploads", "export", dir)
	if status != 0 || !strings.HasSuffix(stdout, "  My Archive/"+shown+"\n") {
		t.Errorf("exit status %d, error %q, output %q; want it to name %s", status, stderr, stdout, shown)
	}
	wantFile(t, filepath.Join("My Archive", name), half)
	wantCall(t, 1, "there is no archive mounted at "+filepath.Join(dir, shown), "status", filepath.Join(dir, name))
	m.stop()
	o.running.stop()
}
