package node

import (
	"testing"

	"github.com/archivefs/archivefs/fs/internal/remote/remotetest"
	"github.com/archivefs/archivefs/fs/internal/staging"
)

// What the kernel forgets takes no memory for it, and its folder is compacted.
func TestForgottenDocuments(t *testing.T) {
	k, d := holds(t, remotetest.Named(1, "Brief"), remotetest.Named(2, "Rechnung.pdf"))
	first, second := staging.FileOf(d, d.Get("Brief.pdf")), staging.FileOf(d, d.Get("Rechnung.pdf"))
	if k.forget(first) != d || d.Get("Brief.pdf").File.Load() != nil {
		t.Fatal("the file is kept")
	}
	if k.forget(first) != nil {
		t.Error("it is forgotten twice")
	}
	if d.Compact(); d.IsCompacted() {
		t.Error("was compacted although a document is known to the kernel")
	}
	(&fileNode{f: second, k: k}).OnForget()
	k.forgotten.compact()
	if !d.IsCompacted() {
		t.Error("was not compacted")
	}
	if f := staging.FileOf(d, d.Get("Brief.pdf")); f == first || f.Ino != first.Ino || f.Generation() == first.Generation() {
		t.Error("a document that is looked at again has the inode that was forgotten")
	}
}

// A file that is in use stays.
func TestForgottenFilesInUseStay(t *testing.T) {
	k, d := holds(t, remotetest.Named(1, "Brief"))
	f := staging.FileOf(d, d.Get("Brief.pdf"))
	f.Mu.Lock()
	f.Handles++
	f.Mu.Unlock()
	if k.forget(f) != nil || staging.FileAt(d.Get("Brief.pdf")) != f {
		t.Error("the file is gone")
	}
}
