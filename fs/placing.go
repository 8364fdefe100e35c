package fs

import (
	"context"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/fs/internal/background"
	"github.com/archivefs/archivefs/fs/internal/names"
	"github.com/archivefs/archivefs/fs/internal/tree"
	"github.com/archivefs/archivefs/internal/spool"
)

// What an upload of an earlier mount, or one that is sent again, stands for is shown in its
// folder as soon as that has been listed: before, its name could be that of a document.

// placing shows in the tree what is staged.
type placing struct{ fs *FileSystem }

// showQueuedLocked shows a queued folder; nil when the service has it by now. The caller
// holds mu.
func (p *placing) showQueuedLocked(d *tree.Dir, up *spool.Upload) *tree.Entry {
	ino := p.fs.Inodes.Local()
	e := &tree.Entry{Name: names.Numbered(up.Record().Name, d.Shown.Taken)}
	e.Dir = tree.NewDir(p.fs.Tree, d.Kind.Below(), -archive.ID(ino), ino, d, e.Name) //nolint:gosec // a counter
	e.Dir.Queued.Store(up)
	p.fs.staging.mu.Lock()
	defer p.fs.staging.mu.Unlock()
	if up.State() == spool.Confirmed {
		return nil
	}
	p.fs.staging.queuedDirs[up.ID()] = e.Dir
	d.Shown.Add(e)
	return e
}

// made gives a queued directory the id of its folder. A listing that was quicker shows it
// under another name, which goes.
func (p *placing) made(d *tree.Dir, id archive.ID) {
	parent, name := d.Place()
	parent.Mu.Lock()
	e := parent.Shown.Get(name)
	if listed := parent.Shown.Folders.Get(id); listed != nil && listed != e {
		parent.Shown.Drop(listed)
		p.fs.kernel.forgetNames(parent, []string{listed.Name})
	}
	parent.Shown.Folders.Remove(d.ID())
	d.Folder.Store(int64(id))
	if e != nil && e.Dir == d {
		e.ServiceName, e.Keep = "", p.fs.KeepFor()
		parent.Shown.Folders.Put(id, e)
	}
	d.Mu.Lock()
	d.Subs, d.Files = tree.Merged{}, tree.Merged{}
	d.Queued.Store(nil) // from here on the service is asked
	d.Mu.Unlock()
	parent.Mu.Unlock()
	parent.Outdate()
}

// An archive holds no empty document. An inbox document that is emptied and closed stays at
// the service as it was, and reads empty here for a while, because what is emptied is
// mostly written again (: > FILE; echo >> FILE). The next listing after that shows it as it
// is, as a fresh mount does.

// nothingIn reports whether a record is of an inbox document that was emptied and closed.
func nothingIn(r *spool.Record) bool {
	return r.Replace != 0 && r.State == spool.Created && r.Closed && r.Size == 0
}

// RefillLocked makes the entry of a document that was emptied long enough ago what the
// service has. The caller holds mu of the directory.
func (p *placing) RefillLocked(d *tree.Dir, e *tree.Entry) {
	f := fileAt(e)
	if f == nil {
		return
	}
	f.Mu.Lock()
	defer f.Mu.Unlock()
	up := f.Up
	if up == nil || f.Handles > 0 {
		return
	}
	if r := up.Record(); !nothingIn(&r) || p.fs.now().Before(r.Changed.Add(p.fs.Grace())) {
		return
	}
	f.Up = nil
	f.happenedLocked(onArrival)
	p.fs.work.Go(func() {
		p.fs.log.WithField("path", archive.Printable(f.Where())).Warn("it was emptied and not written since: it has the content again that the service has")
		p.fs.staging.discard(up)
	})
}

// mostIdentified is how many files of a folder are looked up in the data of documents before a
// listing is shown. The others are downloaded when they are read.
const mostIdentified = 64

// Identify finds out which documents of a listing are files that stayed unlisted, and moves
// their bytes into the content cache.
func (p *placing) Identify(ctx context.Context, d *tree.Dir, list []archive.Document) {
	docs := make([]*archive.Document, len(list))
	for i := range list {
		docs[i] = &list[i]
	}
	found := map[*spool.Upload][]archive.ID{}
	d.Mu.Lock()
	for _, f := range d.Late {
		up := f.Pending()
		if up == nil || len(found) == mostIdentified {
			continue
		}
		if r := up.Record(); r.Document == 0 {
			if ids := p.mayBeLocked(d, &r, docs); len(ids) > 0 {
				found[up] = ids
			}
		}
	}
	d.Mu.Unlock()
	var asks errgroup.Group
	asks.SetLimit(background.AtOnce)
	for up, ids := range found {
		asks.Go(func() error {
			if id := p.fs.staging.spool.Identify(ctx, up, p.fs.Service.Archive, ids); id != 0 {
				p.fs.staging.settle(up, id)
			}
			return nil
		})
	}
	_ = asks.Wait() // none returns an error
}

// mayBeLocked are those of the documents that are new here and may be what was sent. The caller
// holds mu.
func (p *placing) mayBeLocked(d *tree.Dir, r *spool.Record, list []*archive.Document) (ids []archive.ID) {
	for _, doc := range list {
		if d.Shown.Document(doc.ID) == nil && r.MayBe(doc) {
			ids = append(ids, doc.ID)
		}
	}
	return ids
}

