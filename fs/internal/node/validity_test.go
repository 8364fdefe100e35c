package node

import (
	"testing"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/fs/internal/remote/remotetest"
	"github.com/archivefs/archivefs/fs/internal/tree"
)

// The folders of a path that was looked up keep their names in the kernel, although nobody
// has listed the documents beside them: else each further look at the path asks for them
// again.
func TestFoldersOfAPathAreRemembered(t *testing.T) {
	k, d := newKernel(t, tree.MandatorDir, &remotetest.Folder{Subs: []archive.Folder{{ID: 2, Name: "Rechnungen"}}})
	if err := d.Tree.LoadFolders(t.Context(), d, tree.NeedNames); err != nil {
		t.Fatal(err)
	}
	listed := k.Service.Now
	for age, want := range map[time.Duration]time.Duration{0: time.Hour, 40 * time.Minute: 20 * time.Minute, 2 * time.Hour: 0} {
		k.Service.Now = func() time.Time { return listed().Add(age) }
		var out fuse.EntryOut
		k.fillEntry(d, d.Get("Rechnungen"), &out)
		if out.EntryTimeout() != want || out.AttrTimeout() != want {
			t.Errorf("a listing %s old: name %s, attributes %s, want %s", age, out.EntryTimeout(), out.AttrTimeout(), want)
		}
	}
}
