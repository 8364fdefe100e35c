// Package keep keeps contents of the archive on this machine: those of documents, and of all
// documents in and below folders, that a person marked.
//
// It lists what is marked, fetches what is missing or has changed, a few at a time and after the
// requests of programs, and lists it again at intervals. The content cache does not evict what is
// kept, and the listings that lead to it stay, so it can be read while the service is away, also
// after a restart. Marks belong to ids, not to paths, and are in the state of the mount.
//
// Nothing runs while nothing is marked. It knows nothing of FUSE.
package keep

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/cache"
	"github.com/archivefs/archivefs/fs/internal/content"
	"github.com/archivefs/archivefs/fs/internal/errno"
	"github.com/archivefs/archivefs/fs/internal/tree"
	"github.com/archivefs/archivefs/internal/state"
	"github.com/archivefs/archivefs/xattr"
)

// DefaultInterval is how often what is kept is listed again. Rounds that take long are further apart.
const DefaultInterval = 5 * time.Minute

// Config configures a Keeper.
type Config struct {
	Contents *content.Contents
	State    *state.Store
	// Known keeps listings beyond the end of the mount; nil keeps none.
	Known *cache.Known
	// Interval is how often what is kept is listed again; 0 for DefaultInterval.
	Interval time.Duration
}

// Keeper keeps contents. It is safe for concurrent use.
type Keeper struct {
	Config
	ctx  context.Context // of the mount
	back chan struct{}   // has a token after the service answered

	// waiting counts who waits for the service.
	waiting atomic.Int32
	// own counts downloads of the keeper in flight.
	own atomic.Int64

	// fickle is set once an ETag of the service has changed although the content had not: then ETags save no download.
	fickle atomic.Bool
	// prints have what the listing said of documents that can change. aways counts rounds in a row that
	// lacked a listing because the service is away. Only rounds use them.
	prints map[archive.ID]archive.Fingerprint
	aways  int

	mu sync.Mutex
	// instead has the representation that documents are kept in, if they lack the usual one.
	instead map[archive.ID]archive.Representation // +checklocks:mu
	// validated are contents that had an ETag, as they were before the last round.
	validated map[cache.Key]cache.Held    // +checklocks:mu
	marks     map[state.KeptID]state.Kept // +checklocks:mu
	// running: the goroutine exists. stopRound ends its round, nil while it has none. changed: marks
	// were changed since its last round began.
	running   bool               // +checklocks:mu
	changed   bool               // +checklocks:mu
	stopRound context.CancelFunc // +checklocks:mu
	wake      chan struct{}      // has a token after marks were changed
	// status is without what total and found say: what the last round found, and what was fetched since.
	status Status  // +checklocks:mu
	total  *Count  // +checklocks:mu
	found  []*Mark // +checklocks:mu
}

// New makes a Keeper with the marks of the state. Start begins the work, which ends with ctx.
func New(ctx context.Context, c Config) *Keeper {
	if c.Interval <= 0 {
		c.Interval = DefaultInterval
	}
	k := &Keeper{
		Config: c, ctx: ctx, back: make(chan struct{}, 1), wake: make(chan struct{}, 1),
		instead: map[archive.ID]archive.Representation{}, prints: map[archive.ID]archive.Fingerprint{}, validated: map[cache.Key]cache.Held{},
		marks: c.State.Kept(), changed: true,
	}
	if len(k.marks) > 0 && k.Known != nil {
		k.Known.Pin(nil) // all, until it is known which
	}
	return k
}

// Start begins to fetch what is marked.
func (k *Keeper) Start() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.marks) > 0 {
		k.startLocked()
	}
}

// +checklocks:k.mu
func (k *Keeper) startLocked() {
	if k.running {
		return
	}
	k.running = true
	k.Contents.Service.Work.Go(k.run)
}

// Answered notes that the service answered a request.
func (k *Keeper) Answered() {
	if k.waiting.Load() > 0 {
		token(k.back)
	}
}

// token puts a token into a channel that has room for one.
func token(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// OfFolder returns the value of the attribute keep of a directory.
func (k *Keeper) OfFolder(d *tree.Dir) string {
	k.mu.Lock()
	marks := len(k.marks)
	k.mu.Unlock()
	switch {
	case marks == 0:
		return ""
	case k.has(folder(d)):
		return xattr.KeepOn
	case k.above(d.Above()) != nil:
		return xattr.KeepAbove
	}
	return ""
}

// OfDocument returns the value of the attribute keep of a document in d, which may be nil.
func (k *Keeper) OfDocument(doc archive.ID, d *tree.Dir) string {
	switch {
	case k.has(state.KeptID{Document: true, ID: doc}):
		return xattr.KeepOn
	case k.above(d) != nil:
		return xattr.KeepAbove
	}
	return ""
}

// folder is the mark of a directory. One that the service does not know has none.
func folder(d *tree.Dir) state.KeptID {
	if d.IsLocal() || !d.Kind().HoldsDocuments() {
		return state.KeptID{}
	}
	return state.KeptID{ID: d.ID()}
}

func (k *Keeper) has(of state.KeptID) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	_, has := k.marks[of]
	return has
}

// above returns the marked directory among d and those above it, nil for none.
func (k *Keeper) above(d *tree.Dir) *tree.Dir {
	for ; d != nil; d = d.Above() {
		if k.has(folder(d)) {
			return d
		}
	}
	return nil
}

// SetFolder marks a directory, or removes its mark.
func (k *Keeper) SetFolder(d *tree.Dir, on bool) error {
	switch of := folder(d); {
	case d.QueuedAs() != nil:
		return errno.Refuse(syscall.EBUSY, "the folder is queued, and cannot be kept until it has an id")
	case d.IsLocal():
		return errno.Refuse(syscall.EPERM, "the directory is on this machine alone")
	case !on && !k.has(of) && k.above(d) != nil:
		return k.keptAbove(d)
	default:
		return k.set(of, lineOf(d), on)
	}
}

