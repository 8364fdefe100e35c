package config_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/archivefs/archivefs/internal/config"
)

func TestSearchesOfFiles(t *testing.T) {
	user := write(t, 0o600, "[searches]\nOffen = 'keyword:offen'\n[profile.office]\nttl = \"1m\"\nsearches.Neu = \"after:2024\"\n")
	system := write(t, 0o644, "[profile.office.searches]\nNeu = \"after:1999\"\nOffen = \"offen name:Rechnung\"\n\"Frau Muster\" = \"\"\"a\nb\"\"\"\n")
	files, problems := config.Load([]string{user, system}, options)
	if len(problems) != 0 {
		t.Fatal(problems)
	}
	for profile, want := range map[string]string{
		"":       "Offen=keyword:offen;",
		"other":  "Offen=keyword:offen;",
		"office": "Frau Muster=a\nb;Neu=after:2024;Offen=offen name:Rechnung;",
	} {
		var got strings.Builder
		for _, s := range files.Searches(profile) {
			got.WriteString(s.Name + "=" + s.Query + ";")
		}
		if got.String() != want {
			t.Errorf("the searches of %q are %q, want %q", profile, got.String(), want)
		}
	}
	if got := files.Searches("office")[1]; got.File != user || got.Line != 5 || got.Source != config.FromProfile {
		t.Errorf("a search is at %+v", got)
	}
}

func TestWrongSearches(t *testing.T) {
	for text, want := range map[string]string{
		"[searches]\n\".hidden\" = \"x\"\n":               `F:2: ".hidden" is no name of a search`,
		"[searches]\n\"a/b\" = \"x\"\n":                   `F:2: "a/b" is no name of a search`,
		"[searches]\n\"a\\nb\" = \"x\"\n":                 `F:2: "a\nb" is no name of a search`,
		"[searches]\n\"\" = \"x\"\n":                      `F:2: "" is no name of a search`,
		"[searches]\na = 5\n":                             "F:2: a: write the query as a text in quotes",
		"searches = \"x\"\n":                              "F:1: searches: searches have a section of their own",
		"[profile.a]\nsearches = { b = \"c\" }\n":         "F:2: profile.a.searches: searches have a section",
		"[profile.a.searches.more]\nb = \"c\"\n":          "F:1: there is no section [profile.a.searches.more]",
		"[searches]\n" + strings.Repeat("a", 256) + "=''": "F:2: \"aaa",
	} {
		_, problems := config.Parse("F", []byte(text), options)
		if len(problems) != 1 || !strings.HasPrefix(problems[0].String(), want) {
			t.Errorf("%q: got %q, want %q", text, problems, want)
		}
	}
}

