package xattr

import (
	"os"
	"strings"
	"testing"
)

// docs/REFERENCE.md describes every attribute.
func TestReferenceIsComplete(t *testing.T) {
	text, err := os.ReadFile("../docs/REFERENCE.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(text), "\n## Extended attributes\n")
	if !found {
		t.Fatal("it has no section on them")
	}
	section, _, _ = strings.Cut(section, "\n## ")
	for kind := KindID; kind < kindEnd; kind++ {
		name := strings.TrimPrefix(rules[kind].name, "upload.") // those are described together
		if rules[kind].keyed {
			name += "KEY"
		}
		if !strings.Contains(section, "`"+name+"`") {
			t.Errorf("%s is not in it", name)
		}
	}
}
