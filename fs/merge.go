package fs

import (
	"sort"
	"time"

	"github.com/archivefs/archivefs/archive"
)

// mergeFolders takes in a listing of the sub-folders: what is new gets a name, by
// ascending id; what is known keeps its name; what is gone is taken out. It returns the
// names that a kernel may remember wrongly.
func (d *dir) mergeFolders(list []archive.Folder, m merged, free bool) (stale []string) {
	list = append([]archive.Folder(nil), list...)
	sort.Slice(list, func(i, j int) bool { return list[i].ID < list[j].ID })
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.subs.known && m.serial <= d.subs.serial {
		d.subs.fetched = m.fetched
		return nil
	}
	d.free = free
	seen := make(map[archive.ID]bool, len(list))
	for i := range list {
		f := &list[i]
		seen[f.ID] = true
		e := d.folders[f.ID]
		if e != nil && (e.told == f.Name || e.told == "") {
			e.told = f.Name
			continue
		}
		if e != nil { // renamed at the service
			stale = append(stale, e.name)
			d.dropLocked(e)
			e.name = folderName(*f, d.takenLocked)
			e.dir.rename(e.name)
		} else {
			name := folderName(*f, d.takenLocked)
			e = &entry{name: name, dir: newDir(d.fs, d.kind.below(), f.ID, d.fs.inodes.of(inoFolder, f.ID), d, name)}
		}
		e.told = f.Name
		d.addLocked(e)
		if d.subs.known {
			stale = append(stale, e.name)
		}
	}
	now := d.fs.now()
	for id, e := range d.folders {
		if !seen[id] && now.After(e.keep) {
			stale = append(stale, e.name)
			d.dropLocked(e)
		}
	}
	d.subs = m
	return stale
}

// below is the kind of a folder inside a directory of kind k.
func (k dirKind) below() dirKind {
	switch k {
	case rootDir:
		return mandatorDir
	case inboxesDir, inboxDir:
		return inboxDir
	case mandatorDir, folderDir, localDir:
	}
	return folderDir
}

// rename follows a rename of the directory itself.
func (d *dir) rename(name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.name = name
}

// mergeDocuments does for documents what mergeFolders does for folders. ext says which
// extension a document without one gets.
func (d *dir) mergeDocuments(list []archive.Document, m merged, ext func(*archive.Document) string) (stale []string) {
	order := make([]*archive.Document, len(list))
	for i := range list {
		order[i] = &list[i]
	}
	sort.Slice(order, func(i, j int) bool { return order[i].ID < order[j].ID })
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.files.known && m.serial <= d.files.serial {
		d.files.fetched = m.fetched
		return nil
	}
	seen := make(map[archive.ID]bool, len(list))
	for _, doc := range order {
		if seen[doc.ID] {
			continue // listed twice
		}
		seen[doc.ID] = true
		if name := d.mergeDocumentLocked(doc, ext); name != nil {
			stale = append(stale, name...)
		}
	}
	now := d.fs.now()
	for id, e := range d.docs {
		if !seen[id] && now.After(e.keep) && !e.busy() {
			stale = append(stale, e.name)
			d.dropLocked(e)
		}
	}
	first := !d.files.known
	d.files = m
	d.sizes.reset()
	if first {
		d.placeWaitingLocked()
		return nil
	}
	return stale
}

// mergeDocumentLocked takes in one document and returns the names that changed. The
// caller holds mu.
func (d *dir) mergeDocumentLocked(doc *archive.Document, ext func(*archive.Document) string) (stale []string) {
	e := d.docs[doc.ID]
	if e == nil {
		e = &entry{name: documentName(doc, ext(doc), d.takenLocked), doc: doc, told: doc.Name}
		d.addLocked(e)
		return []string{e.name}
	}
	e.doc = doc
	if e.file != nil {
		e.file.setDocument(doc)
	}
	if e.told == doc.Name || e.told == "" {
		e.told = doc.Name
		return nil
	}
	// Renamed at the service.
	old := e.name
	d.dropLocked(e)
	e.name = documentName(doc, ext(doc), d.takenLocked)
	e.told = doc.Name
	d.addLocked(e)
	return []string{old, e.name}
}

// busy reports whether the entry has bytes that wait to be archived, so that it stays
// whatever a listing says.
func (e *entry) busy() bool { return e.file != nil && e.file.pending() != nil }

// keepFor is how long what was just made here stays listed although a listing lacks it.
func (f *FileSystem) keepFor() time.Time {
	return f.now().Add(max(f.opts.TTL, time.Minute))
}

// update shows a document as it is after a change made here, until it is listed again.
func (d *dir) update(doc *archive.Document) {
	d.outdate()
	d.mu.Lock()
	defer d.mu.Unlock()
	if e := d.docs[doc.ID]; e != nil {
		e.doc = doc
		if e.file != nil {
			e.file.setDocument(doc)
		}
	}
}
