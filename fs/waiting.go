package fs

import (
	"slices"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/fs/internal/names"
	"github.com/archivefs/archivefs/internal/spool"
)

// What an upload of an earlier mount, or one that is sent again, stands for is shown in its
// folder as soon as that has been listed: before, its name could be that of a document.

// placing shows in the tree what is staged.
type placing struct{ fs *FileSystem }

// await shows an upload in its folder: at once where that has been listed, else when it is.
func (s *staging) await(up *spool.Upload) {
	r := up.Record()
	ref := refOf(&r)
	s.mu.Lock()
	s.waiting[ref] = append(s.waiting[ref], up)
	s.mu.Unlock()
	if d := s.folder(ref); d != nil {
		s.fs.placing.placeWaiting(d)
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
	return s.fs.root.fs.lister.known(s.fs.root, ref.id)
}

// known returns the directory of a folder that is d or lies below it.
func (l *lister) known(d *dir, id archive.ID) *dir {
	if d.kind.holdsDocuments() && d.id() == id {
		return d
	}
	for _, below := range d.subfolders() {
		if found := l.known(below, id); found != nil {
			return found
		}
	}
	return nil
}

// placeWaiting shows what waits for a folder that was listed already, or is queued itself.
func (p *placing) placeWaiting(d *dir) {
	d.mu.Lock()
	before := d.shown.all()
	if d.files.known || d.isLocal() {
		p.placeWaitingLocked(d)
	}
	var shown []string
	for _, e := range d.shown.all() {
		if _, ok := findName(before, e.name); !ok {
			shown = append(shown, e.name)
		}
	}
	d.mu.Unlock()
	p.fs.kernel.forgetNames(d, shown)
}

// placeWaitingLocked shows what was recovered of a folder that is listed for the first
// time, or is queued itself. The caller holds mu.
func (p *placing) placeWaitingLocked(d *dir) {
	ref := folderRef{id: d.id()}
	if up := d.queuedAs(); up != nil {
		ref = folderRef{within: up.ID()}
	}
	p.fs.staging.mu.Lock()
	waiting := p.fs.staging.waiting[ref]
	delete(p.fs.staging.waiting, ref)
	p.fs.staging.mu.Unlock()
	for _, up := range waiting {
		p.placeLocked(d, up)
	}
}

func (p *placing) placeLocked(d *dir, up *spool.Upload) {
	r := up.Record()
	_, there := p.fs.staging.spool.Get(up.ID())
	switch e := d.shown.document(r.Replace); {
	case !there, r.State == spool.Confirmed: // meanwhile: a listing shows it, and this one may be from before
		d.outdate()
		d.doubtLocked()
		p.placeArchivedLocked(d, up, &r)
	case r.Directory:
		p.placeFolderLocked(d, up)
	case r.Replace != 0 && e != nil && e.file.Load() != nil: // in use, with its old bytes
	case r.Replace != 0 && e != nil:
		if f := p.fs.staging.holder(up); f.standFor(d, e) {
			e.file.Store(f)
		}
	case len(r.Local) > 0:
		p.localPathLocked(d, r.Local, up)
	default:
		p.looseLocked(d, up)
	}
}

// placeArchivedLocked shows a file that was archived while the folder was listed for the first
// time, unless the listing has its document. Where that is not known the file stays unlisted.
// The caller holds mu.
func (p *placing) placeArchivedLocked(d *dir, up *spool.Upload, r *spool.Record) {
	if r.State != spool.Confirmed || r.Directory || r.Had != "" || r.Replace != 0 {
		return
	}
	if r.Document != 0 {
		if d.shown.document(r.Document) == nil {
			e := newEntry(names.Numbered(r.Name, d.shown.taken), d.kind.confirmed(r, r.Document, nil, p.fs.now()), nil)
			e.keep = p.fs.keepFor()
			d.shown.add(e)
		}
		return
	}
	var found []archive.ID
	for _, listed := range d.shown.documents() {
		if doc := listed.entry.doc.Load(); r.MayBe(doc) {
			found = append(found, doc.ID)
		}
	}
	f := p.fs.staging.holder(up)
	e := newEntry(names.Numbered(r.Name, d.shown.taken), nil, f)
	switch {
	case len(found) > 0:
		p.fs.work.Go(func() { p.fs.staging.ended(up, r, found) })
	case f.standFor(d, e):
		e.keep = p.fs.keepFor()
		d.shown.add(e)
		d.late = append(d.late, f)
	}
}

// placeFolderLocked shows a queued folder with all that lies in it. The caller holds mu.
func (p *placing) placeFolderLocked(d *dir, up *spool.Upload) {
	e := p.showQueuedLocked(d, up)
	if e == nil {
		return
	}
	e.dir.mu.Lock()
	defer e.dir.mu.Unlock()
	p.placeWaitingLocked(e.dir)
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
func (p *placing) localPathLocked(d *dir, path []string, up *spool.Upload) {
	for i, name := range path {
		e := d.shown.get(name)
		if e == nil {
			e = &entry{name: name, dir: newDir(p.fs, localDir, 0, p.fs.inodes.Local(), d, name)}
			d.shown.add(e)
		}
		if e.dir == nil || e.dir.kind != localDir {
			p.looseLocked(d, up)
			return
		}
		if i == len(path)-1 {
			e.dir.mu.Lock()
			p.looseLocked(e.dir, up)
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
func (p *placing) looseLocked(d *dir, up *spool.Upload) {
	f, r := p.fs.staging.holder(up), up.Record()
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
