package staging

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

// placing shows staged files and queued folders in the tree. A recovered or retried upload appears
// once its folder has been listed, because until then its name may be that of a document.
type placing struct{ s *Area }

// await shows an upload in its folder, at once if that has been listed, else as soon as it is.
func (p *placing) await(up *spool.Upload) {
	r := up.Record()
	ref := refOf(&r)
	p.s.mu.Lock()
	p.s.waiting[ref] = append(p.s.waiting[ref], up)
	p.s.mu.Unlock()
	if d := p.s.folderAt(ref); d != nil {
		p.placeWaiting(d)
	}
}

// awaits reports whether an upload is to be shown once its folder is listed.
func (p *placing) awaits(up *spool.Upload, r *spool.Record) bool {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	return slices.Contains(p.s.waiting[refOf(r)], up)
}

// folderRef identifies a folder by its id or, while it is queued, by its upload.
type folderRef struct {
	id     archive.ID
	within string
}

func refOf(r *spool.Record) folderRef { return folderRef{id: r.Folder, within: r.Within} }

// Folder returns the directory of a folder, nil if the tree does not know it.
func (s *Area) Folder(id archive.ID) *tree.Dir { return s.folderAt(folderRef{id: id}) }

// folderAt is Folder for a folder that may be queued.
func (s *Area) folderAt(ref folderRef) *tree.Dir {
	if ref.within != "" {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.queuedDirs[ref.within]
	}
	return s.Root.Tree.Known(s.Root, ref.id)
}

// placeWaiting shows what waits for d if d has been listed already or is local.
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
	p.s.Changed(d, shown)
}

// PlaceWaitingLocked shows what waits for d, which has been listed or is queued.
// +checklocks:d.Mu
func (p *placing) PlaceWaitingLocked(d *tree.Dir) {
	ref := folderRef{id: d.ID()}
	if up := d.QueuedAs(); up != nil {
		ref = folderRef{within: up.ID()}
	}
	p.s.mu.Lock()
	waiting := p.s.waiting[ref]
	delete(p.s.waiting, ref)
	p.s.mu.Unlock()
	for _, up := range waiting {
		p.placeLocked(d, up)
	}
}

// +checklocks:d.Mu
func (p *placing) placeLocked(d *tree.Dir, up *spool.Upload) {
	r := up.Record()
	_, there := p.s.Spool.Get(up.ID())
	switch e := d.Shown.Document(r.Replace); {
	case !there, r.State == spool.Confirmed: // it ended meanwhile, and this listing may be older than that
		d.Outdate()
		d.DoubtLocked()
		p.placeArchivedLocked(d, up, &r)
	case r.Directory:
		p.placeFolderLocked(d, up)
	case r.Replace != 0 && e != nil && FileAt(e) != nil: // in use with its old bytes
	case r.Replace != 0 && e != nil:
		if f := p.s.Holder(up); f.standFor(d, e) {
			e.File.Store(&f.Leaf)
		}
	default:
		p.localPathLocked(d, r.Local, up)
	}
}

// placeArchivedLocked shows a file that was archived during the first listing of its folder, unless
// the listing has its document. If the document is not known, the file stays as a late one.
// +checklocks:d.Mu
func (p *placing) placeArchivedLocked(d *tree.Dir, up *spool.Upload, r *spool.Record) {
	if r.State != spool.Confirmed || r.Directory || r.Had != "" || r.Replace != 0 {
		return
	}
	if r.Document == 0 {
		f, found := p.s.Holder(up), false
		for _, listed := range d.Shown.Documents() {
			found = found || r.MayBe(listed.Entry.Doc.Load())
		}
		switch e := tree.NewEntry(names.Numbered(r.Name, d.Shown.Taken), nil, &f.Leaf); {
		case found:
			p.s.Queue.Add(up)
			return
		case f.standFor(d, e):
			d.Shown.Add(e)
			d.Late = append(d.Late, &f.Leaf)
			return
		}
		*r = up.Record() // it ended meanwhile, perhaps with an id
	}
	if r.Document != 0 && d.Shown.Document(r.Document) == nil {
		e := tree.NewEntry(names.Numbered(r.Name, d.Shown.Taken), d.Kind().Confirmed(r, r.Document, nil, r.Changed), nil)
		e.Keep = p.s.KeepFor()
		d.Shown.Add(e)
	}
}

// placeFolderLocked shows a queued folder and everything in it.
// +checklocks:d.Mu
func (p *placing) placeFolderLocked(d *tree.Dir, up *spool.Upload) {
	e := p.s.Folders.showLocked(d, up)
	if e == nil {
		return
	}
	e.Dir.Mu.Lock()
	defer e.Dir.Mu.Unlock()
	p.PlaceWaitingLocked(e.Dir)
}

// localPathLocked makes the local directories of path below d and shows the file in the last. If
// something else has the name of one of them, the file is shown beside that.
// +checklocks:d.Mu
func (p *placing) localPathLocked(d *tree.Dir, path []string, up *spool.Upload) {
	if len(path) == 0 {
		p.looseLocked(d, up)
		return
	}
	name := path[0]
	e := d.Shown.Get(name)
	if e == nil {
		e = &tree.Entry{Name: name, Dir: tree.NewDir(p.s.Tree, tree.LocalDir, 0, p.s.Inodes.Local(), d, name)}
		d.Shown.Add(e)
	}
	if e.Dir == nil || e.Dir.Kind() != tree.LocalDir {
		p.looseLocked(d, up)
		return
	}
	e.Dir.Mu.Lock()
	defer e.Dir.Mu.Unlock()
	p.localPathLocked(e.Dir, path[1:], up)
}

