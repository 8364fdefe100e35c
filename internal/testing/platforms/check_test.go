package main

import (
	"slices"
	"strings"
	"testing"
)

// Each platform has the mistakes of its files and of its libraries, and no others.
func TestSeededMistakes(t *testing.T) {
	const outside = `outside_arm64_test.go:11:2: example.org/seeded/say.Sayf call needs 1 arg but has 2 args`
	for platform, want := range map[string][]string{
		"linux/amd64": nil,
		"linux/arm64": {outside},
		"darwin/amd64": {
			`printf_darwin.go:12:12: example.org/seeded/say.Sayf format %d has arg "a word" of wrong type string`,
			`printf_darwin.go:13:14: log.Printf format %d has arg "a word" of wrong type string`,
			`printf_darwin_test.go:6:12: (*testing.common).Errorf format %d has arg "a word" of wrong type string`,
			`terminal/terminal.go:7:37: undefined: syscall.TCGETS`,
			`terminal/terminal_darwin_test.go:6:5: undefined: undefined`,
		},
	} {
		t.Run(strings.ReplaceAll(platform, "/", "-"), func(t *testing.T) {
			t.Parallel()
			got, err := check("testdata/seeded", platform)
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("%v\n got %s\nwant %s", err, strings.Join(got, "\n     "), strings.Join(want, "\n     "))
			}
		})
	}
}

func TestRunSaysWhere(t *testing.T) {
	var said strings.Builder
	wrong, err := run("testdata/seeded", []string{"linux/amd64", "linux/arm64"}, &said)
	if wrong != 1 || err != nil || !strings.HasPrefix(said.String(), "linux/arm64: outside_arm64_test.go:11:") {
		t.Errorf("%d, %v: %s", wrong, err, &said)
	}
}

func TestNoPlatform(t *testing.T) {
	for _, platform := range []string{"darwin", "plan10/arm64"} {
		if _, err := check("testdata/seeded", platform); err == nil {
			t.Errorf("%s is a platform", platform)
		}
	}
}
