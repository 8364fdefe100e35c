package tree

import (
	"strings"
	"testing"

	"github.com/archivefs/archivefs/archive"
)

// wantReached fails the test unless the name leads to the document, 0 for none.
func wantReached(t *testing.T, d *Dir, name string, want archive.ID) {
	t.Helper()
	var got archive.ID
	if e := d.Reach(name); e != nil {
		got = e.Doc.Load().ID
	}
	if got != want {
		t.Errorf("%q leads to document %d, want %d", name, got, want)
	}
}

func TestReachedByPlainName(t *testing.T) {
	long := strings.Repeat("x", 254)
	tests := []struct {
		name string
		list []string
		by   string
		want archive.ID
	}{
		{"an added extension", []string{"1 LIESMICH"}, "LIESMICH", 1},
		{"as shown", []string{"1 LIESMICH"}, "LIESMICH.pdf", 1},
		{"a dot at the end", []string{"1 punkt am ende."}, "punkt am ende.", 1},
		{"blanks around", []string{"1  führend und Ende .txt "}, " führend und Ende .txt ", 1},
		{"digits are no extension", []string{"1 Brief vom 3.4"}, "Brief vom 3.4", 1},
		{"made safe", []string{"1 a/b"}, "a_b", 1},
		{"shortened for the extension", []string{"1 " + long}, long, 1},
		{"the first of several", []string{"7 LIESMICH", "5 LIESMICH", "6 LIESMICH"}, "LIESMICH", 5},
		{"another is called as it would be shown", []string{"1 a.pdf", "2 a"}, "a", 2},
		{"what is shown goes first", []string{"1 a", "2 a.pdf"}, "a.pdf", 1},
		{"an extension of its own", []string{"1 a.pdf"}, "a", 0},
		{"temporary names are those of local files", []string{"1 brief~"}, "brief~", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tr := newTree()
			d := tr.dir(FolderDir)
			tr.documents(d, tt.list...)
			wantReached(t, d, tt.by, tt.want)
		})
	}
}

// It is alone, so nothing is locked.
// +checklocksignore
func TestPlainNamesFollowTheListing(t *testing.T) {
	tr := newTree()
	d := tr.dir(FolderDir)
	tr.documents(d, "1 a", "2 a", "3 b.pdf")
	wantReached(t, d, "a", 1)
	wantStale(t, tr.documents(d, "2 a", "3 b.pdf", "4 c"), "a.pdf", "c", "c.pdf")
	wantReached(t, d, "a", 2)
	wantReached(t, d, "c", 4)
	wantStale(t, tr.documents(d, "2 x", "3 b.pdf", "4 c"), "a (2).pdf", "x", "x.pdf")
	wantReached(t, d, "a", 0)
	wantReached(t, d, "x", 2)
	tr.documents(d, "2 x", "3 b.pdf", "5 b.pdf")
	tr.documents(d, "2 x", "5 b.pdf")
	wantReached(t, d, "b.pdf", 0) // nobody moves up
	tr.documents(d, "3 b.pdf")
	if len(d.Shown.Here().plain) != 0 {
		t.Errorf("the index still has %v", d.Shown.Here().plain)
	}
}

func TestShownNameGoesBeforePlainName(t *testing.T) {
	tr := newTree()
	d := tr.dir(FolderDir)
	tr.documents(d, "1 a")
	local := NewEntry("a", nil, localLeaf(tr.Tree, d, nil, nil))
	d.Add(local)
	if d.Reach("a") != local {
		t.Error("the document hides the file of that name")
	}
	d.Drop(local)
	wantReached(t, d, "a", 1)
}

// What is removed or overwritten under a name must have been called so.
func TestNoOtherInboxDocumentGetsAPlainName(t *testing.T) {
	tr := newTree()
	d := tr.dir(InboxDir)
	tr.documents(d, "1 scan.pdf", "2 scan.pdf", "3 Scan", "4 Scan")
	wantReached(t, d, "Scan", 3)
	tr.documents(d, "2 scan.pdf", "4 Scan")
	wantShown(t, d, "Scan (4).pdf = 4", "scan (2).pdf = 2")
	wantReached(t, d, "scan.pdf", 0)
	wantReached(t, d, "Scan", 0)
}

// The name of a document that an editor is about to replace is not lent to another one.
// It is alone, so nothing is locked.
// +checklocksignore
func TestPlainNameOfADocumentSetAside(t *testing.T) {
	tr := newTree()
	d := tr.dir(InboxDir)
	tr.documents(d, "1 a", "2 a")
	e := d.Reach("a")
	d.Mu.Lock()
	d.Shown.Drop(e)
	d.Shown.Hide(NewEntry(e.Name, e.Doc.Load(), nil))
	d.Mu.Unlock()
	wantReached(t, d, "a", 0)
	if hidden := d.Shown.Hidden("a"); hidden == nil || hidden.Doc.Load().ID != 1 {
		t.Errorf("set aside as a is %v", hidden)
	}
	if shown := d.Shown.Unhide(d.Shown.Hidden("a")); shown == nil || shown.Name != "a.pdf" {
		t.Errorf("shown again is %v", shown)
	}
	wantReached(t, d, "a", 1)
}
