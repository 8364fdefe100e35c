package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/pkg/xattr"

	"github.com/archivefs/archivefs/internal/testing/fusetest"
)

// Without an ID only what is whole is sent again; the rest is named, with the reason and what sends it.
func TestRetryLeavesOutWhatIsNotWhole(t *testing.T) {
	fusetest.Need(t)
	isolate(t)
	o := startOffice(t)
	dir, state := t.TempDir(), t.TempDir()
	m := o.mount(dir, state, "--retry-for", "200ms")
	at := filepath.Join(dir, "My Archive")
	for name, content := range map[string]string{"offen.txt": "half of it", "leer.txt": "", "offen.part": "half"} {
		f, err := os.Create(filepath.Join(at, name))
		if err == nil && content != "" {
			_, err = f.WriteString(content)
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = f.Close() }) // its mount is gone by then
	}
	m.signal(syscall.SIGKILL)
	_ = m.wait() // it was killed
	wantCall(t, 0, "", "unmount", dir)
	m = o.mount(dir, state, "--retry-for", "200ms")
	if _, err := os.ReadDir(at); err != nil {
		t.Fatal(err)
	}
	o.running.stop()
	for name, content := range map[string]string{"ganz.txt": "ganz", "halb.pdf": "%PDF-1.7 and no end"} {
		if err := os.WriteFile(filepath.Join(at, name), []byte(content), 0o600); !errors.Is(err, syscall.EIO) {
			t.Errorf("%s: %v, want %v", name, err, syscall.EIO)
		}
	}
	ids := map[string]string{}
	_, now, err := readStatus(dir)
	if err != nil || len(now.Uploads.List) != 5 {
		t.Fatalf("%+v, %v", now, err)
	}
	for _, u := range now.Uploads.List {
		ids[filepath.Base(u.Path)] = u.ID
	}
	o.again()
	heals(t, "the service is found", func() bool { _, _ = os.ReadDir(at); return health(t, dir) != "away" })
	status, stdout, stderr := call(t, "uploads", "retry", dir)
	if status != 0 || !strings.Contains(stdout, ids["ganz.txt"]+"  My Archive/ganz.txt  archived\n") || strings.Count(stdout, "archived\n") != 1 {
		t.Errorf("exit status %d, error %q, output %q", status, stderr, stdout)
	}
	const open, asItIs = "was never closed: the program or the machine stopped while it was written", "sends it as it is"
	for name, what := range map[string][3]string{
		"halb.pdf":   {"the end of the file is missing, as after a cancelled copy", "retry --incomplete", asItIs},
		"offen.txt":  {open, "retry --incomplete", asItIs},
		"leer.txt":   {open + "; it is empty, and no empty document is archived", "discard", "forgets it"},
		"offen.part": {open + "; its name is a temporary one", "export", "saves it"},
	} {
		id := ids[name]
		why := what[0] + "; archivefs uploads " + what[1] + " " + dir + " " + id + " " + what[2]
		if left := id + "  My Archive/" + name + "  left out: " + why + "\n"; !strings.Contains(stdout, left) {
			t.Errorf("the output is %q, want in it %q", stdout, left)
		}
		wantCall(t, 1, why, "uploads", "retry", dir, id)
		if what[2] != asItIs {
			wantCall(t, 1, why, "uploads", "retry", "--incomplete", dir, id)
		}
	}
	wantCall(t, 2, "--incomplete needs the ID", "uploads", "retry", "--incomplete", dir)
	half := ids["halb.pdf"]
	if status, stdout, stderr := call(t, "uploads", "retry", dir, half, "--incomplete"); status != 0 || stdout != half+"  My Archive/halb.pdf  archived\n" {
		t.Errorf("exit status %d, error %q, output %q", status, stderr, stdout)
	}
	wantEntries(t, at, "ganz.txt halb.pdf")
	m.stop()
	o.running.stop()
}

// What was sent again is told under the name that it has in the archive.
func TestRetryTellsTheNameInTheArchive(t *testing.T) {
	fusetest.Need(t)
	isolate(t)
	o := startOffice(t)
	dir, state := t.TempDir(), t.TempDir()
	m := o.mount(dir, state)
	at := filepath.Join(dir, "My Archive")
	if err := os.WriteFile(filepath.Join(at, "h.pdf"), []byte("%PDF-1.7 and no end"), 0o600); !errors.Is(err, syscall.EIO) {
		t.Errorf("half a PDF: %v, want %v", err, syscall.EIO)
	}
	if err := os.WriteFile(filepath.Join(at, "h.pdf"), []byte("%PDF-1.7\n%%EOF\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, now, err := readStatus(dir)
	if err != nil || len(now.Uploads.List) != 1 {
		t.Fatalf("%+v, %v", now, err)
	}
	id := now.Uploads.List[0].ID
	wantCall(t, 0, id+"  My Archive/h.pdf  archived as My Archive/h (2).pdf\n", "uploads", "retry", "--incomplete", dir, id)
	wantEntries(t, at, "h (2).pdf h.pdf")
	number, err := xattr.Get(filepath.Join(at, "h (2).pdf"), "user.archive.id")
	if err != nil {
		t.Fatal(err)
	}
	m.stop()
	m = o.mount(dir, state) // which names it by its number
	wantEntries(t, at, "h ("+string(number)+").pdf h.pdf")
	m.stop()
	o.running.stop()
}
