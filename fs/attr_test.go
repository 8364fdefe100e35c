package fs

import (
	"testing"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/archivefs/archivefs/archive"
)

// The folders of a path that was looked up keep their names in the kernel, although nobody
// has listed the documents beside them: else each further look at the path asks for them
// again.
func TestFoldersOfAPathAreRemembered(t *testing.T) {
	f := New(Options{TTL: time.Minute})
	d := newDir(f.archiveTree, mandatorDir, 1, 8, f.root, "Muster GmbH")
	list := []archive.Folder{{ID: 2, Name: "Rechnungen"}}
	for age, want := range map[time.Duration]time.Duration{0: time.Minute, 40 * time.Second: 20 * time.Second, 2 * time.Minute: 0} {
		now := f.started
		f.service.Now = func() time.Time { return now }
		d.tree.mergeFolders(d, list, merged{serial: d.subs.serial + 1, fetched: now.Add(-age), known: true}, true)
		var out fuse.EntryOut
		f.kernel.fillEntry(d, d.get("Rechnungen"), &out)
		if out.EntryTimeout() != want || out.AttrTimeout() != want {
			t.Errorf("a listing %s old: name %s, attributes %s, want %s", age, out.EntryTimeout(), out.AttrTimeout(), want)
		}
	}
}
