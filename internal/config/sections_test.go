package config_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/archivefs/archivefs/internal/config"
)

var sectionKeys = []config.Option{{Name: "user"}, {Name: "password-file", Path: true}, {Name: "mount", Kind: config.Switch}}

func TestSections(t *testing.T) {
	text := "# people\n[erika]\nuser = 'e.muster'\npassword-file = '/pw'\n\n[1002]\nuser = \"max\"\n[\"OFFICE\\\\anna\"]\nmount = true\n[\"*\"]\n"
	sections, problems := config.ParseSections("f", []byte(text), sectionKeys)
	if len(problems) != 0 {
		t.Fatal(problems)
	}
	var got []string
	for _, s := range sections {
		got = append(got, fmt.Sprintf("%d %s %s%s%s", s.Line, s.Name, s.Values["user"].Text, s.Values["password-file"].Text, s.Values["mount"].Text))
	}
	if want := `2 erika e.muster/pw|6 1002 max|8 OFFICE\anna true|10 * `; strings.Join(got, "|") != want {
		t.Errorf("got %q, want %q", strings.Join(got, "|"), want)
	}
	if v := sections[0].Values["user"]; v.Line != 3 || v.File != "f" {
		t.Errorf("%+v", v)
	}
}

func TestSectionsSayWhatIsWrongAndWhere(t *testing.T) {
	tests := []struct{ text, want string }{
		{"user = 'x'", "f:1: user: it belongs into a section"},
		{"[a]\nusr = 'x'", `f:2: there is no key "usr" (did you mean user?)`},
		{"[a]\nmountpoint = '/x'", `f:2: there is no key "mountpoint"`},
		{"[a]\nuser = 5", "f:2: user: write a text in quotes"},
		{"[a]\nmount = 'yes'", "f:2: mount: write true or false, without quotes"},
		{"[a]\npassword-file = 'x'", "f:2: password-file: \"x\": a path in a configuration file begins with / or ~/"},
		{"[a.b]\nuser = 'x'", `f:1: [a.b] is no section; write a name with dots or other signs in quotes: ["a.b"]`},
		{"[[a]]\nuser = 'x'", `f:1: [a] is no section`},
		{"[a]\n[a]", "f:2: this is no TOML"},
		{"[a]\nuser = 'x'\nuser = 'y'", "f:3: this is no TOML"},
		{"[a]\nuser.x = 'x'", `f:2: there is no key "user.x"`},
		{"[a\nuser = 'x'", "f:1: this is no TOML"},
	}
	for _, tt := range tests {
		_, problems := config.ParseSections("f", []byte(tt.text), sectionKeys)
		if len(problems) != 1 || !strings.HasPrefix(problems[0].String(), tt.want) {
			t.Errorf("%q: got %v, want %s", tt.text, problems, tt.want)
		}
	}
}

func TestSectionsAreKeptFromOthers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "people.toml")
	if _, problems := config.Sections(path, sectionKeys); len(problems) != 1 || !strings.Contains(problems[0].String(), "no such file") {
		t.Error(problems)
	}
	if err := os.WriteFile(path, []byte("[a]\nuser = 'x'\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if sections, problems := config.Sections(path, sectionKeys); len(problems) != 0 || len(sections) != 1 {
		t.Error(sections, problems)
	}
	for _, mode := range []os.FileMode{0o664, 0o646} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		if _, problems := config.Sections(path, sectionKeys); len(problems) != 1 || !strings.Contains(problems[0].Text, "others can write to it") {
			t.Errorf("mode %v: %v", mode, problems)
		}
	}
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() == 0 {
		if err := os.Chown(path, 1, 1); err != nil {
			t.Fatal(err)
		}
		if _, problems := config.Sections(path, sectionKeys); len(problems) != 1 || !strings.Contains(problems[0].Text, "it belongs to the user 1, who can change it") {
			t.Error(problems)
		}
	}
	if _, problems := config.Sections(t.TempDir(), sectionKeys); len(problems) != 1 || problems[0].Text != "it is no file" {
		t.Error(problems)
	}
}

func FuzzSections(f *testing.F) {
	f.Add("[a]\nuser = 'x'\n[\"*\"]\nmount = true\n")
	f.Add("[a.b]\n[[c]]\nx = 1")
	f.Fuzz(func(t *testing.T, text string) {
		sections, _ := config.ParseSections("f", []byte(text), sectionKeys)
		for _, s := range sections {
			if s.Name == "" || s.Line < 1 || s.Values == nil {
				t.Errorf("%+v", s)
			}
		}
	})
}
