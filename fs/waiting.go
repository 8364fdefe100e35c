package fs

import (
	"slices"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/fs/internal/names"
	"github.com/archivefs/archivefs/internal/spool"
)

// What an upload of an earlier mount, or one that is sent again, stands for is shown in its
// folder as soon as that has been listed: before, its name could be that of a document.

// await shows an upload in its folder: at once where that has been listed, else when it is.
func (s *staging) await(up *spool.Upload) {
	r := up.Record()
	ref := refOf(&r)
	s.mu.Lock()
	s.waiting[ref] = append(s.waiting[ref], up)
	s.mu.Unlock()
	if d := s.folder(ref); d != nil {
		d.placeWaiting()
	}
}

// awaits reports whether an upload is to be shown when its folder is listed.
func (s *staging) awaits(up *spool.Upload, r *spool.Record) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Contains(s.waiting[refOf(r)], up)
}

// folder returns the directory of a folder, nil when nobody has looked at it.
func (s *staging) folder(ref folderRef) *dir {
	if ref.within != "" {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.queuedDirs[ref.within]
	}
	return s.fs.root.known(ref.id)
}

// known returns the directory of a folder that is d or lies below it.
func (d *dir) known(id archive.ID) *dir {
	if d.kind.holdsDocuments() && d.id() == id {
		return d
	}
	for _, below := range d.subfolders() {
		if found := below.known(id); found != nil {
			return found
		}
	}
	return nil
}

// placeWaiting shows what waits for a folder that was listed already, or is queued itself.
func (d *dir) placeWaiting() {
	d.mu.Lock()
	before := d.shown.all()
	if d.files.known || d.isLocal() {
		d.placeWaitingLocked()
	}
	var shown []string
	for _, e := range d.shown.all() {
		if _, ok := findName(before, e.name); !ok {
			shown = append(shown, e.name)
		}
	}
	d.mu.Unlock()
	d.fs.forgetNames(d, shown)
}

// placeWaitingLocked shows what was recovered of a folder that is listed for the first
// time, or is queued itself. The caller holds mu.
func (d *dir) placeWaitingLocked() {
	ref := folderRef{id: d.id()}
	if up := d.queuedAs(); up != nil {
		ref = folderRef{within: up.ID()}
	}
	d.fs.staging.mu.Lock()
	waiting := d.fs.staging.waiting[ref]
	delete(d.fs.staging.waiting, ref)
	d.fs.staging.mu.Unlock()
	for _, up := range waiting {
		d.placeLocked(up)
	}
}

func (d *dir) placeLocked(up *spool.Upload) {
	r := up.Record()
	_, there := d.fs.staging.spool.Get(up.ID())
	switch e := d.shown.document(r.Replace); {
	case !there, r.State == spool.Confirmed: // meanwhile: a listing shows it, and this one may be from before
		d.outdate()
		d.doubtLocked()
		d.placeArchivedLocked(up, &r)
	case r.Directory:
		d.placeFolderLocked(up)
	case r.Replace != 0 && e != nil && e.file.Load() != nil: // in use, with its old bytes
	case r.Replace != 0 && e != nil:
		if f := d.fs.staging.holder(up); f.standFor(d, e) {
			e.file.Store(f)
		}
	case len(r.Local) > 0:
		d.localPathLocked(r.Local, up)
	default:
		d.looseLocked(up)
	}
}

// placeArchivedLocked shows a file that was archived while the folder was listed for the first
// time, unless the listing has its document. Where that is not known the file stays unlisted.
// The caller holds mu.
func (d *dir) placeArchivedLocked(up *spool.Upload, r *spool.Record) {
	if r.State != spool.Confirmed || r.Directory || r.Had != "" || r.Replace != 0 {
		return
	}
	if r.Document == 0 {
		var found []archive.ID
		for _, listed := range d.shown.documents() {
			if doc := listed.entry.doc.Load(); r.MayBe(doc) {
				found = append(found, doc.ID)
			}
		}
		f := d.fs.staging.holder(up)
		e := newEntry(names.Numbered(r.Name, d.shown.taken), nil, f)
		switch {
		case len(found) > 0:
			d.fs.work.Go(func() { d.fs.staging.ended(up, r, found) })
			return
		case f.standFor(d, e):
			e.keep = d.fs.keepFor()
			d.shown.add(e)
			d.late = append(d.late, f)
			return
		}
		*r = up.Record() // it ended meanwhile, perhaps with an id
	}
	if r.Document != 0 && d.shown.document(r.Document) == nil {
		e := newEntry(names.Numbered(r.Name, d.shown.taken), d.kind.confirmed(r, r.Document, nil, d.fs.now()), nil)
		e.keep = d.fs.keepFor()
		d.shown.add(e)
	}
}

// placeFolderLocked shows a queued folder with all that lies in it. The caller holds mu.
func (d *dir) placeFolderLocked(up *spool.Upload) {
	e := d.showQueuedLocked(up)
	if e == nil {
		return
	}
	e.dir.mu.Lock()
	defer e.dir.mu.Unlock()
	e.dir.placeWaitingLocked()
}

// standFor gives a file that no folder shows its place. It is false when the file has one
// or needs none any more.
func (f *file) standFor(d *dir, e *entry) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.up == nil || f.phase == removed || f.dir != nil {
		return false
	}
	f.dir, f.entry, f.doc = d, e, e.doc.Load()
	return true
}

// localPathLocked makes the local directories of path and puts the file there. The
// caller holds mu of d, which is above all of them.
func (d *dir) localPathLocked(path []string, up *spool.Upload) {
	for i, name := range path {
		e := d.shown.get(name)
		if e == nil {
			e = &entry{name: name, dir: newDir(d.fs, localDir, 0, d.fs.inodes.Local(), d, name)}
			d.shown.add(e)
		}
		if e.dir == nil || e.dir.kind != localDir {
			d.looseLocked(up)
			return
		}
		if i == len(path)-1 {
			e.dir.mu.Lock()
			e.dir.looseLocked(up)
			e.dir.mu.Unlock()
			return
		}
		d = e.dir
		d.mu.Lock()
		defer d.mu.Unlock()
	}
}

// looseLocked shows a file of the spool under a free name. A document that has its name and
// may be the one that is being sent gives way until that is known. The caller holds mu.
func (d *dir) looseLocked(up *spool.Upload) {
	f, r := d.fs.staging.holder(up), up.Record()
	if e := d.shown.get(r.Name); e != nil && r.State == spool.Sending {
		if doc := e.doc.Load(); doc != nil && r.MayBe(doc) {
			d.shown.drop(e)
		}
	}
	e := newEntry(names.Numbered(r.Name, d.shown.taken), nil, f)
	if f.standFor(d, e) {
		d.shown.add(e)
	}
}
