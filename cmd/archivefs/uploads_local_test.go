package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/archivefs/archivefs/internal/testing/fusetest"
)

// wantLocal fails the test unless uploads list names the local file, and returns its ID.
func wantLocal(t *testing.T, at, path string) (id string) {
	t.Helper()
	status, stdout, stderr := call(t, "uploads", "list", at)
	id, rest, _ := strings.Cut(stdout, " ")
	if status != 0 || stderr != "" || strings.Count(stdout, "\n") != 1 || !strings.HasPrefix(strings.TrimSpace(rest), "local ") || !strings.Contains(rest, "  "+path+"  its name") {
		t.Fatalf("exit status %d, error %q, output %q", status, stderr, stdout)
	}
	return id
}

// A local file is seen, saved and forgotten as an upload is, and never sent under its name.
func TestLocalFileAmongTheUploads(t *testing.T) {
	fusetest.Need(t)
	isolate(t)
	o := startOffice(t)
	dir, state := t.TempDir(), filepath.Join(t.TempDir(), "state")
	m := o.mount(dir, state)
	const name = "a\x1b[31m.docx~"
	if err := os.WriteFile(filepath.Join(dir, "My Archive", name), []byte("Angebot"), 0o600); err != nil {
		t.Fatal(err)
	}
	const path = `My Archive/a\x1b[31m.docx~`
	id := wantLocal(t, dir, path)
	t.Chdir(t.TempDir())
	if status, stdout, stderr := call(t, "uploads", "retry", dir); status != 0 || stdout != "" || stderr != "" {
		t.Errorf("retry of all: exit status %d, error %q, output %q", status, stderr, stdout)
	}
	wantCall(t, 0, id+"  "+path, "uploads", "export", dir)
	wantCall(t, 1, "it stays on this machine: under another name it is archived", "uploads", "retry", dir, id)
	wantCall(t, 0, id+"  "+`My Archive/a\x1b[31m (2).docx~`, "uploads", "export", dir, id)
	wantFile(t, filepath.Join("My Archive", name), "Angebot")
	wantFile(t, "My Archive/a\x1b[31m (2).docx~", "Angebot")
	m.stop()
	if id != wantLocal(t, state, path) {
		t.Error("it has another ID")
	}
	m = o.mount(dir, state)
	wantCall(t, 0, id+"  discarded  "+path, "uploads", "discard", dir, id)
	if _, err := os.Stat(filepath.Join(dir, "My Archive", name)); !os.IsNotExist(err) {
		t.Errorf("what was discarded is there: %v", err)
	}
	m.stop()
	o.running.stop()
}

// Who unmounts is told in one sentence what stays here without being archived.
func TestLocalFilesAreCountedAtTheEnd(t *testing.T) {
	fusetest.Need(t)
	isolate(t)
	o := startOffice(t)
	dir, state := t.TempDir(), filepath.Join(t.TempDir(), "state")
	want := "2 files stay on this machine, in " + state + ", and are not archived; archivefs uploads list " + state + " says why\n"
	for _, unmount := range []bool{false, true} {
		m := o.mount(dir, state)
		for name, content := range map[string]string{"Angebot.docx~": "a", "x.part": "b", "leer.part": "", "b.txt": "b"} {
			if err := os.WriteFile(filepath.Join(dir, "My Archive", name), []byte(content), 0o600); err != nil && !unmount {
				t.Error(err)
			}
		}
		if unmount {
			if status, _, stderr := call(t, "unmount", dir); status != 0 || stderr != "archivefs: "+want {
				t.Errorf("exit status %d, error %q", status, stderr)
			}
			m.wantExit(0)
		} else {
			m.stop()
		}
		if said := m.said(); strings.Count(said, "archivefs: ") != 1 || !strings.Contains(said, "archivefs: "+want) {
			t.Errorf("said %q", said)
		}
	}
	o.running.stop()
}
