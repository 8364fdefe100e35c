package config_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/archivefs/archivefs/internal/config"
)

var options = []config.Option{
	{Name: "base-url"},
	{Name: "api-key", Secret: true},
	{Name: "api-key-file", Path: true},
	{Name: "ttl", Kind: config.Duration},
	{Name: "connections", Kind: config.Number},
	{Name: "read-only", Kind: config.Switch},
	{Name: "created-after"},
}

func TestParse(t *testing.T) {
	t.Setenv("HOME", "/home/erika")
	const text = `# for all
ttl = "5m"
created-after = 2024-01-31

[profile.office]
base-url = "https://archive.example"
api-key-file = "~/key"
mountpoint = "~/Archive"
connections = 1_000

[profile.old]

[profile.home]
read-only = true
`
	file, problems := config.Parse("F", []byte(text), options)
	if len(problems) != 0 {
		t.Fatal(problems)
	}
	wantLayer(t, "", file.Defaults, map[string]config.Value{
		"ttl":           {Text: "5m", Source: config.FromDefaults, File: "F", Line: 2},
		"created-after": {Text: "2024-01-31", Source: config.FromDefaults, File: "F", Line: 3},
	})
	wantLayer(t, "office", file.Profiles["office"], map[string]config.Value{
		"base-url":     {Text: "https://archive.example", Source: config.FromProfile, File: "F", Line: 6},
		"api-key-file": {Text: "/home/erika/key", Source: config.FromProfile, File: "F", Line: 7},
		"mountpoint":   {Text: "/home/erika/Archive", Source: config.FromProfile, File: "F", Line: 8},
		"connections":  {Text: "1000", Source: config.FromProfile, File: "F", Line: 9},
	})
	wantLayer(t, "home", file.Profiles["home"], map[string]config.Value{
		"read-only": {Text: "true", Source: config.FromProfile, File: "F", Line: 14},
	})
	if got := (config.Files{file}).Profiles(); !slices.Equal(got, []string{"home", "office", "old"}) {
		t.Errorf("the profiles are %q", got)
	}
}

func wantLayer(t *testing.T, profile string, got config.Layer, want map[string]config.Value) {
	t.Helper()
	for name, value := range want {
		if got[name] != value {
			t.Errorf("%s of profile %q is %+v, want %+v", name, profile, got[name], value)
		}
	}
	if len(got) != len(want) {
		t.Errorf("profile %q says %+v, want %+v", profile, got, want)
	}
}

func TestParseSaysWhatIsWrongAndWhere(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"syntax", "ttl = 5m\n", "F:1: this is no TOML: "},
		{"no value", "\nttl =\n", "F:2: this is no TOML: "},
		{"a key twice", "ttl = \"5m\"\n\nttl = \"6m\"\n", "F:3: this is no TOML: "},
		{"unknown key", "\nbase-urll = \"x\"\n", `F:2: there is no key "base-urll" (did you mean base-url?)`},
		{"unknown key of a profile", "[profile.a]\n\nbogus = 1\n", `F:3: there is no key "bogus"`},
		{"duration in numbers", "ttl = 60\n", `F:1: ttl: 60 is no duration; write ttl = "60s" for seconds, or another unit`},
		{"switch in quotes", "read-only = \"no\"\n", "F:1: read-only: write true or false, without quotes"},
		{"switch as a number", "read-only = 1\n", "F:1: read-only: write true or false, without quotes"},
		{"number in quotes", "connections = \"5\"\n", "F:1: connections: write a whole number, without quotes"},
		{"text without quotes", "base-url = 5\n", "F:1: base-url: write a text in quotes"},
		{"list", "base-url = [\"a\"]\n", "F:1: base-url: write a text in quotes"},
		{"relative path", "api-key-file = \"key\"\n", `F:1: api-key-file: "key": a path in a configuration file begins with / or ~/`},
		{"mount point for all", "mountpoint = \"/mnt\"\n", "F:1: mountpoint: only a profile has one; write it into a section [profile.NAME]"},
		{"another section", "[office]\nttl = 5\n", "F:1: there is no section [office]; a profile is [profile.office]"},
		{"list of sections", "[[profile.office]]\n", "F:1: there is no section [profile.office]; a profile is [profile.office]"},
		{"section of a profile", "[profile.office.more]\n", "F:1: there is no section [profile.office.more]; a profile is [profile.more]"},
		{"profile without a section", "profile.office = 5\n", "F:1: profile.office: a profile has a section of its own, [profile.NAME], and in it a line for each option"},
		{"profile that is a path", "[profile.\"a/b\"]\nttl = 5\n", `F:1: "a/b" is no name of a profile: those have letters, digits, "-", "_" and ".", and begin with no "-"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, problems := config.Parse("F", []byte(tt.text), options)
			if len(problems) != 1 || !strings.HasPrefix(problems[0].String(), tt.want) {
				t.Errorf("got %q, want only %q", problems, tt.want)
			}
			if !strings.HasSuffix(tt.want, ": ") && problems[0].String() != tt.want {
				t.Errorf("got %q, want %q", problems[0], tt.want)
			}
		})
	}
}

func TestParseGoesOnAfterAMistake(t *testing.T) {
	file, problems := config.Parse("F", []byte("bogus = 1\nttl = \"1m\"\n[profile.a]\nread-only = 1\n[profile.b]\nttl = \"2m\"\n"), options)
	if len(problems) != 2 || problems[0].Line != 1 || problems[1].Line != 4 {
		t.Errorf("the problems are %q", problems)
	}
	if file.Defaults["ttl"].Text != "1m" || file.Profiles["b"]["ttl"].Text != "2m" {
		t.Errorf("what is right was not read: %+v", file)
	}
	err := problems.Error()
	var usage *config.UsageError
	if !errors.As(err, &usage) || err.Error() != `F:1: there is no key "bogus" (and more: archivefs config check shows all)` {
		t.Errorf("got error %v", err)
	}
	if err := problems[:0].Error(); err != nil {
		t.Errorf("no problem is the error %v", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("ttl = \"5m\"\n[profile.a]\nread-only = true\n")
	f.Add("[profile]\noffice.ttl = 1\n[[x]]\na.b.c = {}\n")
	f.Fuzz(func(t *testing.T, text string) {
		for _, p := range second(config.Parse("F", []byte(text), options)) {
			if p.Line < 0 || p.Line > strings.Count(text, "\n")+2 {
				t.Errorf("%v: there is no such line in %q", p, text)
			}
		}
	})
}

func second(_ *config.File, p config.Problems) config.Problems { return p }

// A line that is no TOML hides none of the mistakes below it, unless nobody can tell what
// those lines belong to.
func TestParseGoesOnBehindWhatIsNoTOML(t *testing.T) {
	for text, want := range map[string][]int{
		"ttl = 5m\nbase-url = x\nconnections = \"1\"\n":                   {1, 2, 3},
		"ttl = \"5m\"\nttl = \"6m\"\n[profile.a]\nbogus = 1\nttl = 5m\n":  {2, 5, 4},
		"bogus = 1\nbase-url = [\n\"a\"\nttl = \"5m\"\nconnections = 1\n": {4, 1},
		"bogus = 1\n[profile.a\nbogus = 1\nttl = 5m\n":                    {2, 1},
		"bogus = 1\nbase-url = \"\"\"a\nttl = \"5m\"\n":                   {3, 1},
	} {
		_, problems := config.Parse("F", []byte(text), options)
		var got []int
		for _, p := range problems {
			got = append(got, p.Line)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q: got %q, want those of the lines %v", text, problems, want)
		}
	}
}
