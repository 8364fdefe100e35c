package control

import (
	"errors"
	"testing"

	"github.com/archivefs/archivefs/archive"
)

func TestSavedSearches(t *testing.T) {
	m := &fakeMount{hits: []archive.Hit{{Document: 7, Name: "a.txt"}}}
	tr, now := tree(m)
	if tr.Searches() != nil {
		t.Error("there is a directory of no searches")
	}
	tr.SetSearches([]Saved{{"A", "x"}, {"B", "y"}})
	list, err := tr.Searches().List(t.Context())
	if err != nil || len(list) != 2 || list[0].Name != "A" || list[0].Ino == list[1].Ino {
		t.Fatalf("listed %+v, %v", list, err)
	}
	node, err := tr.Searches().Lookup(t.Context(), "A")
	if err != nil || node.Number() != list[0].Ino {
		t.Fatalf("%+v, %v; listed as %d", node, err, list[0].Ino)
	}
	dir := node.(*Dir)
	if a, err := dir.Attr(t.Context()); err != nil || a.Size != 0 || m.searched != 0 {
		t.Errorf("before the search: %+v, %v, %d searches", a, err, m.searched)
	}
	if hits, err := dir.GetAttr(t.Context(), hitsAttr); err != nil || string(hits) != "1" {
		t.Errorf("hits: %s, %v", hits, err)
	}
	if a, err := dir.Attr(t.Context()); err != nil || a.Size != 1 || m.searched != 1 {
		t.Errorf("after it: %+v, %v, %d searches", a, err, m.searched)
	}
	tr.SetSearches([]Saved{{"Offen", "x"}, {"Gro\u0308ße", "y"}, {"Prüfung", "z"}})
	for by, want := range map[string]string{"Größe": "Gro\u0308ße", "Pru\u0308fung": "Prüfung", "Prufung": ""} {
		node, err := tr.Searches().Lookup(t.Context(), by)
		if found, _ := node.(*Dir); (err == nil) != (want != "") || err == nil && found.Path != SearchesName+"/"+want {
			t.Errorf("%q leads to %+v, %v", by, node, err)
		}
	}
	*now = now.Add(2 * tr.ttl)
	if a, err := dir.Attr(t.Context()); err != nil || a.Size != 1 || m.searched != 1 {
		t.Errorf("later the size is as it was found: %+v, %v, %d searches", a, err, m.searched)
	}
	m.rereadErr = errors.New("no")
	if err := tr.Root().SetAttr(rereadAttr, nil); !errors.Is(err, m.rereadErr) {
		t.Errorf("reread: %v", err)
	}
}
