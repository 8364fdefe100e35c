package staging

import (
	"slices"
	"sync"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/spool"
)

// repeats are the uploads that settle, or are written for it, by the name that they were given. A
// device whose connection broke does not know what arrived, and writes all of it again: under the same
// name, so the earlier one stays beside the later one.
type repeats struct {
	mu sync.Mutex
	// places are where the uploads were written.
	places map[*spool.Upload]place // +checklocks:mu
	// at are the uploads of each place.
	at map[place][]*spool.Upload // +checklocks:mu
}

// place is a name in an inbox.
type place struct {
	folder archive.ID
	name   string
}

// note takes in an upload.
func (r *repeats) note(up *spool.Upload) {
	rec := up.Record()
	p := place{rec.Folder, rec.Name}
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, known := r.places[up]; known {
		return
	}
	if r.places == nil {
		r.places, r.at = map[*spool.Upload]place{}, map[place][]*spool.Upload{}
	}
	r.places[up] = p
	r.at[p] = append(r.at[p], up)
}

// forget forgets an upload that is no more; one that the archive has only when there is none before it.
func (r *repeats) forget(up *spool.Upload) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p, known := r.places[up]
	if !known {
		return
	}
	all := r.at[p]
	for i := 0; i < len(all); {
		if done := all[i].State() == spool.Confirmed; done && i == 0 || !done && all[i] == up {
			delete(r.places, all[i])
			all = slices.Delete(all, i, i+1)
			continue
		}
		i++
	}
	if r.at[p] = all; len(all) == 0 {
		delete(r.at, p)
	}
}

// since returns what was written under the name of up after it.
func (r *repeats) since(up *spool.Upload) (later []*spool.Upload) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p, known := r.places[up]
	if !known || len(r.at[p]) < 2 {
		return nil
	}
	created := up.Record().Created
	for _, u := range r.at[p] {
		if u != up && u.Record().Created.After(created) {
			later = append(later, u)
		}
	}
	return later
}

// coming reports whether its name is written again at this moment.
func (r *repeats) coming(up *spool.Upload) bool {
	return slices.ContainsFunc(r.since(up), func(u *spool.Upload) bool { return u.State() == spool.Created })
}

// covers reports whether the same bytes were written again, and wait for the archive, too, maybe under
// another name by now. One that somebody has given another name is a file of its own.
func (r *repeats) covers(up *spool.Upload) bool {
	a := up.Record()
	r.mu.Lock()
	same := r.places[up] == place{a.Folder, a.Name}
	r.mu.Unlock()
	if !same || a.State != spool.Committed || a.Doubtful {
		return false
	}
	return slices.ContainsFunc(r.since(up), func(u *spool.Upload) bool {
		b := u.Record()
		waits := b.State == spool.Committed || b.State == spool.Sending || b.State == spool.Confirmed
		return waits && a.Size == b.Size && a.SHA256 == b.SHA256
	})
}
