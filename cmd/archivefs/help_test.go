package main

import (
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/urfave/cli/v2"

	"github.com/archivefs/archivefs/cmd/archivefs/internal/cmdline"
	"github.com/archivefs/archivefs/cmd/archivefs/internal/settings"
)

func TestHelp(t *testing.T) {
	tests := []struct {
		args  []string
		names []string // what the text must name
	}{
		{[]string{"--help"}, []string{"mount", "unmount", "serve", "status", "uploads"}},
		{[]string{"-h"}, []string{"mount"}},
		{[]string{"help"}, []string{"mount"}},
		{[]string{"help", "uploads"}, []string{"list", "retry", "discard", "export"}},
		{[]string{"help", "uploads", "list"}, []string{"MOUNTPOINT", "--json"}},
		{[]string{"uploads", "help", "list"}, []string{"MOUNTPOINT", "--json"}},
		{[]string{"help", "mount"}, []string{"MOUNTPOINT", "--base-url", "ARCHIVEFS_BASE_URL"}},
		{[]string{"mount", "--help"}, []string{"MOUNTPOINT", "--base-url", "--api-key-file", "--ttl", "--umask", "--content", "ARCHIVEFS_TTL", "-o"}},
		{[]string{"mount", "-h"}, []string{"MOUNTPOINT"}},
		{[]string{"mount", "DIR", "-h"}, []string{"MOUNTPOINT"}},
		{[]string{"unmount", "--help"}, []string{"MOUNTPOINT", "--force", "--drain"}},
		{[]string{"serve", "--help"}, []string{"--listen", "--data", "--sample", "each request from info on"}},
		{[]string{"status", "--help"}, []string{"MOUNTPOINT", "--json"}},
		{[]string{"config", "--help"}, []string{"check", "show", "~/.config/archivefs/config.toml"}},
		{[]string{"config", "show", "--help"}, []string{"PROFILE", "--base-url"}},
		{[]string{"share", "samba", "--help"}, []string{"PROFILE", "--unit", "--each", "smb.conf"}},
		{[]string{"search", "--help"}, []string{"save", "list", "remove", "[searches]", "keyword:"}},
		{[]string{"search", "save", "--help"}, []string{"NAME QUERY", "--profile"}},
		{[]string{"login", "--help"}, []string{"PROFILE", "--base-url", "keyring"}},
		{[]string{"logout", "--help"}, []string{"PROFILE", "--purge"}},
		{[]string{"doctor", "--help"}, []string{"PROFILE", "MOUNTPOINT", "--json", "--base-url"}},
		{[]string{"keep", "--help"}, []string{"PATH", "--detach", "archivefs status"}},
		{[]string{"free", "--help"}, []string{"PATH", "keep"}},
		{[]string{"uploads", "--help"}, []string{"list"}},
		{[]string{"uploads", "list", "--help"}, []string{"MOUNTPOINT", "--json"}},
	}
	for _, tt := range tests {
		t.Run(strings.Join(tt.args, " "), func(t *testing.T) {
			home := isolate(t)
			t.Setenv("ARCHIVEFS_API_KEY", "k-geheim")
			t.Setenv("ARCHIVEFS_PASSWORD", "p-geheim")
			status, stdout, stderr := call(t, tt.args...)
			if status != 0 || stderr != "" {
				t.Errorf("exit status %d, error %q", status, stderr)
			}
			words := strings.Join(strings.Fields(stdout), " ") // wherever a line ends
			for _, name := range tt.names {
				if !strings.Contains(words, name) {
					t.Errorf("the help text does not name %s:\n%s", name, stdout)
				}
			}
			if strings.Contains(stdout, "geheim") {
				t.Errorf("the help text shows a secret of the environment:\n%s", stdout)
			}
			wantUntouched(t, home)
		})
	}
}

func TestWithoutACommand(t *testing.T) {
	for _, group := range []string{"", "uploads", "search", "config", "admin", "admin keys"} {
		t.Run(group, func(t *testing.T) {
			isolate(t)
			path := strings.Fields(group)
			_, help, _ := call(t, append(path, "--help")...)
			status, stdout, stderr := call(t, path...)
			want := strings.Join(append(append([]string{"archivefs: a command is missing; see archivefs"}, path...), "--help"), " ") + "\n"
			if status != 2 || stdout != help || stderr != want {
				t.Errorf("exit status %d, error %q; want 2, the help text and %q; it says\n%s", status, stderr, want, stdout)
			}
		})
	}
}

func TestEveryOptionIsInTheEnvironment(t *testing.T) {
	_, help, _ := call(t, "mount", "--help")
	for _, f := range cmdline.Visible(settings.Flags()) {
		name := f.Names()[0]
		variable := "ARCHIVEFS_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
		if name == "o" {
			continue
		}
		if got := f.(cli.DocGenerationFlag).GetEnvVars(); len(got) != 1 || got[0] != variable || !strings.Contains(help, "[$"+variable+"]") {
			t.Errorf("--%s is %q in the environment, want %s; the help text has to name it", name, got, variable)
		}
	}
}

// eachHelp calls check with the help text of every command.
func eachHelp(t *testing.T, check func(t *testing.T, text string)) {
	t.Helper()
	var walk func(path []string, commands []*cli.Command)
	walk = func(path []string, commands []*cli.Command) {
		t.Run(strings.Join(append([]string{"archivefs"}, path...), " "), func(t *testing.T) {
			_, text, _ := call(t, append(path, "--help")...)
			check(t, text)
		})
		for _, c := range commands {
			walk(append(path[:len(path):len(path)], c.Name), c.Subcommands)
		}
	}
	walk(nil, newApp(io.Discard, io.Discard).Commands)
}

func TestHelpFitsIntoATerminal(t *testing.T) {
	eachHelp(t, func(t *testing.T, text string) {
		for line := range strings.Lines(text) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 100 {
				t.Errorf("a line of %d columns: %s", n, line)
			}
		}
	})
}

// Every option that takes a value says which, and no other has a default.
func TestHelpNamesValues(t *testing.T) {
	eachHelp(t, func(t *testing.T, text string) {
		if strings.Contains(text, "default false") {
			t.Errorf("it says what is clear:\n%s", text)
		}
	})
	for _, c := range newApp(io.Discard, io.Discard).Commands {
		for _, f := range c.Flags {
			doc := f.(cli.DocGenerationFlag)
			if doc.TakesValue() && strings.Count(doc.GetUsage(), "`") != 2 {
				t.Errorf("%s: --%s does not name its value: %s", c.Name, f.Names()[0], doc.GetUsage())
			}
		}
	}
}
