package fs

import "testing"

// A walk by lookups goes on to what lies around it when it has come to half of what was listed
// for it, once, and not beyond the mandator.
func TestAWalkGoesOnHalfWay(t *testing.T) {
	const listed = 2 * (provenFolders + 4)
	tr := newTree()
	mandator := newDir(tr.FileSystem, mandatorDir, 1, tr.inodes.Folder(1), tr.root, "Muster GmbH")
	folder := newDir(tr.FileSystem, folderDir, 2, tr.inodes.Folder(2), mandator, "Akten")
	ws := &tr.walks
	w := &walk{top: folder, lookups: true}
	ws.lookups.walk = w
	comesTo := func(n int) (further []*walk) {
		for range n {
			if next := ws.wasAhead(); next != nil {
				further = append(further, next)
			}
		}
		return further
	}
	if got := comesTo(listed); len(got) != 0 {
		t.Errorf("before anything was listed it goes on to %q", got[0].top.path())
	}
	ws.listed(w, listed)
	if got := comesTo(listed/2 - 1); len(got) != 0 {
		t.Errorf("before it is half-way it goes on to %q", got[0].top.path())
	}
	got := comesTo(listed)
	if len(got) != 1 || got[0].top != mandator {
		t.Fatalf("half-way it goes on %d times", len(got))
	}
	ws.listed(w, listed) // of the former one
	if ws.lookups.half != 0 {
		t.Error("what was listed for the former walk counts")
	}
	ws.listed(got[0], 2)
	if ws.lookups.half != ws.lookups.ahead+provenFolders {
		t.Errorf("after few folders it goes on at %d of %d", ws.lookups.half, ws.lookups.ahead)
	}
	if got := comesTo(listed); len(got) != 0 {
		t.Errorf("from the mandator it goes on to %q", got[0].top.path())
	}
}
