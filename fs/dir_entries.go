package fs

import "github.com/archivefs/archivefs/fs/internal/inode"

// get returns what a name is shown for, nil when the directory does not have it as far as
// is known.
func (d *dir) get(name string) *entry {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.shown.get(name)
}

// reach returns what a name stands for, shown or not: the entry of that name, else the
// document whose plain name it is.
func (d *dir) reach(name string) *entry {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.shown.reach(name)
}

// entries returns all entries in the order of their names. The slice is shared: it is
// never written to.
func (d *dir) entries() []*entry {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.shown.all()
}

// subfolders are the directories of the folders that are known in d. No document is unfolded
// for them.
func (d *dir) subfolders() []*dir {
	d.mu.Lock()
	defer d.mu.Unlock()
	dirs := make([]*dir, 0, len(d.shown.folders.list)+1)
	for _, e := range d.shown.folders.list {
		dirs = append(dirs, e.entry.dir)
	}
	if d.kind == rootDir {
		dirs = append(dirs, d.shown.held.names.get(inboxesName).dir)
	}
	return dirs
}

// add and drop are addLocked and dropLocked for callers that hold nothing.
func (d *dir) add(e *entry) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.shown.add(e)
}

func (d *dir) drop(e *entry) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.shown.drop(e)
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
	if now := d.shown.document(doc.ID); now != nil && now != e && now.name == e.name {
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

// namesLocked are the names under which an entry is found, for the kernel to ask again. The
// caller holds mu of the directory.
func (e *entry) namesLocked() []string {
	if e.plain == "" {
		return []string{e.name}
	}
	return []string{e.name, e.plain}
}

// forgetShown makes the kernel forget the name that an entry was shown under when it went
// under another one that it is found by.
func (c *fileChanges) forgetShown(d *dir, e *entry, used string) {
	if e.name != used {
		c.fs.kernel.forgetNames(d, []string{e.name})
	}
}
