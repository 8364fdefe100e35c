package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/archivefs/archivefs/internal/testing/fusetest"
)

func TestSearchCommands(t *testing.T) {
	home := isolate(t)
	file := configure(t, home, "# mine\nttl = \"5m\"\n[profile.office]\nbase-url = \"https://archive.example\"\n")
	says := func(want string, args ...string) {
		t.Helper()
		if status, stdout, stderr := call(t, append([]string{"search"}, args...)...); status != 0 || stdout != want {
			t.Errorf("%q: exit status %d, output %q, error %q; want %q", args, status, stdout, stderr, want)
		}
	}
	if status, stdout, stderr := call(t, "search", "list"); status != 0 || stdout != "" || stderr != "archivefs: there is no saved search\n" {
		t.Errorf("without a search: exit status %d, output %q, error %q", status, stdout, stderr)
	}
	says("saved in "+file+"\n", "save", "Open bills", `keyword:"is open"`)
	says("saved in "+file+"\n", "save", "--profile", "office", "New", "after:2026")
	says("New         after:2026         "+file+":10\nOpen bills  keyword:\"is open\"  "+file+":7\n", "list", "--profile=office")
	says("[\n  {\n    \"name\": \"Open bills\",\n    \"query\": \"keyword:\\\"is open\\\"\",\n    \"file\": \""+file+"\",\n    \"line\": 7\n  }\n]\n", "list", "--json")
	says("", "remove", "Open bills")
	says("saved in "+file+"\n", "save", "--profile", "office", "New", "after:2027")
	text, err := os.ReadFile(file)
	if want := "# mine\nttl = \"5m\"\n[profile.office]\nbase-url = \"https://archive.example\"\n\n[profile.office.searches]\nNew = 'after:2027'\n"; err != nil || string(text) != want {
		t.Errorf("the file says %v\n%s", err, text)
	}
	if status, stdout, _ := call(t, "config", "check"); status != 0 || stdout != file+": right, with 1 profile\n" {
		t.Errorf("check: %d, %q", status, stdout)
	}
}

func TestSearchCommandsRefuse(t *testing.T) {
	home := isolate(t)
	configure(t, home, "[searches]\nOpen = 'x'\nbills = 'y'\n[profile.office]\n")
	for want, args := range map[string][]string{
		"2 archivefs: save needs a NAME and a QUERY, and was given 3 operands; put a QUERY":     {"save", "a", "b", "c"},
		"2 archivefs: QUERY: after: takes a date such as":                                       {"save", "a", "after:x"},
		"2 archivefs: \"a/b\" is no name of a search":                                           {"save", "a/b", "x"},
		"2 archivefs: there is no profile \"ofice\" in the configuration (did you mean":         {"save", "--profile=ofice", "a", "x"},
		"2 archivefs: remove needs one NAME":                                                    {"remove"},
		"2 archivefs: list takes no operands":                                                   {"list", "x"},
		"1 archivefs: there is no search \"bils\" (did you mean bills?); archivefs search list": {"remove", "bils"},
		"1 archivefs: there is no search \"OPEN\" (did you mean Open?); archivefs search list":  {"remove", "OPEN"},
		"1 archivefs: the search \"Open\" is in " + home:                                        {"remove", "--profile=office", "Open"},
	} {
		status, _, stderr := call(t, append([]string{"search"}, args...)...)
		if got := string(rune('0'+status)) + " " + stderr; !strings.HasPrefix(got, want) {
			t.Errorf("%q: %q, want %q", args, got, want)
		}
	}
	file := configure(t, home, "[searches]\nOpen = 'after:x'\n")
	if status, stdout, _ := call(t, "config", "check"); status != 1 || !strings.HasPrefix(stdout, file+":2: Open: after: takes a date") {
		t.Errorf("check: %d, %q", status, stdout)
	}
}

// A running mount shows a search as soon as it is saved, and what changed in the file after SIGHUP.
func TestSavedSearchesOfAMount(t *testing.T) {
	fusetest.Need(t)
	home := isolate(t)
	dir := t.TempDir()
	p := startMount(t, dir, "--sample")
	p.line("mounted ")
	status, stdout, stderr := call(t, "search", "save", "Bills", "Rechnung")
	if want := "\n" + filepath.Join(dir, "searches", "Bills") + "\n"; status != 0 || !strings.Contains(stdout, want) {
		t.Errorf("saved with exit status %d, output %q, error %q; want %q", status, stdout, stderr, want)
	}
	if hits, err := os.ReadDir(filepath.Join(dir, "searches", "Bills")); err != nil || len(hits) == 0 {
		t.Errorf("found %v, %v", hits, err)
	}
	configure(t, home, "[searches]\nOther = 'after:2020'\n")
	p.signal(syscall.SIGHUP)
	heals(t, "the other search is shown", func() bool {
		list, err := os.ReadDir(filepath.Join(dir, "searches"))
		return err == nil && len(list) == 1 && list[0].Name() == "Other"
	})
	if status, _, stderr := call(t, "search", "remove", "Other"); status != 0 {
		t.Errorf("exit status %d, error %q", status, stderr)
	}
	if _, err := os.Lstat(filepath.Join(dir, "searches")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without a search: %v", err)
	}
	p.stop()
}
