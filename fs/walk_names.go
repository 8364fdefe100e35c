package fs

import "github.com/archivefs/archivefs/fs/internal/walk"

// A walk that only reads names (find, ls -R) needs no attributes of documents, and a document
// that nobody looks at costs neither the kernel nor this process an inode. So a walk is told
// names alone until somebody looks at one of the documents that it was told of: from then on
// READDIRPLUS saves it a request for each.

// byName reports whether a program that opens the directory within the walk is told the names
// of its documents alone.
func (d *dir) byName(w *walk.Walk[*dir]) bool {
	if w.Looks() {
		return false
	}
	d.namedFor.Store(w)
	return true
}

// looked notes that somebody looked at a document of the directory.
func (d *dir) looked() {
	if d.namedFor.Load() == nil {
		return
	}
	if w := d.namedFor.Swap(nil); w != nil {
		w.Look()
	}
}
