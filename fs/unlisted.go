package fs

import (
	"context"
	"slices"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/spool"
)

// A service may confirm a document, not tell its id, and list it a while later, or list
// several that may be it. Until then the file stays in its folder, with its bytes from the
// spool. It cannot be changed: it is archived.

// stayUnlisted keeps the confirmed file where it is shown. It is false when that is nowhere.
func (f *file) stayUnlisted() bool {
	d, _ := f.place()
	if d == nil {
		return false
	}
	d.distrust()
	d.mu.Lock()
	defer d.mu.Unlock()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.dir != d {
		return false
	}
	f.dirty, f.accepted = false, false
	f.entry.keep = d.fs.keepFor()
	d.late = append(d.late, f)
	return true
}

// showListedLocked makes room for the documents of a listing that may be files which stayed
// unlisted, and gives up those that no listing has shown for long. It returns their names.
// The caller holds mu.
func (d *dir) showListedLocked(list []*archive.Document) (stale []string) {
	d.late = slices.DeleteFunc(d.late, func(f *file) bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		up := f.up
		r := up.Record()
		found := slices.DeleteFunc(slices.Clone(list), func(doc *archive.Document) bool {
			return d.here().docs.get(doc.ID) != nil || !r.MayBe(doc)
		})
		if len(found) == 0 && instantOf(d.fs.now()) < f.entry.keep {
			return false
		}
		stale = append(stale, f.entry.name)
		d.dropLocked(f.entry)
		f.dir, f.removed = nil, true // who has it open reads on
		var id archive.ID
		switch len(found) {
		case 0:
			d.fs.log.Warnf("%s/%s was archived; the service does not list it", archive.Printable(r.Path), archive.Printable(r.Name))
		case 1: // its time, not its bytes, which must be certain
			id = found[0].ID
			d.fs.keepTime(&r, id)
		}
		d.fs.goBackground(func() { d.fs.conclude(context.Background(), up, id) })
		return true
	})
	return stale
}

// archivedUnlisted reports whether the archive has the file under an id that is not known.
func (f *file) archivedUnlisted() bool {
	up := f.pending()
	return up != nil && up.State() == spool.Confirmed
}