// Editing keeps comments, order and all else.
func TestEditSearches(t *testing.T) {
	const before = `# for all
ttl = "5m"   # long

[profile.office.searches] # of the office
# what is open
Offen = "keyword:offen" # every day
"Frau Muster" = """
x"""

[profile.office]
base-url = "https://archive.example"
# the end`
	tests := []struct {
		name, text, profile string
		edit                func(path, profile string) error
		want                string
	}{
		{"replace", before, "office", save("Offen", `keyword:"noch 'offen'"`), strings.Replace(before, `"keyword:offen"`, `"keyword:\"noch 'offen'\""`, 1) + "\n"},
		{"replace lines", before, "office", save("Frau Muster", "y"), strings.Replace(before, "\"Frau Muster\" = \"\"\"\nx\"\"\"", "'Frau Muster' = 'y'", 1) + "\n"},
		{"add", before, "office", save("Neu", "after:2024"), strings.Replace(before, "\n\n[profile.office]", "\nNeu = 'after:2024'\n\n[profile.office]", 1) + "\n"},
		{"add a section", before, "home", save("Neu", "after:2024"), before + "\n\n[profile.home.searches]\nNeu = 'after:2024'\n"},
		{"add for all", before, "", save("Neu", "after:2024"), before + "\n\n[searches]\nNeu = 'after:2024'\n"},
		{"a profile in quotes", "", "b.c", save("ä ö", "x"), "[profile.\"b.c\".searches]\n'ä ö' = 'x'\n"},
		{"into an empty section", "[searches]\n[profile.a]\n", "", save("A", "x"), "[searches]\nA = 'x'\n[profile.a]\n"},
		{"remove", before, "office", remove("Offen"), strings.Replace(before, "Offen = \"keyword:offen\" # every day\n", "", 1) + "\n"},
		{"remove lines", before, "office", remove("Frau Muster"), strings.Replace(before, "\"Frau Muster\" = \"\"\"\nx\"\"\"\n", "", 1) + "\n"},
		{"remove the last", "ttl = '1m'\n\n[searches]\na = 'x'\n", "", remove("a"), "ttl = '1m'\n"},
		{"remove the last, before others", "ttl = '1m'\n\n[searches]\na = 'x'\n\n[profile.a]\n", "", remove("a"), "ttl = '1m'\n\n[profile.a]\n"},
		{"remove the last, first of all", "[searches]\na = 'x'\n\n[profile.a]\n", "", remove("a"), "[profile.a]\n"},
		{"remove the last of a profile", "[profile.a]\nttl = '1m'\n[profile.a.searches]\nb = 'x'\n", "a", remove("b"), "[profile.a]\nttl = '1m'\n"},
		{"remove the last, of a profile elsewhere", "[profile.a.searches]\nb = 'x'\n", "a", remove("b"), "[profile.a.searches]\n"},
		{"remove the last, under a comment", "[searches] # mine\na = 'x'\n", "", remove("a"), "[searches] # mine\n"},
		{"remove the last, above a comment", "[searches]\na = 'x'\n# b = 'y'\n", "", remove("a"), "[searches]\n# b = 'y'\n"},
		{"remove a dotted key", "[profile.a]\nsearches.b = 'x'\nttl = '1m'\n", "a", remove("b"), ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := write(t, 0o640, tt.text)
			err := tt.edit(path, tt.profile)
			if got := read(t, path); tt.want != "" && (got != tt.want || err != nil) {
				t.Errorf("it says, with error %v\n%s\nwant\n%s", err, got, tt.want)
			}
			if tt.want == "" && (err == nil || read(t, path) != tt.text) {
				t.Errorf("error %v; it says\n%s", err, read(t, path))
			}
			if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o640 {
				t.Errorf("its mode is %v, %v", info.Mode(), err)
			}
		})
	}
}

func save(name, query string) func(path, profile string) error {
	return func(path, profile string) error { return config.SaveSearch(path, options, profile, name, query) }
}

func remove(name string) func(path, profile string) error {
	return func(path, profile string) error { return config.RemoveSearch(path, options, profile, name) }
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestSaveSearchInANewFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "archivefs", "config.toml")
	done := make(chan error)
	for i := range 8 { // at the same time
		go func() { done <- save(fmt.Sprint("S", i), "x")(path, "office") }()
	}
	for range 8 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	files, problems := config.Load([]string{path}, options)
	if len(problems) > 0 || len(files.Searches("office")) != 8 {
		t.Errorf("got %v, %v", files.Searches("office"), problems)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("its mode is %v, %v", info.Mode(), err)
	}
}

func TestSearchesThatCannotBeEdited(t *testing.T) {
	for text, edit := range map[string]func(path, profile string) error{
		"bogus = 1\n": save("a", "b"),
		"[profile.office]\nsearches.a = 'x'\n[profile.b]\n": save("b", "y"), // a section would repeat the table
	} {
		path := write(t, 0o600, text)
		if err := edit(path, "office"); err == nil || read(t, path) != text {
			t.Errorf("%q: error %v, and it says %q", text, err, read(t, path))
		}
	}
	path := write(t, 0o600, "[searches]\n")
	if err := remove("a")(path, ""); !errors.Is(err, config.ErrNoSearch) {
		t.Errorf("an absent search: %v", err)
	}
	if err := save("a/b", "x")(path, ""); err == nil {
		t.Error("a path is a name")
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	if err := save("a", "x")(link, ""); err != nil || read(t, path) != "[searches]\na = 'x'\n" {
		t.Errorf("through a link: %v, %q", err, read(t, path))
	}
}

func FuzzSaveSearch(f *testing.F) {
	f.Add("ttl = \"5m\"\n[profile.a.searches]\nb = \"c\" # d\n", "b", "x")
	f.Add("searches.a = ''", "a\"", "'\\\n")
	f.Fuzz(func(t *testing.T, text, name, query string) {
		path := write(t, 0o600, text)
		if err := save(name, query)(path, "a"); err != nil {
			if read(t, path) != text {
				t.Errorf("error %v, and it says %q", err, read(t, path))
			}
			return
		}
		files, problems := config.Load([]string{path}, options)
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		for _, s := range files.Searches("a") {
			if s.Name == name && s.Query != query {
				t.Errorf("%q is %q, want %q", name, s.Query, query)
			}
		}
	})
}
