package fs

import (
	"context"
	"strconv"
	"time"

	"github.com/archivefs/archivefs/internal/spool"
)

// junkAge is how long files under temporary names stay after their last change: longer than
// anybody waits for a download that was broken off.
const junkAge = 7 * 24 * time.Hour

// Recover takes up what an earlier mount left in the spool: local files show in their
// folders again, what was accepted goes on to the archive, what was being sent is looked
// for at the service, what had not been sent when its close was cut off is failed, and old
// temporary files are forgotten. It does not wait for the service.
func (f *FileSystem) Recover() {
	for _, up := range f.spool.List() {
		r := up.Record()
		switch {
		case r.State == spool.Created && r.Closed && f.old(&r), nothingIn(&r):
			f.discard(up)
		case r.State == spool.Confirmed && r.Directory:
			f.folderMade(up, r.Document)
		case r.State == spool.Confirmed:
			f.settle(up, r.Document)
			f.discard(up)
		case r.State == spool.Created && r.Closed, r.State == spool.Failed && (r.Visible || r.Directory):
			f.await(up)
		case r.Queued:
			f.await(up)
			f.queue.add(up)
		case r.State == spool.Sending, r.State == spool.Committed:
			f.goBackground(func() { f.resolve(up) })
		}
	}
}

// await shows an upload when its folder is listed.
func (f *FileSystem) await(up *spool.Upload) {
	f.mu.Lock()
	defer f.mu.Unlock()
	r := up.Record()
	f.waiting[refOf(&r)] = append(f.waiting[refOf(&r)], up)
}

// resolve finds out about an upload that an earlier mount had begun: it is confirmed when
// the archive has it, else failed, because the close that began it cannot be told any
// more.
func (f *FileSystem) resolve(up *spool.Upload) {
	ctx := context.Background()
	id, err := f.spool.Resolve(ctx, up, f.archive)
	if err != nil {
		f.failed("archive", up.Record().Path+"/"+up.Record().Name, err)
		return
	}
	f.settle(up, id)
	f.documents.Invalidate(up.Record().Folder)
	f.discard(up)
}

// old reports whether a local file is one that programs leave behind, and is so old that
// nobody will ask for it.
func (f *FileSystem) old(r *spool.Record) bool {
	return (isJunk(r.Name) || len(r.Local) > 0) && f.now().Sub(r.Changed) > junkAge
}

// placeWaitingLocked shows what was recovered of a folder that is listed for the first
// time, or is queued itself. The caller holds mu.
func (d *dir) placeWaitingLocked() {
	ref := folderRef{id: d.id()}
	if up := d.queuedAs(); up != nil {
		ref = folderRef{within: up.ID()}
	}
	d.fs.mu.Lock()
	waiting := d.fs.waiting[ref]
	delete(d.fs.waiting, ref)
	d.fs.mu.Unlock()
	for _, up := range waiting {
		d.placeLocked(up)
	}
}

func (d *dir) placeLocked(up *spool.Upload) {
	r := up.Record()
	switch e := d.docs[r.Replace]; {
	case r.State == spool.Confirmed: // meanwhile; the listing shows it
	case r.Directory:
		d.placeFolderLocked(up)
	case r.Replace != 0 && e != nil && e.file.Load() == nil:
		if f := d.fs.holder(up); f.standFor(d, e) {
			e.file.Store(f)
		}
	case len(r.Local) > 0:
		d.localPathLocked(r.Local, up)
	default:
		d.looseLocked(up)
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

// standFor gives a file that no folder shows its place. It is false when the file needs
// none any more.
func (f *file) standFor(d *dir, e *entry) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.up == nil || f.removed {
		return false
	}
	f.dir, f.entry, f.doc = d, e, e.doc.Load()
	return true
}

// freeLocked is name, or name with a number when a document took it meanwhile.
func (d *dir) freeLocked(name string) string {
	stem, ext := splitExt(name)
	free := fit(stem, "", ext)
	for n := 2; d.takenLocked(free); n++ {
		free = fit(stem, " ("+strconv.Itoa(n)+")", ext)
	}
	return free
}

// localPathLocked makes the local directories of path and puts the file there. The
// caller holds mu of d, which is above all of them.
func (d *dir) localPathLocked(path []string, up *spool.Upload) {
	for i, name := range path {
		e := d.names[name]
		if e == nil {
			e = &entry{name: name, dir: newDir(d.fs, localDir, 0, d.fs.inodes.local(), d, name)}
			d.addLocked(e)
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

// looseLocked shows a file of the spool under a free name. The caller holds mu.
func (d *dir) looseLocked(up *spool.Upload) {
	f := d.fs.holder(up)
	e := newEntry(d.freeLocked(up.Record().Name), nil, f)
	if f.standFor(d, e) {
		d.addLocked(e)
	}
}
