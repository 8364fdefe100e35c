package fs

import (
	"context"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/fs/internal/background"
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
	f.happenedLocked(onArrival)
	f.entry.keep = d.fs.keepFor()
	if !slices.Contains(d.late, f) {
		d.late = append(d.late, f)
	}
	return true
}

// mostIdentified is how many files of a folder are looked up in the data of documents before a
// listing is shown. The others are downloaded when they are read.
const mostIdentified = 64

// identify finds out which documents of a listing are files that stayed unlisted, and moves
// their bytes into the content cache.
func (d *dir) identify(ctx context.Context, list []archive.Document) {
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
			if ids := d.mayBeLocked(&r, docs); len(ids) > 0 {
				found[up] = ids
			}
		}
	}
	d.mu.Unlock()
	var asks errgroup.Group
	asks.SetLimit(background.AtOnce)
	for up, ids := range found {
		asks.Go(func() error {
			if id := d.fs.staging.spool.Identify(ctx, up, d.fs.service.Archive, ids); id != 0 {
				d.fs.staging.settle(up, id)
			}
			return nil
		})
	}
	_ = asks.Wait() // none returns an error
}

// mayBeLocked are those of the documents that are new here and may be what was sent. The caller
// holds mu.
func (d *dir) mayBeLocked(r *spool.Record, list []*archive.Document) (ids []archive.ID) {
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
func (d *dir) showListedLocked(list []*archive.Document) (stale []string) {
	d.late = slices.DeleteFunc(d.late, func(f *file) bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		up := f.up
		if up == nil {
			return true // its id became known after all
		}
		r := up.Record()
		found := d.mayBeLocked(&r, list)
		if len(found) == 0 && instantOf(d.fs.now()) < f.entry.keep {
			return false
		}
		stale = append(stale, f.entry.name)
		d.shown.drop(f.entry)
		f.dir = nil // who has it open reads on
		f.happenedLocked(onUnlink)
		d.fs.work.Go(func() { d.fs.staging.ended(up, &r, found) })
		return true
	})
	return stale
}

// ended ends an upload that is archived as one of these documents, or as none that is listed.
func (s *staging) ended(up *spool.Upload, r *spool.Record, as []archive.ID) {
	var id archive.ID
	switch len(as) {
	case 0:
		s.fs.log.Warnf("%s/%s was archived; the service does not list it", archive.Printable(r.Path), archive.Printable(r.Name))
	case 1: // its time, not its bytes, which must be certain
		id = as[0]
		s.keepTime(r, id)
	}
	s.conclude(context.Background(), up, id)
}

// archivedUnlisted reports whether the archive has the file under an id that is not known.
func (f *file) archivedUnlisted() bool {
	up := f.pending()
	return up != nil && up.State() == spool.Confirmed
}
