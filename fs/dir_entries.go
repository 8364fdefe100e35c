package fs

import "github.com/archivefs/archivefs/fs/internal/inode"

// get returns what a name is shown for, nil when the directory does not have it as far as
// is known.
func (d *dir) get(name string) *entry {
	d.mu.Lock()
	defer d.mu.Unlock()
	if e := d.held.names.get(name); e != nil {
		return e // a directory, for which nothing is unfolded
	}
	return d.here().names.get(name)
}

// reach returns what a name stands for, shown or not: the entry of that name, else the
// document whose plain name it is.
func (d *dir) reach(name string) *entry {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.reachLocked(name)
}

// entries returns all entries in the order of their names. The slice is shared: it is
// never written to.
func (d *dir) entries() []*entry {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.here().names.all()
}

// subfolders are the directories of the folders that are known in d. No document is unfolded
// for them.
func (d *dir) subfolders() []*dir {
	d.mu.Lock()
	defer d.mu.Unlock()
	dirs := make([]*dir, 0, len(d.folders.list)+1)
	for _, e := range d.folders.list {
		dirs = append(dirs, e.entry.dir)
	}
	if d.kind == rootDir {
		dirs = append(dirs, d.held.names.get(inboxesName).dir)
	}
	return dirs
}

// takenLocked reports whether a name is used. The caller holds mu.
func (d *dir) takenLocked(name string) bool {
	return d.here().names.get(name) != nil || d.kind == rootDir && (name == inboxesName || name == controlName)
}

// addLocked puts an entry under its name. The caller holds mu.
func (d *dir) addLocked(e *entry) {
	d.here().names.put(e)
	if e.dir != nil && e.dir.kind != localDir {
		d.folders.put(e.dir.id(), e)
	}
	if doc := e.doc.Load(); doc != nil {
		d.here().docs.put(doc.ID, e)
		d.indexLocked(e)
	}
	d.touchLocked()
}

// dropLocked takes an entry out. The caller holds mu.
func (d *dir) dropLocked(e *entry) {
	if d.here().names.get(e.name) == e {
		d.here().names.remove(e.name)
	}
	if e.dir != nil && e.dir.kind != localDir && d.folders.get(e.dir.id()) == e {
		d.folders.remove(e.dir.id())
	}
	if doc := e.doc.Load(); doc != nil && d.here().docs.get(doc.ID) == e {
		d.here().docs.remove(doc.ID)
	}
	d.unindexLocked(e)
	if d.aside[e.name] == e {
		delete(d.aside, e.name)
	}
	d.touchLocked()
}

func (d *dir) touchLocked() {
	d.changed = d.fs.now()
	d.version++
}

// add and drop are addLocked and dropLocked for callers that hold nothing.
func (d *dir) add(e *entry) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.addLocked(e)
}

func (d *dir) drop(e *entry) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.dropLocked(e)
}

// fileOf returns the file of a document's entry and makes it when nobody looked at it
// before.
func (d *dir) fileOf(e *entry) *file {
	d.mu.Lock()
	defer d.mu.Unlock()
	if f := e.file.Load(); f != nil {
		return f
	}
	doc := e.doc.Load()
	if now := d.here().docs.get(doc.ID); now != nil && now != e && now.name == e.name {
		e = now // the directory was folded since somebody found the entry
		if f := e.file.Load(); f != nil {
			return f
		}
		doc = e.doc.Load()
	}
	f := newFile(d.fs, d.fs.inodes.Document(doc.ID), d, e, doc, nil)
	e.file.Store(f)
	return f
}

// inoOf is the inode number of a document's entry, without a file for it where the id tells
// the number.
func (d *dir) inoOf(e *entry) uint64 {
	if f := e.file.Load(); f != nil {
		return f.ino
	}
	if doc := e.doc.Load(); doc != nil {
		if ino, ok := inode.OfDocument(doc.ID); ok {
			return ino
		}
	}
	return d.fileOf(e).ino
}
