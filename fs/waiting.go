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
// folders again, what was being sent is looked for at the service, what had not been sent
// when its close was cut off is failed, and old temporary files are forgotten. It does not
// wait for the service.
func (f *FileSystem) Recover() {
	for _, up := range f.spool.List() {
		r := up.Record()
		switch {
		case r.State == spool.Created && r.Closed && f.old(&r), nothingIn(&r):
			f.discard(up)
		case r.State == spool.Confirmed:
			f.settle(up, r.Document)
			f.discard(up)
		case r.State == spool.Created && r.Closed, r.State == spool.Failed && r.Visible:
			f.waiting[r.Folder] = append(f.waiting[r.Folder], up)
		case r.State == spool.Sending, r.State == spool.Committed:
			f.goBackground(func() { f.resolve(up) })
		}
	}
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

// placeWaitingLocked shows the recovered files of a folder that is listed for the first
// time. The caller holds mu.
func (d *dir) placeWaitingLocked() {
	d.fs.mu.Lock()
	waiting := d.fs.waiting[d.id]
	delete(d.fs.waiting, d.id)
	d.fs.mu.Unlock()
	for _, up := range waiting {
		d.placeLocked(up)
	}
}

func (d *dir) placeLocked(up *spool.Upload) {
	r := up.Record()
	if e := d.docs[r.Replace]; r.Replace != 0 && e != nil && e.file.Load() == nil {
		e.file.Store(&file{fs: d.fs, ino: d.fs.inodes.of(inoDocument, r.Replace), dir: d, entry: e, doc: e.doc.Load(), up: up})
		return
	}
	if len(r.Local) > 0 {
		d.localPathLocked(r.Local, up)
		return
	}
	d.addLocked(d.looseLocked(up))
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
			e = &entry{name: name, dir: newDir(d.fs, localDir, d.id, d.fs.inodes.local(), d, name)}
			d.addLocked(e)
		}
		if e.dir == nil || e.dir.kind != localDir {
			d.addLocked(d.looseLocked(up))
			return
		}
		if i == len(path)-1 {
			e.dir.mu.Lock()
			e.dir.addLocked(e.dir.looseLocked(up))
			e.dir.mu.Unlock()
			return
		}
		d = e.dir
		d.mu.Lock()
		defer d.mu.Unlock()
	}
}

// looseLocked is an entry for a file of the spool under a free name.
func (d *dir) looseLocked(up *spool.Upload) *entry {
	e := &entry{name: d.freeLocked(up.Record().Name)}
	e.file.Store(&file{fs: d.fs, ino: d.fs.inodes.local(), dir: d, entry: e, up: up})
	return e
}