// ShowListedLocked makes room for the documents of a listing that may be files which stayed
// unlisted, and gives up those that no listing has shown for long. It returns their names.
// The caller holds mu.
func (p *placing) ShowListedLocked(d *tree.Dir, list []*archive.Document) (stale []string) {
	d.Late = slices.DeleteFunc(d.Late, func(l *tree.Leaf) bool {
		f := l.Holder.(*file)
		f.Mu.Lock()
		defer f.Mu.Unlock()
		up := f.Up
		if up == nil {
			return true // its id became known after all
		}
		r := up.Record()
		found := p.mayBeLocked(d, &r, list)
		if len(found) == 0 && tree.InstantOf(p.fs.now()) < f.Entry.Keep {
			return false
		}
		stale = append(stale, f.Entry.Name)
		d.Shown.Drop(f.Entry)
		f.Dir = nil // who has it open reads on
		f.happenedLocked(onUnlink)
		p.fs.work.Go(func() { p.fs.staging.ended(up, &r, found) })
		return true
	})
	return stale
}

// placeWaiting shows what waits for a folder that was listed already, or is queued itself.
func (p *placing) placeWaiting(d *tree.Dir) {
	d.Mu.Lock()
	before := d.Shown.All()
	if d.Files.Known || d.IsLocal() {
		p.PlaceWaitingLocked(d)
	}
	var shown []string
	for _, e := range d.Shown.All() {
		if _, ok := tree.FindName(before, e.Name); !ok {
			shown = append(shown, e.Name)
		}
	}
	d.Mu.Unlock()
	p.fs.kernel.forgetNames(d, shown)
}

// PlaceWaitingLocked shows what was recovered of a folder that is listed for the first
// time, or is queued itself. The caller holds mu.
func (p *placing) PlaceWaitingLocked(d *tree.Dir) {
	ref := folderRef{id: d.ID()}
	if up := d.QueuedAs(); up != nil {
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

func (p *placing) placeLocked(d *tree.Dir, up *spool.Upload) {
	r := up.Record()
	_, there := p.fs.staging.spool.Get(up.ID())
	switch e := d.Shown.Document(r.Replace); {
	case !there, r.State == spool.Confirmed: // meanwhile: a listing shows it, and this one may be from before
		d.Outdate()
		d.DoubtLocked()
		p.placeArchivedLocked(d, up, &r)
	case r.Directory:
		p.placeFolderLocked(d, up)
	case r.Replace != 0 && e != nil && fileAt(e) != nil: // in use, with its old bytes
	case r.Replace != 0 && e != nil:
		if f := p.fs.staging.holder(up); f.standFor(d, e) {
			e.File.Store(&f.Leaf)
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
func (p *placing) placeArchivedLocked(d *tree.Dir, up *spool.Upload, r *spool.Record) {
	if r.State != spool.Confirmed || r.Directory || r.Had != "" || r.Replace != 0 {
		return
	}
	if r.Document == 0 {
		var found []archive.ID
		for _, listed := range d.Shown.Documents() {
			if doc := listed.Entry.Doc.Load(); r.MayBe(doc) {
				found = append(found, doc.ID)
			}
		}
		f := p.fs.staging.holder(up)
		e := tree.NewEntry(names.Numbered(r.Name, d.Shown.Taken), nil, &f.Leaf)
		switch {
		case len(found) > 0:
			p.fs.work.Go(func() { p.fs.staging.ended(up, r, found) })
			return
		case f.standFor(d, e):
			e.Keep = p.fs.KeepFor()
			d.Shown.Add(e)
			d.Late = append(d.Late, &f.Leaf)
			return
		}
		*r = up.Record() // it ended meanwhile, perhaps with an id
	}
	if r.Document != 0 && d.Shown.Document(r.Document) == nil {
		e := tree.NewEntry(names.Numbered(r.Name, d.Shown.Taken), d.Kind.Confirmed(r, r.Document, nil, p.fs.now()), nil)
		e.Keep = p.fs.KeepFor()
		d.Shown.Add(e)
	}
}

// placeFolderLocked shows a queued folder with all that lies in it. The caller holds mu.
func (p *placing) placeFolderLocked(d *tree.Dir, up *spool.Upload) {
	e := p.showQueuedLocked(d, up)
	if e == nil {
		return
	}
	e.Dir.Mu.Lock()
	defer e.Dir.Mu.Unlock()
	p.PlaceWaitingLocked(e.Dir)
}

// localPathLocked makes the local directories of path and puts the file there. The
// caller holds mu of d, which is above all of them.
func (p *placing) localPathLocked(d *tree.Dir, path []string, up *spool.Upload) {
	for i, name := range path {
		e := d.Shown.Get(name)
		if e == nil {
			e = &tree.Entry{Name: name, Dir: tree.NewDir(p.fs.Tree, tree.LocalDir, 0, p.fs.Inodes.Local(), d, name)}
			d.Shown.Add(e)
		}
		if e.Dir == nil || e.Dir.Kind != tree.LocalDir {
			p.looseLocked(d, up)
			return
		}
		if i == len(path)-1 {
			e.Dir.Mu.Lock()
			p.looseLocked(e.Dir, up)
			e.Dir.Mu.Unlock()
			return
		}
		d = e.Dir
		d.Mu.Lock()
		defer d.Mu.Unlock()
	}
}

// looseLocked shows a file of the spool under a free name. A document that has its name and
// may be the one that is being sent gives way until that is known. The caller holds mu.
func (p *placing) looseLocked(d *tree.Dir, up *spool.Upload) {
	f, r := p.fs.staging.holder(up), up.Record()
	if e := d.Shown.Get(r.Name); e != nil && r.State == spool.Sending {
		if doc := e.Doc.Load(); doc != nil && r.MayBe(doc) {
			d.Shown.Drop(e)
		}
	}
	e := tree.NewEntry(names.Numbered(r.Name, d.Shown.Taken), nil, &f.Leaf)
	if f.standFor(d, e) {
		d.Shown.Add(e)
	}
}
