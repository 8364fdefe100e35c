package staging

import (
	"sync"
	"time"

	"github.com/archivefs/archivefs/internal/spool"
)

// doubts are files that failed and have left their folders. Those that failed without an answer may be in the
// archive: they are looked for by themselves, after a minute, two, four and so on, for a day.
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
	if earlier := d.continued(up); earlier != nil {
		d.discard(earlier)
	}
	if d.planned(up, now) {
		d.look(up)
	}
}

func (d *doubts) planned(up *spool.Upload, now time.Time) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	r := up.Record()
	if r.State != spool.Failed || r.Visible || r.Directory {
		delete(d.looks, up)
		return false
	}
	next := look{after: max(firstLook, 2*d.looks[up].after)}
	if next.at = now.Add(next.after); !r.Doubtful || next.after > longestLook {
		next = look{}
	}
	if d.looks == nil {
		d.looks = map[*spool.Upload]look{}
	}
	d.looks[up] = next
	return next != look{}
}

// next is when an upload is looked for; false: it is not, or its user has decided.
func (d *doubts) next(up *spool.Upload) (at time.Time, planned bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	at = d.looks[up].at
	return at, !at.IsZero() && up.State() == spool.Failed
}

// forget forgets an upload that is no more.
func (d *doubts) forget(up *spool.Upload) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.looks, up)
}

// continued returns an upload that failed before, with the same bytes and attributes for the same name and folder: the file was
// copied again, and up takes its place, as the next attempt if the archive may have it. It is nil if there is none.
func (d *doubts) continued(up *spool.Upload) *spool.Upload {
	d.mu.Lock()
	defer d.mu.Unlock()
	r := up.Record()
	for earlier := range d.looks {
		was := earlier.Record()
		same := earlier != up && was.State == spool.Failed && !was.Incomplete() && was.UID == r.UID && was.Replace == r.Replace &&
			was.Folder == r.Folder && was.DocumentName == r.DocumentName && was.Name == r.Name && was.SHA256 == r.SHA256 && was.EqualAttributes(&r.Attributes)
		if same && (!was.Doubtful || was.SentID == r.SentID || spool.Continue(up, earlier) == nil) {
			return earlier
		}
	}
	return nil
}
