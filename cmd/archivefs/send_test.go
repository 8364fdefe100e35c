package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/archivefs/archivefs/cmd/archivefs/internal/mounted"
	"github.com/archivefs/archivefs/internal/spool"
	"github.com/archivefs/archivefs/internal/testing/fusetest"
)

// resting mounts an archive with a long time of grace.
func resting(t *testing.T) (o *office, m *program, dir string) {
	t.Helper()
	fusetest.Need(t)
	isolate(t)
	o, dir = startOffice(t), t.TempDir()
	return o, o.mount(dir, filepath.Join(t.TempDir(), "state"), "--grace", "1h", "--retry-for", "200ms", "--timeout", "1s"), dir
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// wantSent sends what waits at paths, and fails the test unless the output has these ends of lines, in this
// order, and the exit status.
func wantSent(t *testing.T, want int, paths []string, ends ...string) {
	t.Helper()
	status, stdout, stderr := call(t, append([]string{"uploads", "send"}, paths...)...)
	lines := strings.Split(strings.TrimSuffix(stdout, "\n"), "\n")
	ok := status == want && len(lines) == len(ends)
	for i := 0; ok && i < len(lines); i++ {
		_, line, _ := strings.Cut(lines[i], "  ")
		ok = strings.HasPrefix(line, ends[i])
	}
	if !ok {
		t.Errorf("send %q: exit status %d, output %q, error %q; want %d and %q", paths, status, stdout, stderr, want, ends)
	}
}

func TestSendOfHalfAFileSaysThatItFailed(t *testing.T) {
	_, m, dir := resting(t)
	path := filepath.Join(dir, "My Archive", "cut.pdf")
	const failed = "  failed: the end of the file is missing"
	for _, paths := range [][]string{{path}, {dir}} {
		for range 10 {
			write(t, path, "%PDF-1.7 and no end")
			wantSent(t, 1, paths, path+failed)
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		}
	}
	m.stop()
}

func TestSendSaysWhatBecameOfEachFile(t *testing.T) {
	o, m, dir := resting(t)
	at, inbox := filepath.Join(dir, "My Archive"), filepath.Join(dir, "inboxes", "Inbox")
	wantCall(t, 0, "nothing waits to be archived", "uploads", "send", dir)
	if err := os.Mkdir(filepath.Join(at, "Neu"), 0o700); err != nil {
		t.Fatal(err)
	}
	new, local, scan := filepath.Join(at, "Neu", "a.txt"), filepath.Join(at, "b.txt.part"), filepath.Join(inbox, "scan.txt")
	write(t, new, "a")
	write(t, local, "b")
	write(t, scan, "scan")
	opened := filepath.Join(at, "offen.txt")
	f, err := os.Create(opened)
	if err == nil {
		_, err = f.WriteString("half of it")
	}
	if err != nil {
		t.Fatal(err)
	}
	wantSent(t, 0, []string{scan}, scan+"  stored in the inbox")
	wantSent(t, 1, []string{opened}, opened+"  open in a program")
	wantSent(t, 1, []string{local}, local+"  local: its name")
	wantSent(t, 0, []string{filepath.Dir(new)}, filepath.Dir(new)+"  archived", new+"  archived")
	wantCall(t, 0, "nothing waits to be archived", "uploads", "send", new)
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := os.OpenFile(opened, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	wantSent(t, 1, []string{opened}, opened+"  open in a program")
	empty := filepath.Join(at, "leer.txt")
	if err := errors.Join(again.Close(), os.WriteFile(empty, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	wantCall(t, 1, "local: it is empty", "uploads", "send", empty)
	o.running.stop()
	write(t, filepath.Join(at, "später.txt"), "c")
	wantSent(t, 1, []string{filepath.Join(at, "später.txt")}, filepath.Join(at, "später.txt")+"  pending: ")
	m.stop()
}

func TestRetryOfAllEndsNoTimeOfGrace(t *testing.T) {
	o, m, dir := resting(t)
	write(t, filepath.Join(dir, "My Archive", "a.txt"), "a")
	wantCall(t, 0, "", "uploads", "retry", dir)
	_, status, err := mounted.Status(dir)
	if err != nil || len(status.Uploads.List) != 1 || !status.Uploads.List[0].Rests {
		t.Errorf("%+v, %v; want a file that rests", status.Uploads, err)
	}
	m.stop()
	o.running.stop()
}

func TestAFileThatIsBeingWrittenIsListed(t *testing.T) {
	_, m, dir := resting(t)
	wantCall(t, 0, "[]\n", "uploads", "list", "--json", dir)
	f, err := os.Create(filepath.Join(dir, "My Archive", "a.txt"))
	if err != nil {
		t.Fatal(err)
	}
	wantCall(t, 0, "nothing waits", "uploads", "list", dir)
	if _, err := f.WriteString("half of it"); err != nil {
		t.Fatal(err)
	}
	wantCall(t, 0, "10 B  My Archive/a.txt  a program is writing it\n", "uploads", "list", dir)
	wantCall(t, 0, `"state": "open"`, "uploads", "list", "--json", dir)
	wantCall(t, 0, "1 file is open", "status", dir)
	wantCall(t, 0, "0 pending, 0 failed", "status", dir)
	_, now, err := mounted.Status(dir)
	if left, _ := mounted.LeftBy(now); err != nil || left != (spool.Left{}) {
		t.Errorf("%+v, %v; want nothing that an unmount waits for", left, err)
	}
	wantCall(t, 1, "no upload", "uploads", "discard", dir, now.Uploads.Open[0].ID)
	wantCall(t, 0, "", "uploads", "export", dir)
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	m.stop()
}
