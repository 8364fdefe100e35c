package tree

import (
	"testing"

	"github.com/archivefs/archivefs/archive"
)

// One name in its Unicode forms: composed, decomposed, and composed in part, as a service may give it.
const (
	nfc   = "\u00dcbergr\u00f6\u00dfe.pdf"
	nfd   = "U\u0308bergro\u0308\u00dfe.pdf"
	mixed = "U\u0308bergr\u00f6\u00dfe.pdf"
)

func TestANameIsFoundInEveryUnicodeForm(t *testing.T) {
	for name, c := range map[string]struct {
		list []string
		want map[string]archive.ID // 0 for none
	}{
		"composed":            {[]string{"1 " + nfc}, map[string]archive.ID{nfc: 1, nfd: 1, mixed: 1, "Ubergro\u00dfe.pdf": 0}},
		"decomposed":          {[]string{"1 " + nfd}, map[string]archive.ID{nfc: 1, nfd: 1, mixed: 1}},
		"composed in part":    {[]string{"1 " + mixed}, map[string]archive.ID{nfc: 1, nfd: 1, mixed: 1}},
		"two of them":         {[]string{"1 " + nfd, "2 " + nfc}, map[string]archive.ID{nfc: 2, nfd: 1, mixed: 2}},
		"all of them":         {[]string{"1 " + nfd, "2 " + mixed, "3 " + nfc}, map[string]archive.ID{nfc: 3, nfd: 1, mixed: 2}},
		"by its plain name":   {[]string{"1 Gr\u00f6\u00dfe"}, map[string]archive.ID{"Gro\u0308\u00dfe": 1, "Gr\u00f6\u00dfe": 1, "Gro\u0308\u00dfe.pdf": 1}},
		"a decomposed plain":  {[]string{"1 Gro\u0308\u00dfe"}, map[string]archive.ID{"Gro\u0308\u00dfe": 1, "Gr\u00f6\u00dfe": 1, "Gr\u00f6\u00dfe.pdf": 1}},
		"a sign for a letter": {[]string{"1 5 \u212b.pdf"}, map[string]archive.ID{"5 \u00c5.pdf": 1, "5 A\u030a.pdf": 1, "5 \u212b.pdf": 1}},
	} {
		t.Run(name, func(t *testing.T) {
			tr := newTree()
			d := tr.dir(FolderDir)
			tr.list(d, c.list...)
			for range 2 {
				for by, want := range c.want {
					wantReached(t, d, by, want)
				}
				d.Compact()
			}
		})
	}
}

func TestAFolderIsFoundInEveryUnicodeForm(t *testing.T) {
	tr := newTree()
	d := tr.dir(FolderDir)
	tr.folders(d, "5 Vertra\u0308ge", "6 B\u00fccher")
	for by, want := range map[string]archive.ID{"Vertr\u00e4ge": 5, "Vertra\u0308ge": 5, "Bu\u0308cher": 6, "Bucher": 0} {
		if e := d.Reach(by); (e == nil) != (want == 0) || e != nil && e.Dir.ID() != want {
			t.Errorf("%q leads to %+v, want %d", by, e, want)
		}
	}
}

// It is alone, so nothing is locked.
// +checklocksignore
func TestUnicodeFormsFollowTheListing(t *testing.T) {
	tr := newTree()
	d := tr.dir(FolderDir)
	tr.documents(d, "1 "+nfd, "2 "+mixed, "3 Gro\u0308\u00dfe")
	tr.documents(d, "2 "+mixed, "3 Gro\u0308\u00dfe")
	wantReached(t, d, nfd, 2)
	wantReached(t, d, nfc, 2)
	tr.documents(d, "2 a.pdf", "3 Gro\u0308\u00dfe.txt")
	wantReached(t, d, nfc, 0)
	wantReached(t, d, "Gr\u00f6\u00dfe", 0)
	wantReached(t, d, "Gr\u00f6\u00dfe.txt", 3)
	tr.documents(d)
	if len(d.Shown.Here().forms) != 0 {
		t.Errorf("the index still has %q", d.Shown.Here().forms)
	}
}

// An editor that decomposes names sets aside a document, and creates it again.
// It is alone, so nothing is locked.
// +checklocksignore
func TestADocumentSetAsideIsFoundInEveryUnicodeForm(t *testing.T) {
	for _, name := range []string{nfc, nfd} {
		tr := newTree()
		d := tr.dir(InboxDir)
		tr.documents(d, "1 "+name)
		e := d.Reach(nfd)
		d.Mu.Lock()
		d.Shown.Drop(e)
		d.Shown.Hide(NewEntry(e.Name, e.Doc.Load(), nil))
		d.Mu.Unlock()
		wantReached(t, d, nfc, 0)
		for _, by := range []string{nfc, nfd, mixed} {
			if hidden := d.Shown.Hidden(by); hidden == nil || hidden.Name != name {
				t.Errorf("%q is set aside; as %q it is %v", name, by, hidden)
			}
		}
		d.Shown.Unhide(d.Shown.Hidden(nfd))
		wantReached(t, d, mixed, 1)
	}
}

// Names that are composed, as those of ASCII letters are, take no index, and a miss no memory.
// It is alone, so nothing is locked.
// +checklocksignore
func TestComposedNamesNeedNoIndex(t *testing.T) {
	tr := newTree()
	d := tr.dir(FolderDir)
	tr.documents(d, "1 a.pdf", "2 "+nfc, "3 Gr\u00f6\u00dfe")
	if d.Shown.Here().forms != nil {
		t.Errorf("the index has %q", d.Shown.Here().forms)
	}
	for _, missing := range []string{"b.pdf", "\u00dcbung.pdf"} {
		if n := testing.AllocsPerRun(100, func() { d.Reach(missing) }); n != 0 {
			t.Errorf("a look for %q allocates %v times", missing, n)
		}
	}
}
