package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"
)

// share writes what packages install to a new directory.
func share(t *testing.T) (dir string) {
	t.Helper()
	isolate(t)
	dir = filepath.Join(t.TempDir(), "share")
	t.Setenv("SOURCE_DATE_EPOCH", "1000000000")
	if status, _, stderr := call(t, "share", dir); status != 0 {
		t.Fatalf("exit status %d: %s", status, stderr)
	}
	return dir
}

// page reads a page of the manual.
func page(t *testing.T, dir, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// inRoff is the name of an option as troff wants it.
func inRoff(name string) string { return strings.ReplaceAll(name, "-", `\-`) }

func TestManualNamesEverything(t *testing.T) {
	dir := share(t)
	commands, keys, mountOptions := page(t, dir, "archivefs.1"), page(t, dir, "archivefs.toml.5"), page(t, dir, "mount.archivefs.8")
	names := func(text, what string) {
		t.Helper()
		if !strings.Contains(text, what+"\n") && !strings.Contains(text, what+" ") {
			t.Errorf("the manual lacks %q", what)
		}
	}
	var walk func(above string, all []*cli.Command)
	walk = func(above string, all []*cli.Command) {
		for _, c := range all {
			if walk(above+c.Name+" ", c.Subcommands); c.Hidden || len(c.Subcommands) > 0 {
				continue
			}
			names(commands, ".Cm "+above+c.Name)
			names(commands, ".Ss "+above+c.Name)
			for _, f := range visible(c.Flags) {
				names(commands, "Fl "+inRoff(strings.TrimPrefix(dashed(f.Names()[0]), "-")))
			}
		}
	}
	walk("", newApp(nil, nil).Commands)
	for _, o := range fileOptions() {
		if f := flagNamed(visible(mountFlags()), o.Name); f != nil {
			names(keys, ".It Ic "+inRoff(o.Name))
		}
	}
	for _, f := range visible(mountFlags()) {
		if name := f.Names()[0]; name != "o" && !slices.Contains(secretFlags, name) {
			names(mountOptions, ".It Cm "+underscored(f.Names()[0]))
		}
	}
	for _, text := range []string{commands, keys, mountOptions} {
		names(text, ".Dd September 9, 2001")
		if strings.Contains(text, "profile FILE") || strings.Contains(text, "Ss share") {
			t.Error("the manual names what is hidden")
		}
	}
}

func TestManualIsWellFormed(t *testing.T) {
	mandoc, err := exec.LookPath("mandoc")
	if err != nil {
		t.Skip("mandoc is not installed")
	}
	pages, err := filepath.Glob(filepath.Join(share(t), "*.[1-9]"))
	if err != nil || len(pages) != 3 {
		t.Fatalf("the pages are %q (%v)", pages, err)
	}
	for _, name := range pages {
		said, _ := exec.CommandContext(t.Context(), mandoc, "-T", "lint", name).CombinedOutput()
		for line := range strings.Lines(string(said)) {
			switch {
			case strings.Contains(line, "operating system explicitly specified"): // a rule of NetBSD for its own pages
			case strings.Contains(line, "referenced manual not found"), strings.Contains(line, "outdated mandoc.db"): // about this machine
			default:
				t.Error(strings.TrimSpace(line))
			}
		}
	}
}

func TestManualText(t *testing.T) {
	tests := []struct{ text, want string }{
		{"One. Two --a-b.", "One.\nTwo \\-\\-a\\-b.\n"},
		{"as FILE:LINE: TEXT. The rest", "as FILE:LINE: TEXT.\nThe rest\n"},
		{".a 'b", "\\&.a 'b\n"},
		{`a\b`, `a\eb` + "\n"},
		{strings.Repeat("word ", 20), strings.TrimSpace(strings.Repeat("word ", 15)) + "\n" + strings.TrimSpace(strings.Repeat("word ", 5)) + "\n"},
	}
	for _, tt := range tests {
		if got := running(tt.text); got != tt.want {
			t.Errorf("%q becomes %q, want %q", tt.text, got, tt.want)
		}
	}
	if got, want := paragraphs("A:\n\n   $ x\n   .y -z\n\nB."), ".Pp\nA:\n.Bd -literal -offset indent\n$ x\n\\&.y \\-z\n.Ed\n.Pp\nB.\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestShareWrongUsage(t *testing.T) {
	home := isolate(t)
	if status, _, _ := call(t, "share"); status != 2 {
		t.Errorf("without a directory: exit status %d, want 2", status)
	}
	t.Setenv("SOURCE_DATE_EPOCH", "yesterday")
	if status, _, stderr := call(t, "share", filepath.Join(home, "share")); status != 2 || !strings.Contains(stderr, "SOURCE_DATE_EPOCH") {
		t.Errorf("with a wrong date: exit status %d, want 2: %s", status, stderr)
	}
	wantUntouched(t, home)
}
