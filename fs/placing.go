package fs

import (
	"context"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/fs/internal/background"
	"github.com/archivefs/archivefs/fs/internal/names"
	"github.com/archivefs/archivefs/internal/spool"
)

// What an upload of an earlier mount, or one that is sent again, stands for is shown in its
// folder as soon as that has been listed: before, its name could be that of a document.

// placing shows in the tree what is staged.
type placing struct{ fs *FileSystem }

// showQueuedLocked shows a queued folder; nil when the service has it by now. The caller
// holds mu.
func (p *placing) showQueuedLocked(d *dir, up *spool.Upload) *entry {
	ino := p.fs.inodes.Local()
	e := &entry{name: names.Numbered(up.Record().Name, d.shown.taken)}
	e.dir = newDir(p.fs.archiveTree, d.kind.below(), -archive.ID(ino), ino, d, e.name) //nolint:gosec // a counter
	e.dir.queued.Store(up)
	p.fs.staging.mu.Lock()
	defer p.fs.staging.mu.Unlock()
	if up.State() == spool.Confirmed {
		return nil
	}
	p.fs.staging.queuedDirs[up.ID()] = e.dir
	d.shown.add(e)
	return e
}

// made gives a queued directory the id of its folder. A listing that was quicker shows it
// under another name, which goes.
func (p *placing) made(d *dir, id archive.ID) {
	parent, name := d.place()
	parent.mu.Lock()
	e := parent.shown.get(name)
	if listed := parent.shown.folders.get(id); listed != nil && listed != e {
		parent.shown.drop(listed)
		p.fs.kernel.forgetNames(parent, []string{listed.name})
	}
	parent.shown.folders.remove(d.ID())
	d.folder.Store(int64(id))
	if e != nil && e.dir == d {
		e.told, e.keep = "", p.fs.keepFor()
		parent.shown.folders.put(id, e)
	}
	d.mu.Lock()
	d.subs, d.files = merged{}, merged{}
	d.queued.Store(nil) // from here on the service is asked
	d.mu.Unlock()
	parent.mu.Unlock()
	parent.outdate()
}

// An archive holds no empty document. An inbox document that is emptied and closed stays at
// the service as it was, and reads empty here for a while, because what is emptied is
// mostly written again (: > FILE; echo >> FILE). The next listing after that shows it as it
// is, as a fresh mount does.

// nothingIn reports whether a record is of an inbox document that was emptied and closed.
func nothingIn(r *spool.Record) bool {
	return r.Replace != 0 && r.State == spool.Created && r.Closed && r.Size == 0
}

// refillLocked makes the entry of a document that was emptied long enough ago what the
// service has. The caller holds mu of the directory.
func (p *placing) refillLocked(d *dir, e *entry) {
	f := fileAt(e)
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	up := f.up
	if up == nil || f.handles > 0 {
		return
	}
	if r := up.Record(); !nothingIn(&r) || p.fs.now().Before(r.Changed.Add(p.fs.grace())) {
		return
	}
	f.up = nil
	f.happenedLocked(onArrival)
	p.fs.work.Go(func() {
		p.fs.log.WithField("path", archive.Printable(f.path())).Warn("it was emptied and not written since: it has the content again that the service has")
		p.fs.staging.discard(up)
	})
}

// mostIdentified is how many files of a folder are looked up in the data of documents before a
// listing is shown. The others are downloaded when they are read.
const mostIdentified = 64

// identify finds out which documents of a listing are files that stayed unlisted, and moves
// their bytes into the content cache.
func (p *placing) identify(ctx context.Context, d *dir, list []archive.Document) {
	docs := make([]*archive.Document, len(list))
	for i := range list {
		docs[i] = &list[i]
	}
	found := map[*spool.Upload][]archive.ID{}
	d.mu.Lock()
	for _, f := range d.late {
		up := f.pending()
		if up == nil || len(found) == mostIdentified {
			continue
		}
		if r := up.Record(); r.Document == 0 {
			if ids := p.mayBeLocked(d, &r, docs); len(ids) > 0 {
				found[up] = ids
			}
		}
	}
	d.mu.Unlock()
	var asks errgroup.Group
	asks.SetLimit(background.AtOnce)
	for up, ids := range found {
		asks.Go(func() error {
			if id := p.fs.staging.spool.Identify(ctx, up, p.fs.service.Archive, ids); id != 0 {
				p.fs.staging.settle(up, id)
			}
			return nil
		})
	}
	_ = asks.Wait() // none returns an error
}

// mayBeLocked are those of the documents that are new here and may be what was sent. The caller
// holds mu.
func (p *placing) mayBeLocked(d *dir, r *spool.Record, list []*archive.Document) (ids []archive.ID) {
	for _, doc := range list {
		if d.shown.document(doc.ID) == nil && r.MayBe(doc) {
			ids = append(ids, doc.ID)
		}
	}
	return ids
}

// showListedLocked makes room for the documents of a listing that may be files which stayed
// unlisted, and gives up those that no listing has shown for long. It returns their names.
// The caller holds mu.
func (p *placing) showListedLocked(d *dir, list []*archive.Document) (stale []string) {
	d.late = slices.DeleteFunc(d.late, func(l *leaf) bool {
		f := l.holder.(*file)
		f.mu.Lock()
		defer f.mu.Unlock()
		up := f.up
		r := up.Record()
		found := p.mayBeLocked(d, &r, list)
		if len(found) == 0 && instantOf(p.fs.now()) < f.entry.keep {
			return false
		}
		stale = append(stale, f.entry.name)
		d.shown.drop(f.entry)
		f.dir = nil // who has it open reads on
		f.happenedLocked(onUnlink)
		p.fs.work.Go(func() { p.fs.staging.ended(up, &r, found) })
		return true
	})
	return stale
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
	ref := folderRef{id: d.ID()}
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
	case r.Replace != 0 && e != nil && fileAt(e) != nil: // in use, with its old bytes
	case r.Replace != 0 && e != nil:
		if f := p.fs.staging.holder(up); f.standFor(d, e) {
			e.file.Store(&f.leaf)
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
	e := newEntry(names.Numbered(r.Name, d.shown.taken), nil, &f.leaf)
	switch {
	case len(found) > 0:
		p.fs.work.Go(func() { p.fs.staging.ended(up, r, found) })
	case f.standFor(d, e):
		e.keep = p.fs.keepFor()
		d.shown.add(e)
		d.late = append(d.late, &f.leaf)
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

// localPathLocked makes the local directories of path and puts the file there. The
// caller holds mu of d, which is above all of them.
func (p *placing) localPathLocked(d *dir, path []string, up *spool.Upload) {
	for i, name := range path {
		e := d.shown.get(name)
		if e == nil {
			e = &entry{name: name, dir: newDir(p.fs.archiveTree, localDir, 0, p.fs.inodes.Local(), d, name)}
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
	e := newEntry(names.Numbered(r.Name, d.shown.taken), nil, &f.leaf)
	if f.standFor(d, e) {
		d.shown.add(e)
	}
}
