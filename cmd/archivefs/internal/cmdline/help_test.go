package cmdline

import (
	"strings"
	"testing"
)

func TestHelpTable(t *testing.T) {
	long := strings.Repeat("word ", 20)
	got := table([][2]string{{"--a", "short"}, {"--longer B", long}, {"--none", ""}})
	want := "   --a         short\n" +
		"   --longer B  " + strings.TrimSpace(strings.Repeat("word ", 17)) + "\n" +
		"               word word word\n" +
		"   --none\n"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
