package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"github.com/archivefs/archivefs/cmd/archivefs/internal/cmdline"
	"github.com/archivefs/archivefs/cmd/archivefs/internal/command"
	"github.com/archivefs/archivefs/cmd/archivefs/internal/manual"
	"github.com/archivefs/archivefs/cmd/archivefs/internal/settings"
)

func init() { packageFiles = manual.Command }

// packaged writes what packages install to a new directory.
func packaged(t *testing.T) (dir string) {
	t.Helper()
	isolate(t)
	dir = filepath.Join(t.TempDir(), "share")
	t.Setenv("SOURCE_DATE_EPOCH", "1000000000")
	if status, _, stderr := call(t, "package-files", dir); status != 0 {
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
	dir := packaged(t)
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
			for _, f := range cmdline.Visible(c.Flags) {
				names(commands, "Fl "+inRoff(strings.TrimPrefix(cmdline.Dashed(f.Names()[0]), "-")))
			}
		}
	}
	walk("", newApp(nil, nil).Commands)
	for _, o := range settings.FileOptions() {
		if f := cmdline.FlagNamed(cmdline.Visible(settings.Flags()), o.Name); f != nil {
			names(keys, ".It Ic "+inRoff(o.Name))
		}
	}
	for _, f := range cmdline.Visible(settings.Flags()) {
		if name := f.Names()[0]; name != "o" && !slices.Contains(command.SecretFlags, name) {
			names(mountOptions, ".It Cm "+cmdline.Underscored(f.Names()[0]))
		}
	}
	for _, text := range []string{commands, keys, mountOptions} {
		names(text, ".Dd September 9, 2001")
		if strings.Contains(text, "profile FILE") || strings.Contains(text, "Ss package-files") {
			t.Error("the manual names what is hidden")
		}
	}
}

func TestManualIsWellFormed(t *testing.T) {
	mandoc, err := exec.LookPath("mandoc")
	if err != nil {
		t.Skip("mandoc is not installed")
	}
	pages, err := filepath.Glob(filepath.Join(packaged(t), "*.[1-9]"))
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

func TestShareWrongUsage(t *testing.T) {
	home := isolate(t)
	if status, _, _ := call(t, "package-files"); status != 2 {
		t.Errorf("without a directory: exit status %d, want 2", status)
	}
	t.Setenv("SOURCE_DATE_EPOCH", "yesterday")
	if status, _, stderr := call(t, "package-files", filepath.Join(home, "share")); status != 2 || !strings.Contains(stderr, "SOURCE_DATE_EPOCH") {
		t.Errorf("with a wrong date: exit status %d, want 2: %s", status, stderr)
	}
	wantUntouched(t, home)
}
