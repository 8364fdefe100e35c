package inode

import (
	"math"
	"testing"

	"github.com/archivefs/archivefs/archive"
)

// reserved are the inode numbers with a fixed meaning: those that FUSE does not accept, and the
// fixed ones.
func reserved() map[uint64]string {
	return map[uint64]string{
		0: "none", math.MaxUint64: "unknown", Root: "the root", Inboxes: "the inboxes",
		Control: "the control directory", Uploads: "the uploads", Status: "the status",
	}
}

func TestFixedInodesDiffer(t *testing.T) {
	if n := len(reserved()); n != 7 {
		t.Fatalf("7 reserved numbers are %d different ones", n)
	}
}

func TestInodesOfIDs(t *testing.T) {
	ids := []archive.ID{1, 2, 3, 4, 5, 1000, 1<<31 - 1, 1 << 31, 1 << 32, 1 << 60, maxID - 1, maxID, archive.NewID(0), -1, -2, -3, -1000, 1 - maxID, -maxID}
	given := map[uint64]string{}
	var n Numbers
	for _, id := range ids {
		for class, name := range map[uint64]string{document: "document", folder: "folder"} {
			ino := n.of(class, id)
			if what, ok := given[ino]; ok {
				t.Errorf("%s %d has the inode %d of %s", name, id, ino, what)
			}
			given[ino] = name
			if what, ok := reserved()[ino]; ok {
				t.Errorf("%s %d has the inode %d of %s", name, id, ino, what)
			}
			if again := n.of(class, id); again != ino {
				t.Errorf("%s %d has the inode %d, then %d", name, id, ino, again)
			}
			if other := new(Numbers).of(class, id); other != ino {
				t.Errorf("%s %d has the inode %d, in another mount %d", name, id, ino, other)
			}
		}
	}
	for range 1000 {
		ino := n.Local()
		if what, ok := given[ino]; ok {
			t.Fatalf("a local file has the inode %d of %s", ino, what)
		}
		given[ino] = "a local file"
	}
}

func TestLocalInodesAreNotReserved(t *testing.T) {
	var n Numbers
	for range 1000 {
		if what, ok := reserved()[n.Local()]; ok {
			t.Fatalf("a local file has the inode of %s", what)
		}
	}
}

func TestInodesOfAbsurdIDs(t *testing.T) {
	ids := []archive.ID{0, -maxID - 1, math.MinInt64 + 9, maxID + 1, math.MaxInt64}
	var n Numbers
	given := map[uint64]bool{}
	for _, id := range ids {
		for _, class := range []uint64{document, folder} {
			ino := n.of(class, id)
			if given[ino] || ino&3 != local {
				t.Errorf("the id %d has the inode %d, which is given already or no local one", id, ino)
			}
			if what, ok := reserved()[ino]; ok {
				t.Errorf("the id %d has the inode of %s", id, what)
			}
			given[ino] = true
		}
	}
}
