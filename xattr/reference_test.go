package xattr

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/archivefs/archivefs/archive"
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
	for _, name := range All() {
		name = strings.TrimPrefix(name, inherited) // those are described together
		if !strings.Contains(section, "`"+name+"`") {
			t.Errorf("%s is not in it", name)
		}
	}
}

// Every attribute of an upload is in the table, by its name.
func TestAttributesOfUploadsAreInTheTable(t *testing.T) {
	for _, a := range new(archive.Attributes).All() {
		if !slices.ContainsFunc(table, func(r row) bool { return r.name == a.Name && r.access[NodeLocal] == Writable }) {
			t.Errorf("%s cannot be set on a file", a.Name)
		}
	}
}

// What can be set on a document has an operation of the service.
func TestWritableAttributesOfDocumentsCanBeChanged(t *testing.T) {
	for i := range table {
		if r := &table[i]; (r.access[NodeArchived] == Writable || r.access[NodeInbox] == Writable) != (r.change != nil) {
			t.Errorf("%s has %v, and an operation: %v", r.name, r.access, r.change != nil)
		}
	}
}
