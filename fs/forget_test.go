package fs

import (
	"testing"

	"github.com/archivefs/archivefs/fs/internal/content"
	"github.com/archivefs/archivefs/fs/internal/tree"
	"github.com/archivefs/archivefs/internal/spool"
)

// What the kernel forgets takes no memory for it, and its folder is folded.
func TestForgottenDocuments(t *testing.T) {
	fs, d := holds(t, tree.FolderDir, named(1, "Brief"), named(2, "Rechnung.pdf"))
	first, second := fileOf(d, d.Get("Brief.pdf")), fileOf(d, d.Get("Rechnung.pdf"))
	if first.fs.kernel.forget(first) != d || d.Get("Brief.pdf").File.Load() != nil {
		t.Fatal("the file is kept")
	}
	if first.fs.kernel.forget(first) != nil {
		t.Error("it is forgotten twice")
	}
	if d.Compact(); d.IsCompacted() {
		t.Error("was folded although a document is known to the kernel")
	}
	(&fileNode{f: second}).OnForget()
	fs.forgotten.fold()
	if !d.IsCompacted() {
		t.Error("was not folded")
	}
	if f := fileOf(d, d.Get("Brief.pdf")); f == first || f.Ino != first.Ino || f.Generation() == first.Generation() {
		t.Error("a document that is looked at again has the inode that was forgotten")
	}
}

// What a file has to itself outlives its inode.
func TestForgottenFilesInUseStay(t *testing.T) {
	for name, use := range map[string]func(*file){
		"bytes that wait":   func(f *file) { f.Up = &spool.Upload{} },
		"an open handle":    func(f *file) { f.Handles++ },
		"a writer":          func(f *file) { f.writers++ },
		"a reader":          func(f *file) { f.Reading = &content.Reading{} },
		"a failed write":    func(f *file) { f.phase = spoiled },
		"no document":       func(f *file) { f.Doc = nil },
		"removed":           func(f *file) { f.phase = removed },
		"another took over": func(f *file) { f.Superseded = map[uint32]bool{} },
	} {
		t.Run(name, func(t *testing.T) {
			_, d := holds(t, tree.FolderDir, named(1, "Brief"))
			e := d.Get("Brief.pdf")
			f := fileOf(d, e)
			use(f)
			if f.fs.kernel.forget(f) != nil || fileAt(e) != f {
				t.Error("the file is gone")
			}
		})
	}
}