// looseLocked shows a staged file under a free name. A document that has its name and may be the
// upload in flight is hidden until that is known.
// +checklocks:d.Mu
func (p *placing) looseLocked(d *tree.Dir, up *spool.Upload) {
	f, r := p.s.Holder(up), up.Record()
	switch e := d.Shown.Get(r.Name); {
	case e == nil || e.Dir != nil:
	case r.State.InFlight() && e.Doc.Load() != nil && r.MayBe(e.Doc.Load()):
		d.Shown.Drop(e)
	case p.s.Number && d.InInbox(): // it is newer
		d.Shown.StepAside(e)
	}
	e := tree.NewEntry(names.Numbered(r.Name, d.Shown.Taken), nil, &f.Leaf)
	if f.standFor(d, e) {
		d.Shown.Add(e)
	}
}

// standFor gives the file a place in d. It returns false if the file has one already, was removed,
// or has no staged bytes.
func (f *File) standFor(d *tree.Dir, e *tree.Entry) bool {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	if f.Up == nil || f.Up.Removed() || f.Dir != nil {
		return false
	}
	f.Dir, f.Entry, f.Doc = d, e, e.Doc.Load()
	return true
}

// A service may confirm an upload without returning an id, and list the document later, or list
// several that may be it. Until then the file is late (tree.Dir.Late): it stays in its folder, is read
// from the spool, and cannot be changed, because it is archived.

// stayUnlisted keeps the confirmed file in its folder, if one shows it, as a late one.
func (f *File) stayUnlisted() {
	d, _ := f.Place()
	if d == nil {
		return
	}
	d.Distrust()
	d.Mu.Lock()
	defer d.Mu.Unlock()
	f.Mu.Lock()
	defer f.Mu.Unlock()
	if f.Dir == d && !slices.Contains(d.Late, &f.Leaf) {
		d.Late = append(d.Late, &f.Leaf)
	}
}

// ArchivedUnlisted reports whether the file was confirmed and its document is not known yet.
func (f *File) ArchivedUnlisted() bool {
	up := f.Pending()
	return up != nil && up.State() == spool.Confirmed
}

// mostIdentified is how many late files of a folder are identified by their document data before a
// listing is shown. The others are downloaded when they are read.
const mostIdentified = 64

// Identify finds out which documents of a listing are late files, and moves their bytes into the content cache.
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
		r := up.Record()
		if ids := p.mayBeLocked(d, &r, docs); len(ids) > 0 {
			found[up] = ids
		}
	}
	d.Mu.Unlock()
	var asks errgroup.Group
	asks.SetLimit(background.AtOnce)
	for up, ids := range found {
		asks.Go(func() error {
			if id := spool.Identify(ctx, up, p.s.Service.Archive, ids); id != 0 {
				p.s.cacheBytes(up, id)
				p.s.Queue.Add(up)
			}
			return nil
		})
	}
	_ = asks.Wait() // none returns an error
}

// ShowListedLocked drops the late files for which a listing has candidates, of which Area.settle finds the one. It returns their names.
// +checklocks:d.Mu
func (p *placing) ShowListedLocked(d *tree.Dir, list []*archive.Document) (stale []string) {
	late := d.Late
	d.Late = nil
	for _, l := range late {
		f := l.Holder.(*File)
		f.Mu.Lock()
		if up := f.Up; up != nil && f.Dir == d && up.State() == spool.Confirmed { // else its id has become known, or it has failed
			r := up.Record()
			if len(p.mayBeLocked(d, &r, list)) == 0 {
				d.Late = append(d.Late, l)
			} else {
				stale = append(stale, f.Entry.Name)
				d.Shown.Drop(f.Entry)
				f.Dir = nil // open handles can still read
				p.s.Queue.Add(up)
			}
		}
		f.Mu.Unlock()
	}
	return stale
}

// mayBeLocked returns the ids of documents that are not shown yet and may be the upload.
// +checklocks:d.Mu
func (p *placing) mayBeLocked(d *tree.Dir, r *spool.Record, list []*archive.Document) (ids []archive.ID) {
	for _, doc := range list {
		if d.Shown.Document(doc.ID) == nil && r.MayBe(doc) {
			ids = append(ids, doc.ID)
		}
	}
	return ids
}

// RefillLocked gives an inbox document that was emptied a while ago its content back.
//
// Archives have no empty documents. If an inbox document is emptied and closed, the service keeps the old content, and
// the file reads empty here for a while (tree.Lag), because the program usually writes again (: > FILE; echo >> FILE).
// The next listing after that shows the document as a fresh mount does.
// +checklocks:d.Mu
func (p *placing) RefillLocked(d *tree.Dir, e *tree.Entry) {
	f := FileAt(e)
	if f == nil {
		return
	}
	f.Mu.Lock()
	defer f.Mu.Unlock()
	up := f.Up
	if up == nil || f.Handles > 0 {
		return
	}
	if r := up.Record(); !nothingIn(&r) || p.s.Service.Now().Before(r.Changed.Add(p.s.Lag())) {
		return
	}
	f.Up = nil
	p.s.Service.Work.Go(func() {
		p.s.Service.Log.WithField("path", archive.Printable(f.Where())).Warn("it was emptied and not written again: it shows the content at the service again")
		p.s.Discard(up)
	})
}
