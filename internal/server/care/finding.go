package care

import (
	"fmt"
	"strings"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/server/store"
)

// Kind says what is wrong.
type Kind string

// The kinds of findings.
const (
	Damaged  Kind = "damaged"  // a content is not what its name says
	Missing  Kind = "missing"  // a content that something refers to is not kept
	Size     Kind = "size"     // a content is larger or smaller than its documents say
	Orphan   Kind = "orphan"   // a content is kept that nothing refers to
	Rule     Kind = "rule"     // a row breaks a rule
	Database Kind = "database" // the database itself is damaged
)

// named is how many documents a finding names.
const named = 20

// Finding is something that is wrong.
type Finding struct {
	Kind    Kind   `json:"kind"`
	Content string `json:"content,omitempty"` // a digest
	Text    string `json:"text"`
	// Documents are the first of those that need the content.
	Documents []store.Holder `json:"documents,omitempty"`
	Folder    archive.ID     `json:"folder,omitempty"`
	Document  archive.ID     `json:"document,omitempty"`
}

// String is a line, with one more for each document.
func (f Finding) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: ", f.Kind)
	for _, part := range []struct {
		name string
		id   archive.ID
	}{{"folder", f.Folder}, {"document", f.Document}} {
		if part.id != 0 {
			fmt.Fprintf(&b, "%s %d: ", part.name, part.id)
		}
	}
	if f.Content != "" {
		fmt.Fprintf(&b, "content %s: ", f.Content)
	}
	b.WriteString(archive.Printable(f.Text))
	for _, d := range f.Documents {
		fmt.Fprintf(&b, "\n  document %d: %s", d.ID, archive.Printable(d.Path))
		if d.Tenant != store.DefaultTenant {
			fmt.Fprintf(&b, " (tenant %d)", d.Tenant)
		}
	}
	return b.String()
}
