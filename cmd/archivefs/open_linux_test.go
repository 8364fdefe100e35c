package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/archivefs/archivefs/internal/testing/fusetest"
)

// desktop puts programs in front of all others that note what they are called with, and
// returns the file with their notes.
func desktop(t *testing.T, programs ...string) (notes string) {
	t.Helper()
	dir := t.TempDir()
	notes = filepath.Join(dir, "notes")
	for _, name := range programs {
		text := "#!/bin/sh\necho " + name + " \"$*\" >>" + notes + "\n"
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	return notes
}

func wantNotes(t *testing.T, notes string, want ...string) {
	t.Helper()
	text, err := os.ReadFile(notes)
	if err != nil && len(want) > 0 {
		t.Fatal(err)
	}
	if got := strings.TrimSpace(string(text)); got != strings.Join(want, "\n") {
		t.Errorf("noted %q, want %q", got, want)
	}
}

func TestOpen(t *testing.T) {
	fusetest.Need(t)
	home := isolate(t)
	t.Setenv(asProgram, "1") // for the mounts in the background
	notes := desktop(t, "xdg-open")
	own, work, play := filepath.Join(home, "Archive"), filepath.Join(home, "Work"), filepath.Join(home, "Archive of games")
	for _, dir := range []string{own, work, play} {
		unmountAtEnd(t, dir)
	}
	want := func(args ...string) {
		t.Helper()
		if status, _, stderr := call(t, args...); status != 0 {
			t.Fatalf("%q: exit status %d: %s", args, status, stderr)
		}
	}

	want("open")
	wantNotes(t, notes, "xdg-open "+own)
	first := processOf(t, own)
	want("open") // it is mounted already
	wantNotes(t, notes, "xdg-open "+own, "xdg-open "+own)
	if again := processOf(t, own); again != first {
		t.Error("it was mounted again")
	}
	write(t, filepath.Join(own, "My Archive", "a.txt"), "a")
	wantCall(t, 0, "--grace", "uploads", "list", own) // as in a mount at login
	want("unmount", own)

	configure(t, home, `
[profile.work]
embedded = true
data = "~/work-data"
mountpoint = "~/Work"
[profile.play]
embedded = true
data = "~/play-data"
mountpoint = "~/Archive of games"
[profile.elsewhere]
`)
	want("open", "work")
	wantNotes(t, notes, "xdg-open "+own, "xdg-open "+own, "xdg-open "+work)
	want("open")
	wantNotes(t, notes, "xdg-open "+own, "xdg-open "+own, "xdg-open "+work, "xdg-open "+play, "xdg-open "+work)
	want("unmount", work)
	want("unmount", play)
}

func TestOpenSaysWhatIsWrong(t *testing.T) {
	home := isolate(t)
	t.Setenv(asProgram, "1")
	notes := desktop(t, "xdg-open", "zenity")
	configure(t, home, "[profile.office]\nbase-url = \"https://archive.example\"\n")
	tests := []struct {
		args []string
		want int
		says string
	}{
		{[]string{"open", "office"}, 1, "archivefs login office"}, // there are no credentials
		{[]string{"open", "offfice"}, 2, "did you mean office?"},
		{[]string{"open", "office", "work"}, 2, "one PROFILE at most"},
	}
	for _, tt := range tests {
		t.Run(strings.Join(tt.args, " "), func(t *testing.T) {
			status, _, stderr := call(t, tt.args...)
			if status != tt.want || !strings.Contains(stderr, tt.says) {
				t.Errorf("exit status %d, want %d with %q: %s", status, tt.want, tt.says, stderr)
			}
		})
	}
	wantNotes(t, notes) // no window for who sees the text

	if status, _, stderr := call(t, "open", "--window", "office"); status != 1 {
		t.Errorf("exit status %d, want 1: %s", status, stderr)
	}
	text, err := os.ReadFile(notes)
	if err != nil || !strings.HasPrefix(string(text), "zenity --error") || !strings.Contains(string(text), "archivefs login office") {
		t.Errorf("shows %q (%v)", text, err)
	}
}