// SetDocument marks a document of d, or removes its mark.
func (k *Keeper) SetDocument(doc archive.ID, d *tree.Dir, on bool) error {
	of := state.KeptID{Document: true, ID: doc}
	if !on && !k.has(of) && k.above(d) != nil {
		return k.keptAbove(d)
	}
	return k.set(of, lineOf(d), on)
}

// Archived moves the mark of an inbox document that was archived in d, and may have another id since.
func (k *Keeper) Archived(before, after archive.ID, d *tree.Dir) {
	if before == after || !k.has(state.KeptID{Document: true, ID: before}) {
		return
	}
	err := k.set(state.KeptID{Document: true, ID: after}, lineOf(d), true)
	if err == nil {
		err = k.set(state.KeptID{Document: true, ID: before}, state.Kept{}, false)
	}
	if err != nil {
		k.Contents.Service.Log.Warnf("document %s is kept no longer: %v", after, err)
	}
}

// keptAbove refuses to free what is kept with a directory above.
func (k *Keeper) keptAbove(d *tree.Dir) error {
	return errno.Refuse(syscall.EPERM, "it is kept with /"+archive.Printable(k.above(d).Path())+"; free that")
}

// set stores a change of a mark and begins a round.
func (k *Keeper) set(of state.KeptID, kept state.Kept, on bool) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	var stored *state.Kept
	if _, has := k.marks[of]; has == on {
		return nil
	}
	if on {
		stored = &kept
	}
	if err := k.State.SetKept(of, stored); err != nil {
		return err
	}
	if on {
		k.marks[of] = kept
	} else {
		delete(k.marks, of)
	}
	k.changed = true
	token(k.wake)
	if k.stopRound != nil {
		k.stopRound()
	}
	k.startLocked()
	return nil
}

// lineOf returns where a directory is.
func lineOf(d *tree.Dir) (kept state.Kept) {
	for ; d != nil && d.Kind().HoldsDocuments(); d = d.Above() {
		kept.Line = append(kept.Line, d.ID())
		if d.Kind() == tree.MandatorDir {
			_, kept.Mandator = d.Place()
		}
	}
	slices.Reverse(kept.Line)
	return kept
}

// marked returns the marks: folders first, those above others before them, in the order of their ids.
func (k *Keeper) marked() ([]state.KeptID, map[state.KeptID]state.Kept) {
	k.mu.Lock()
	defer k.mu.Unlock()
	marks := maps.Clone(k.marks)
	ids := slices.SortedFunc(maps.Keys(marks), func(a, b state.KeptID) int {
		switch {
		case a.Document != b.Document && b.Document:
			return -1
		case a.Document != b.Document:
			return 1
		}
		return cmp.Or(len(marks[a].Line)-len(marks[b].Line), cmp.Compare(a.ID, b.ID))
	})
	return ids, marks
}

// The states of a Keeper.
const (
	Listing    = "listing"    // what is marked is being listed
	Fetching   = "fetching"   // contents are being fetched
	Waiting    = "waiting"    // the service does not answer, or is busy; Why says so
	Disk       = "disk"       // the disk is full; Why says so
	Complete   = "complete"   // every content is here
	Incomplete = "incomplete" // some contents could not be fetched; Why has the last reason
)

// Status describes what is kept. Bytes are those of the contents.
type Status struct {
	State string `json:"state"`
	// Why is the reason for Waiting, Disk or Incomplete, and what happens next.
	Why string `json:"why,omitempty"`
	// Marked are how many folders and documents a person marked.
	Marked int `json:"marked"`
	// Marks are those that the service shows, as far as they were found.
	Marks []Mark `json:"marks,omitempty"`
	Count        // of all
	// Gone are marked folders and documents that the service does not show any more.
	Gone int `json:"gone,omitempty"`
	// Listed is when all that is marked was listed last.
	Listed time.Time `json:"listed,omitzero"`
}

// Mark is a folder or document that a person marked.
type Mark struct {
	ID       archive.ID `json:"id"`
	Document bool       `json:"document,omitempty"`
	Path     string     `json:"path"`
	Count               // in and below it, even if that is marked, too
}

// Count counts documents and their bytes.
type Count struct {
	// Documents are how many documents are to be here, Bytes what is here of them.
	Documents int   `json:"documents"`
	Bytes     int64 `json:"bytes"`
	// Missing are how many of them are not here, or have changed at the service since; MissingBytes
	// their bytes, as far as the service tells lengths.
	Missing      int   `json:"missing"`
	MissingBytes int64 `json:"missing-bytes,omitempty"`
}

// add counts an item that a round found.
func (c *Count) add(it *item) {
	c.Documents++
	c.Bytes += it.had
	if it.missing {
		c.Missing++
		c.MissingBytes += max(it.size, 0)
	}
}

// fetched counts an item that was fetched, and is of this size.
func (c *Count) fetched(it *item, size int64) {
	c.Bytes += size - it.had
	if it.missing {
		c.Missing--
		c.MissingBytes -= max(it.size, 0)
	}
}

// Status returns the current status, nil if nothing is kept.
func (k *Keeper) Status() *Status {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.marks) == 0 {
		return nil
	}
	s := k.status
	s.Marked = len(k.marks)
	if k.total != nil {
		s.Count = *k.total
	}
	for _, m := range k.found {
		s.Marks = append(s.Marks, *m)
	}
	if k.changed || s.State == "" {
		s.State, s.Why = Listing, ""
	}
	return &s
}

func (k *Keeper) in(state, why string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.status.State, k.status.Why = state, why
}
