package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/pkg/xattr"

	"github.com/archivefs/archivefs/cmd/archivefs/internal/mounted"
	"github.com/archivefs/archivefs/internal/config"
	"github.com/archivefs/archivefs/internal/doctor"
	"github.com/archivefs/archivefs/internal/testing/fusetest"
	"github.com/archivefs/archivefs/internal/testing/spooltest"
)

// Without an ID only what is whole is sent again; the rest is named, with the reason and what sends it.
func TestRetryLeavesOutWhatIsNotWhole(t *testing.T) {
	fusetest.Need(t)
	isolate(t)
	o := startOffice(t)
	dir, state := t.TempDir(), t.TempDir()
	m := o.mount(dir, state, "--retry-for", "200ms")
	at := filepath.Join(dir, "My Archive")
	for name, content := range map[string]string{"offen.txt": "half of it", "leer.txt": "", "offen.pdf.part": "half"} {
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
	_, now, err := mounted.Status(dir)
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
		"halb.pdf":       {"the end of the file is missing, as after a cancelled copy", "retry --incomplete", asItIs},
		"offen.txt":      {open, "retry --incomplete", asItIs},
		"leer.txt":       {open + "; it is empty, and no empty document is archived", "discard", "forgets it"},
		"offen.pdf.part": {open + "; its name is a temporary one", "export", "saves it"},
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
	wantCall(t, 1, "nothing was sent: 3 uploads are left out; the reasons are above", "uploads", "retry", dir)
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
	_, now, err := mounted.Status(dir)
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
		spooltest.Orphan(t, filepath.Join(dirs.State, "spool"), id, []byte("Inhalt"))
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

// orphaned is what a mount with an API key alone left that was revoked: two uploads that wait.
type orphaned struct {
	*revoked
	t     *testing.T
	state string
	ids   []string // of a.txt and b.txt
}

func newOrphaned(t *testing.T) *orphaned {
	o := &orphaned{revoked: revoke(t, "--writes", "async"), t: t}
	for name, content := range map[string]string{"a.txt": "Inhalt", "b.txt": "anderer Inhalt"} {
		if err := os.WriteFile(o.inInbox(name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	heals(t, "the mount knows of the refusal", func() bool {
		_, status, err := mounted.Status(o.mountpoint)
		if err != nil {
			t.Fatal(err)
		}
		o.state, o.ids = status.StateDir, []string{status.Uploads.List[0].ID, status.Uploads.List[1].ID}
		if strings.HasSuffix(status.Uploads.List[0].Path, "b.txt") {
			o.ids[0], o.ids[1] = o.ids[1], o.ids[0]
		}
		return status.Cure != ""
	})
	return o
}

// reach is how what waits is brought out.
func (o *orphaned) reach() string {
	return "archivefs uploads list " + o.state + " shows what waits there, and archivefs uploads export " + o.state + " saves it"
}

// wantListed fails the test unless these files wait, and nothing else.
func (o *orphaned) wantListed(names ...string) {
	o.t.Helper()
	status, list, stderr := call(o.t, "uploads", "list", o.state)
	if status != 0 || strings.Count(list, "\n") != len(names) {
		o.t.Errorf("exit status %d, list %s%s; want %q", status, list, stderr, names)
	}
	for _, name := range names {
		if !strings.Contains(list, "/Inbox/"+name+" ") || !strings.Contains(list, "  pending  ") {
			o.t.Errorf("the list lacks %s:\n%s", name, list)
		}
	}
}

// What waited when a key was revoked is reached after the end of the mount, and nothing of it is sent with a key that may
// be somebody else's.
func TestUploadsOfARevokedKey(t *testing.T) {
	o := newOrphaned(t)
	wantCall(t, 1, fmt.Sprintf("%s is in use by the mount at %s (process %d): name that in its place", o.state, o.mountpoint, o.cmd.Process.Pid), "uploads", "export", o.state)

	unmount := start(t, "unmount", o.mountpoint)
	unmount.says("archivefs: the service refuses the credentials; kept in " + o.state + ": 2 uploads, 20 B; " + o.reach() + "\n")
	unmount.wantExit(0)
	o.program.says("0 failed and 2 pending uploads are kept in " + o.state + "; " + o.reach() + "\n")
	o.wantExit(0)

	again := o.mounts()
	again.wantExit(1)
	if want := "2 uploads wait in " + o.state + "; " + o.reach() + "\n"; !strings.HasSuffix(again.said(), want) {
		t.Errorf("said %q, want %q", again.said(), want)
	}
	wantFinding(t, diagnose(t, "--base-url", o.url, "--api-key-file", o.key), "uploads", doctor.Warning,
		"2 uploads wait for a mount in "+o.state, o.reach())
	o.wantSeenWithANewKey()
	o.wantBroughtOut()
}

// wantSeenWithANewKey fails the test unless who mounts with another key is told. Nothing is left that it could be compared
// with.
func (o *orphaned) wantSeenWithANewKey() {
	o.t.Helper()
	o.renews()
	if err := os.RemoveAll(filepath.Join(os.Getenv("HOME"), ".cache", "archivefs")); err != nil {
		o.t.Fatal(err)
	}
	waiting := "2 uploads wait for this service in " + o.state + ", of a mount with other credentials (key:"
	wantFinding(o.t, diagnose(o.t, "--base-url", o.url, "--api-key-file", o.key), "uploads", doctor.Warning, waiting, o.reach())
	wantFinding(o.t, diagnose(o.t, "--base-url", o.url), "uploads", doctor.Warning, waiting, o.reach())
	m := o.mounts()
	m.line("mounted " + o.url + " at " + o.mountpoint)
	m.says(waiting)
	m.says(o.reach())
	o.wantListed("a.txt", "b.txt")              // beside the mount
	wantEntries(o.t, o.inInbox(""), "scan.txt") // which was there before
	m.stop()
}

// wantBroughtOut exports and discards what waits.
func (o *orphaned) wantBroughtOut() {
	t := o.t
	t.Helper()
	t.Chdir(t.TempDir())
	wantCall(t, 1, o.state+" is a state directory, and only a mount sends what waits in it", "uploads", "retry", o.state)
	wantCall(t, 0, "", "uploads", "export", o.state)
	wantFile(t, filepath.Join("inboxes", "Inbox", "a.txt"), "Inhalt")
	wantFile(t, filepath.Join("inboxes", "Inbox", "b.txt"), "anderer Inhalt")
	wantCall(t, 0, "", "uploads", "export", o.state, o.ids[1])
	wantFile(t, filepath.Join("inboxes", "Inbox", "b (2).txt"), "anderer Inhalt")
	o.wantListed("a.txt", "b.txt") // what is exported stays

	wantCall(t, 2, "the ID of each upload", "uploads", "discard", o.state)
	wantCall(t, 1, `there is no upload "dn0yb93wtpu0"`, "uploads", "discard", o.state, "dn0yb93wtpu0")
	wantCall(t, 0, "", "uploads", "discard", o.state, o.ids[0])
	o.wantListed("b.txt")
	wantCall(t, 0, "", "uploads", "discard", o.state, o.ids[1])
	o.wantListed()
	if f, there := diagnose(t, "--base-url", o.url, "--api-key-file", o.key)["uploads"]; there {
		t.Errorf("nothing waits any more: %+v", f)
	}
}

// A state directory is one command's at a time, and what it is not is not taken for one.
func TestUploadsOfAStateDirectory(t *testing.T) {
	home := isolate(t)
	identity := "http://127.0.0.1:1/api/v2 key:0123456789abcdef"
	dirs, err := config.OpenDirs("", identity)
	if err != nil {
		t.Fatal(err)
	}
	wantCall(t, 1, fmt.Sprintf("%s is in use by a mount that begins (process %d): try again", dirs.State, os.Getpid()), "uploads", "list", dirs.State)
	if err := dirs.Close(); err != nil {
		t.Fatal(err)
	}
	wantCall(t, 0, "", "uploads", "list", dirs.State)
	spooltest.Orphan(t, filepath.Join(dirs.State, "spool"), "dn0yb93wtpu0", []byte("Inhalt"))
	for _, words := range [][]string{{"uploads", "list", ""}, {"uploads", "export", dirs.State, ""}, {"uploads", "discard", "--config", "/nowhere", dirs.State, ""}} {
		got := offeredFor(t, words)
		want := map[bool]string{true: "dn0yb93wtpu0", false: dirs.State}[len(words) > 3]
		if !slices.ContainsFunc(got.words, func(w [2]string) bool { return w[0] == want }) {
			t.Errorf("%q: offers %q, want %q", words, got.words, want)
		}
	}
	held, err := config.OpenBound(dirs.State, "archivefs uploads export")
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("%s is in use by archivefs uploads export (process %d); try again when that has ended", dirs.State, os.Getpid())
	wantCall(t, 1, want, "uploads", "discard", dirs.State, "dn0yb93wtpu0")
	if _, err := config.OpenDirs("", identity); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("a mount beside it: %v", err)
	}
	if err := held.Close(); err != nil {
		t.Fatal(err)
	}
	t.Chdir(home)
	wantCall(t, 0, "", "uploads", "export", dirs.State) // what cannot be read is saved, too
	wantFile(t, "dn0yb93wtpu0", "Inhalt")

	if err := os.WriteFile(filepath.Join(home, "archive"), []byte("eine Liste\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	wantCall(t, 1, "there is no archive mounted at "+home, "uploads", "list", home)
	if _, err := os.Stat(filepath.Join(home, "spool")); err == nil {
		t.Error("a spool was made in a directory of somebody else")
	}
}

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
		for name, content := range map[string]string{"Angebot.docx~": "a", "x.pdf.part": "b", "leer.pdf.part": "", "b.txt": "b"} {
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
