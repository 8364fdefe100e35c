package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/archivefs/archivefs/internal/config"
	"github.com/archivefs/archivefs/internal/doctor"
)

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
		_, status, err := readStatus(o.mountpoint)
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

// What waited when a key was revoked is reached after the end of the mount, whatever mounts
// since, and nothing of it is sent.
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
	wantFinding(t, diagnose(t, "--base-url", o.url, "--api-key-file", o.key), uploadsCheck, doctor.Warning,
		"2 uploads wait for a mount in "+o.state, o.reach())
	o.wantSeenWithANewKey()
	o.wantBroughtOut()
}

// wantSeenWithANewKey fails the test unless who mounts with another key is told.
func (o *orphaned) wantSeenWithANewKey() {
	o.t.Helper()
	o.renews()
	told := "2 uploads wait for this service in " + o.state + ", of a mount with other credentials (key:"
	wantFinding(o.t, diagnose(o.t, "--base-url", o.url, "--api-key-file", o.key), uploadsCheck, doctor.Warning, told, o.reach())
	wantFinding(o.t, diagnose(o.t, "--base-url", o.url), uploadsCheck, doctor.Warning, told, o.reach())
	m := o.mounts()
	m.line("mounted " + o.url + " at " + o.mountpoint)
	m.says(told)
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
	if f, there := diagnose(t, "--base-url", o.url, "--api-key-file", o.key)[uploadsCheck]; there {
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
	upload := filepath.Join(dirs.State, "spool", "dn0yb93wtpu0")
	if err := os.MkdirAll(upload, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(upload, "data"), []byte("Inhalt"), 0o600); err != nil { // without a record
		t.Fatal(err)
	}
	for _, words := range [][]string{{"uploads", "list", ""}, {"uploads", "export", dirs.State, ""}, {"uploads", "discard", "--config", "/nowhere", dirs.State, ""}} {
		got := complete(newApp(nil, nil), words)
		want := map[bool]string{true: "dn0yb93wtpu0", false: dirs.State}[len(words) > 3]
		if !slices.ContainsFunc(got.words, func(w [2]string) bool { return w[0] == want }) {
			t.Errorf("%q: offers %q, want %q", words, got.words, want)
		}
	}
	held, err := openKept(dirs.State, "archivefs uploads export")
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
