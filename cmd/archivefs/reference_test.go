package main

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"
)

// docs/REFERENCE.md describes every command and every option.
func TestReferenceIsComplete(t *testing.T) {
	text, err := os.ReadFile("../../docs/REFERENCE.md")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(text), "\n")
	words := map[string]bool{} // an option is one with its dashes
	for _, word := range regexp.MustCompile(`[-\w]+`).FindAllString(string(text), -1) {
		words[word] = true
	}
	options := 0
	var walk func(of string, commands []*cli.Command)
	walk = func(of string, commands []*cli.Command) {
		for _, c := range commands {
			if c.Hidden {
				continue
			}
			path := of + " " + c.Name
			// A row of a table tells of several: `admin keys list`, `add [NAME]`, `revoke ID...`.
			over := strings.TrimPrefix(of, "archivefs ")
			parent, own := regexp.MustCompile(`\b`+over+`\b`), regexp.MustCompile(`\b`+c.Name+`\b`)
			if !slices.ContainsFunc(lines, func(line string) bool {
				if !strings.Contains(line, over) || !strings.Contains(line, c.Name) { // the expressions take long
					return false
				}
				at := parent.FindStringIndex(line)
				return at != nil && own.MatchString(line[at[1]:])
			}) {
				t.Errorf("%s is not in it", path)
			}
			for _, flag := range c.Flags {
				visible, ok := flag.(cli.VisibleFlag)
				if ok && !visible.IsVisible() {
					continue
				}
				options++
				option := "--" + flag.Names()[0]
				if len(option) == 3 {
					option = option[1:]
				}
				if !words[option] {
					t.Errorf("%s of %s is not in it", option, path)
				}
			}
			walk(path, c.Subcommands)
		}
	}
	walk("archivefs", newApp(io.Discard, io.Discard).Commands)
	if options < 50 {
		t.Errorf("only %d options were looked for", options)
	}
}

// The files that the documents name exist; where a document leaves out the first directories, it is enough that one does.
func TestDocumentedFilesExist(t *testing.T) {
	files := map[string]bool{} // by each end of their paths
	err := fs.WalkDir(os.DirFS("../.."), ".", func(path string, _ fs.DirEntry, err error) error {
		for more := true; more; _, path, more = strings.Cut(path, "/") {
			files[path] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, document := range []string{"CONTRIBUTING.md", "docs/ARCHITECTURE.md"} {
		text, err := os.ReadFile("../../" + document)
		if err != nil {
			t.Fatal(err)
		}
		named := regexp.MustCompile("`([^` ]+\\.go)`").FindAllSubmatch(text, -1)
		if len(named) < 20 {
			t.Errorf("%s names only %d files", document, len(named))
		}
		for _, name := range named {
			if !files[string(name[1])] && !strings.Contains(string(name[1]), "NAME") {
				t.Errorf("%s names %s, which is not there", document, name[1])
			}
		}
	}
}

// docs/packages.svg, which is drawn by hand, names every package of the top level and of internal.
func TestPackageMapIsComplete(t *testing.T) {
	text, err := os.ReadFile("../../docs/packages.svg")
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"", "internal/"} {
		entries, err := os.ReadDir("../../" + dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if sources, _ := filepath.Glob("../../" + dir + e.Name() + "/*.go"); len(sources) == 0 { // the pattern is right
				continue
			}
			if !regexp.MustCompile(`(^|[ >])` + dir + e.Name() + `\b`).Match(text) {
				t.Errorf("%s%s is not in it", dir, e.Name())
			}
		}
	}
}
