package staging

import (
	"sync"
	"time"

	"github.com/archivefs/archivefs/internal/spool"
)

// doubts are files that failed and have left their folders, and those whose close an earlier mount never answered. Those
// that failed without an answer may be in the archive: they are looked for by themselves, after a minute, two, four and
// so on, for a day.
type doubts struct {
	look    func(*spool.Upload) // Queue.Add
	discard func(*spool.Upload) // Area.Discard
	mu      sync.Mutex
	looks   map[*spool.Upload]look // +checklocks:mu
}

// look is the next look for an upload, and how long after the one before; zero for none.
type look struct {
	at    time.Time
	after time.Duration
}

const firstLook, longestLook = time.Minute, 12 * time.Hour

// plan takes in an upload that failed, in the place of an earlier one of the same file, and plans a look for it.
func (d *doubts) plan(up *spool.Upload, now time.Time) {
	for _, earlier := range d.continued(up) {
		if continues(up, earlier) {
			d.discard(earlier)
		}
	}
	if d.planned(up, now) {
		d.look(up)
	}
}

// planned plans the next look. What was cut off is in the queue anyway, and waits for none.
func (d *doubts) planned(up *spool.Upload, now time.Time) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	r := up.Record()
	if !r.State.IsFailed() && !unanswered(&r) {
		delete(d.looks, up)
		return false
	}
	next := look{after: max(firstLook, 2*d.looks[up].after)}
	if next.at = now.Add(next.after); !r.Doubtful || next.after > longestLook {
		next = look{}
	}
	d.looks[up] = next
	return next != look{}
}

func (d *doubts) has(up *spool.Upload) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, in := d.looks[up]
	return in
}

// unanswered reports whether what is in doubts was cut off.
func unanswered(r *spool.Record) bool {
	return r.State == spool.Committed || r.State == spool.Sending
}

// next is when an upload is looked for; false: it is not, or its user has decided.
func (d *doubts) next(up *spool.Upload) (at time.Time, planned bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	at = d.looks[up].at
	return at, !at.IsZero() && up.State().IsFailed()
}

// forget forgets an upload that is no more.
func (d *doubts) forget(up *spool.Upload) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.looks, up)
}

// continued are uploads that failed before, or were cut off, with the same bytes and attributes for the same name and folder:
// the file was copied again, and up may take their place.
func (d *doubts) continued(up *spool.Upload) (all []*spool.Upload) {
	d.mu.Lock()
	defer d.mu.Unlock()
	r := up.Record()
	for earlier := range d.looks {
		was := earlier.Record()
		if earlier != up && (was.State == spool.Lost || unanswered(&was)) && !was.Incomplete() && was.UID == r.UID && was.Replace == r.Replace &&
			was.Folder == r.Folder && was.DocumentName == r.DocumentName && was.Name == r.Name && was.SHA256 == r.SHA256 && was.EqualAttributes(&r.Attributes) {
			all = append(all, earlier)
		}
	}
	return all
}

// continues reports whether up takes the place of an earlier upload, as the next attempt if the archive may have it.
func continues(up, earlier *spool.Upload) bool {
	r, was := up.Record(), earlier.Record()
	return was.State.IsFailed() && (!was.Doubtful || was.SentID == r.SentID || !r.Doubtful && spool.Continue(up, earlier) == nil)
}
