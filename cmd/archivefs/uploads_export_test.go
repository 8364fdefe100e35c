package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/archivefs/archivefs/internal/config"
	"github.com/archivefs/archivefs/internal/testing/fusetest"
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

// Where nothing can be written that is said once, with the directory and what to do.
func TestExportWhereNothingCanBeWritten(t *testing.T) {
	isolate(t)
	dirs, err := config.OpenDirs("", "http://127.0.0.1:1/api/v2 key:0123456789abcdef")
	if err == nil {
		err = dirs.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"dn0yb93wtpu0", "dn0yb93wtpu1"} {
		upload := filepath.Join(dirs.State, "spool", id)
		if err := errors.Join(os.MkdirAll(upload, 0o700), os.WriteFile(filepath.Join(upload, "data"), []byte("Inhalt"), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	for why, spoilt := range map[string]func(dir string) error{
		"no such file or directory": os.Remove,
		"permission denied":         func(dir string) error { return os.Chmod(dir, 0o500) },
	} {
		if why == "permission denied" && os.Geteuid() == 0 {
			continue // root may
		}
		t.Run(why, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "here")
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			t.Chdir(dir)
			if err := spoilt(dir); err != nil {
				t.Fatal(err)
			}
			want := "archivefs: nothing was exported, because nothing can be written to the current directory, " + dir + " (" + why + "); " +
				"call it in another one, as in cd DIR && archivefs uploads export " + dirs.State + "\n"
			if status, stdout, stderr := call(t, "uploads", "export", dirs.State); status != 1 || stdout != "" || stderr != want {
				t.Errorf("exit status %d, output %q, error %q; want %q", status, stdout, stderr, want)
			}
		})
	}
}
