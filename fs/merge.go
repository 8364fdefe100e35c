package fs

import (
	"sort"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/fs/internal/names"
	"github.com/archivefs/archivefs/internal/spool"
)

// mergeFolders takes in a listing of the sub-folders: what is new gets a name, by
// ascending id; what is known keeps its name; what is gone is taken out. It returns the
// names that a kernel may remember wrongly.
func (l *lister) mergeFolders(d *dir, list []archive.Folder, m merged, free bool) (stale []string) {
	list = append([]archive.Folder(nil), list...)
	sort.Slice(list, func(i, j int) bool { return list[i].ID < list[j].ID })
	d.mu.Lock()
	defer d.mu.Unlock()
	m = d.trustedLocked(m)
	if d.subs.known && m.serial <= d.subs.serial {
		d.subs.fetched, d.subs.asked = m.fetched, m.asked
		return nil
	}
	d.free = free
	changed := d.shown.changed // to list for the first time is no change
	there := make(map[archive.ID]bool, len(list))
	for i := range list {
		there[list[i].ID] = true
	}
	stale = l.dropGoneLocked(d, &d.shown.folders, there)
	if !d.subs.known {
		l.reserveLocked(d, &d.shown.folders, len(list))
	}
	for i := range list {
		f := &list[i]
		e := d.shown.folders.get(f.ID)
		if e != nil && (e.told == f.Name || e.told == "") {
			e.told = f.Name
			continue
		}
		if e != nil { // renamed at the service
			stale = append(stale, e.name)
			d.shown.drop(e)
			e = e.renamed(names.OfFolder(*f, d.shown.taken))
			e.dir.moveTo(d, e.name)
		} else {
			name := names.OfFolder(*f, d.shown.taken)
			e = &entry{name: name, dir: newDir(l.fs, d.kind.below(), f.ID, l.fs.inodes.Folder(f.ID), d, name)}
		}
		e.told = f.Name
		d.shown.add(e)
		if d.subs.known {
			stale = append(stale, e.name)
		}
	}
	if !d.subs.known {
		d.shown.changed = changed
	}
	d.subs = m
	return stale
}

// trustedLocked is m, not to be trusted when the directory was distrusted after it was
// asked for. The caller holds mu.
func (d *dir) trustedLocked(m merged) merged {
	if m.asked.Doubts != d.doubts {
		m.fetched = time.Time{}
	}
	return m
}

// dropGoneLocked takes out what a listing does not have there any more, before what is
// new looks for a name, and returns its names. The caller holds mu.
func (l *lister) dropGoneLocked(d *dir, known *idIndex, there map[archive.ID]bool) (stale []string) {
	now := instantOf(l.fs.now())
	for i := len(known.list) - 1; i >= 0; i-- { // from the end, where dropping is cheap
		e := known.list[i].entry
		if !there[known.list[i].id] && now > e.keep && !e.busy() {
			stale = append(stale, e.name)
			d.shown.drop(e)
		}
	}
	return stale
}

// reserveLocked makes room for what is listed for the first time. The caller holds mu.
func (l *lister) reserveLocked(d *dir, ids *idIndex, n int) {
	ids.reserve(n)
	d.shown.here().names.reserve(n)
}

// mergeDocuments does for documents what mergeFolders does for folders. ext says which
// extension a document without one gets.
func (l *lister) mergeDocuments(d *dir, list []archive.Document, m merged, ext func(*archive.Document) string) (stale []string) {
	order := make([]*archive.Document, len(list))
	for i := range list {
		order[i] = &list[i]
	}
	sort.Slice(order, func(i, j int) bool { return order[i].ID < order[j].ID })
	d.mu.Lock()
	defer d.mu.Unlock()
	m = d.trustedLocked(m)
	if d.files.known && m.serial <= d.files.serial {
		d.files.fetched, d.files.asked = m.fetched, m.asked
		return nil
	}
	changed := d.shown.changed // to list for the first time is no change
	there := make(map[archive.ID]bool, len(list))
	for i := range list {
		there[list[i].ID] = true
	}
	stale = append(l.dropGoneLocked(d, &d.shown.here().docs, there), l.fs.placing.showListedLocked(d, order)...)
	if !d.files.known {
		l.reserveLocked(d, &d.shown.here().docs, len(list))
	}
	for i, doc := range order {
		if i > 0 && order[i-1].ID == doc.ID {
			continue // listed twice
		}
		if name := l.mergeDocumentLocked(d, doc, ext); name != nil {
			stale = append(stale, name...)
		}
	}
	if s := d.learned.Load(); s != nil {
		s.Reset()
	}
	if !d.files.known {
		d.files, d.shown.changed = m, changed
		l.fs.placing.placeWaitingLocked(d)
		return nil
	}
	d.files = m
	return stale
}

// mergeDocumentLocked takes in one document and returns the names that changed. The
// caller holds mu.
func (l *lister) mergeDocumentLocked(d *dir, doc *archive.Document, ext func(*archive.Document) string) (stale []string) {
	e := d.shown.document(doc.ID)
	if e == nil && l.arrivingLocked(d, doc.Name) {
		return nil // it may be the one; the end of the upload tells, and asks for a listing
	}
	if e == nil {
		e = newEntry(names.OfDocument(doc, ext(doc), d.shown.taken), doc, nil)
		e.told = doc.Name
		d.shown.add(e)
		return e.namesLocked()
	}
	e.setDocument(doc)
	d.shown.index(e)
	l.fs.placing.refillLocked(d, e)
	if d.shown.hides(e) {
		return []string{d.shown.unhide(e).name}
	}
	if e.told == doc.Name || e.told == "" {
		e.told = doc.Name
		return nil
	}
	// Renamed at the service.
	old := e.name
	d.shown.drop(e)
	e = e.renamed(names.OfDocument(doc, ext(doc), d.shown.taken))
	e.told = doc.Name
	d.shown.add(e)
	return append(e.namesLocked(), old)
}

// arrivingLocked reports whether a file is being archived under the name at this moment.
// The caller holds mu.
func (l *lister) arrivingLocked(d *dir, name string) bool {
	e := d.shown.get(name)
	if e == nil || e.doc.Load() != nil || !e.busy() {
		return false
	}
	s := e.file.Load().pending().State()
	return s == spool.Sending || s == spool.Confirmed
}

// grace is how long what was changed here counts more than what a listing says.
func (f *FileSystem) grace() time.Duration { return max(f.opts.TTL, time.Minute) }

// keepFor is until when what was just made here stays listed although a listing lacks it.
func (f *FileSystem) keepFor() instant { return instantOf(f.now().Add(f.grace())) }

// update shows a document as it is after a change made here, until it is listed again.
func (d *dir) update(doc *archive.Document) {
	d.outdate()
	d.mu.Lock()
	defer d.mu.Unlock()
	if e := d.shown.document(doc.ID); e != nil {
		e.setDocument(doc)
		d.shown.index(e)
	}
}
