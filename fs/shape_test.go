package fs_test

import (
	"bytes"
	"os"
	"testing"

	"github.com/archivefs/archivefs/internal/testing/hostile"
)

// The archive shows the same in every shape of the service's answers.
func TestEveryShapeShowsTheSameTree(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]hostile.Config{
		"parent itself, lazy null":   {Structure: hostile.StructureShape{Parent: hostile.ParentItself, LazyChildren: hostile.Null}},
		"parent itself, lazy empty":  {Structure: hostile.StructureShape{Parent: hostile.ParentItself}},
		"parent itself, lazy absent": {Structure: hostile.StructureShape{Parent: hostile.ParentItself, LazyChildren: hostile.Absent}},
		"lazy ignored":               {Structure: hostile.StructureShape{LazyIgnored: true, Leaf: hostile.Null}},
		"bare inboxes":               {Inboxes: hostile.InboxShape{Folders: true, Bare: true, Leaf: hostile.Null}},
		"single objects":             {Singles: true, StringIDs: true},
		"gone routes by 405":         {OnlyEight: true, WithoutStatus: 405},
		"gone routes by 501":         {OnlyEight: true, WithoutStatus: 501, CloseConnections: true, BOM: true},
	} {
		t.Run(name, func(t *testing.T) {
			f := newForeign(t, cfg)
			deep := f.AddFolder(f.bills, "2024")
			f.AddDocument(f.AddFolder(deep, "Januar"), hostile.Document{Name: "Rechnung.txt", Content: []byte("x")})
			f.AddDocument(f.AddFolder(f.inbox, "Unterordner"), hostile.Document{Name: "Scan.txt", Content: []byte("x")})
			m, _ := f.slow(t)
			wantNames(t, m.dir, "Muster GmbH", "inboxes")
			wantNames(t, m.path("Muster GmbH"), "Rechnungen", "Briefe")
			wantNames(t, m.path("Muster GmbH", "Briefe"))
			wantNames(t, m.path("Muster GmbH", "Rechnungen"), "2024")
			wantNames(t, m.path("Muster GmbH", "Rechnungen", "2024", "Januar"), "Rechnung.txt")
			wantNames(t, m.path("inboxes"), "Administrator")
			wantNames(t, m.path("inboxes", "Administrator"), "Unterordner")
			wantNames(t, m.path("inboxes", "Administrator", "Unterordner"), "Scan.txt")
			if b := get(os.ReadFile(m.path("Muster GmbH", "Rechnungen", "2024", "Januar", "Rechnung.txt")))(t); len(b) == 0 {
				t.Error("the document is empty")
			}
		})
	}
}

// Files of every length arrive once at a service that negotiates its answers, behind a proxy that does
// not know Expect.
func TestArchiveThroughAnOldProxy(t *testing.T) {
	t.Parallel()
	f := newForeign(t, hostile.Config{Negotiates: true, NoExpect: true})
	m, _ := f.slow(t)
	for name, size := range map[string]int{"small.txt": 10, "large.txt": 2 << 20, "larger.txt": 3 << 20} {
		content := bytes.Repeat([]byte("a\n"), size/2)
		must(t, os.WriteFile(m.path("Muster GmbH", "Briefe", name), content, 0o600))
		wantContent(t, m.path("Muster GmbH", "Briefe", name), string(content))
	}
	if docs := f.Documents(f.letters); len(docs) != 3 {
		t.Errorf("%d documents for three files", len(docs))
	}
}
