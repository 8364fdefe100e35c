package settings

import (
	"errors"
	"testing"

	"github.com/archivefs/archivefs/internal/config"
)

func TestBlame(t *testing.T) {
	all := &Choices{profile: "office", Values: config.Layer{
		"ttl":       {Text: "-1s", Source: config.FromProfile, File: "/c.toml", Line: 7},
		"timeout":   {Text: "0s", Source: config.FromFlag},
		"embedded":  {Text: "true", Source: config.FromDefaults, File: "/c.toml", Line: 2},
		"base-url":  {Text: "https://a", Source: config.FromProfile, File: "/c.toml", Line: 5},
		"ca-file":   {Text: "a", Source: config.FromProfile, File: "/c.toml", Line: 9},
		"spool-dir": {},
	}}
	other := errors.New("--ttl: something else went wrong")
	for _, tt := range []struct {
		err   error
		says  string
		blame string // of several options
	}{
		{config.WrongOption("ttl", "a duration is not negative"), "/c.toml:7: ttl: a duration is not negative", "ttl"},
		{config.WrongOption("timeout", "a request needs some time"), "--timeout: a request needs some time", ""},
		{config.WrongOption("drain", "a duration is not negative"), "--drain: a duration is not negative", ""},
		{config.WrongTogether("%s and %s exclude each other", "embedded", "base-url"), "--embedded and --base-url exclude each other", "base-url"},
		{config.WrongTogether("%s and %s go together", "ca-file", "base-url"), "--ca-file and --base-url go together", "ca-file"},
		{config.Usagef("--ttl: a sentence that only looks so"), "--ttl: a sentence that only looks so", ""},
		{other, other.Error(), ""},
	} {
		if got := all.Blame(tt.err); got.Error() != tt.says {
			t.Errorf("%v becomes %v, want %s", tt.err, got, tt.says)
		}
		if usage, ok := errors.AsType[*config.UsageError](tt.err); ok && all.toBlame(usage) != tt.blame {
			t.Errorf("%v: %q is to blame, want %q", tt.err, all.toBlame(usage), tt.blame)
		}
	}
}

func TestGroupsHaveEachOptionOnce(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range Flags() {
		for _, name := range f.Names() {
			if seen[name] {
				t.Errorf("--%s is there twice", name)
			}
			seen[name] = true
		}
	}
}

func TestWrongTogether(t *testing.T) {
	problems := wrongTogether("office", config.Layer{
		"base-url": {Text: "https://archive.example", Source: config.FromProfile, File: "/c.toml", Line: 3},
		"sample":   {Text: "true", Source: config.FromProfile, File: "/c.toml", Line: 4},
		"ttl":      {Text: "-1s", Source: config.FromProfile, File: "/c.toml", Line: 5},
	})
	want := []string{
		"/c.toml:4: profile office: --data and --sample are for the embedded service; leave --base-url out to use it",
		"/c.toml:5: ttl: a duration is not negative",
	}
	if len(problems) != len(want) {
		t.Fatalf("got %q, want %q", problems, want)
	}
	for i, p := range problems {
		if p.String() != want[i] {
			t.Errorf("got %q, want %q", p, want[i])
		}
	}
}
