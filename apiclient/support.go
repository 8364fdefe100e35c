package apiclient

import (
	"sync"
	"time"

	"github.com/archivefs/archivefs/archive"
)

// Support says whether the deployment has an operation.
type Support uint8

// What is known of an operation.
const (
	SupportUnknown Support = iota
	SupportYes
	SupportNo
)

// String names the state.
func (s Support) String() string {
	switch s {
	case SupportYes:
		return "yes"
	case SupportNo:
		return "no"
	}
	return "unknown"
}

// missingFor is how long an operation counts as missing before it is asked for again:
// a service may be updated under a long mount.
const missingFor = 10 * time.Minute

// seenFor is how long a document that was there is taken to be there still, by those who
// ask again only to tell a missing content from a missing document.
const seenFor = 5 * time.Second

// supportTable remembers which operations the deployment has. Its zero value knows
// nothing.
type supportTable struct {
	mu      sync.Mutex
	present map[Operation]bool // +checklocks:mu
	// missing says since when.
	missing map[Operation]time.Time // +checklocks:mu
	// lacking is the document that alone lacks it.
	lacking map[Operation]sighting // +checklocks:mu
	// seen is the document that was there last.
	seen sighting // +checklocks:mu
}

// sighting is what was found out about a document.
type sighting struct {
	document archive.ID
	at       time.Time
}

// recent reports whether the sighting is of doc and not older than the limit.
func (s sighting) recent(doc archive.ID, limit time.Duration) bool {
	return s.document == doc && time.Since(s.at) < limit
}

// learn notes what an answer told about op.
func (t *supportTable) learn(op Operation, s Support) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.present == nil {
		t.present, t.missing = make(map[Operation]bool), make(map[Operation]time.Time)
	}
	delete(t.present, op)
	delete(t.missing, op)
	delete(t.lacking, op)
	switch s {
	case SupportYes:
		t.present[op] = true
	case SupportNo:
		t.missing[op] = time.Now()
	}
}

// of returns what is known of op.
func (t *supportTable) of(op Operation) Support {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.present[op] {
		return SupportYes
	}
	if since, ok := t.missing[op]; ok && time.Since(since) < missingFor {
		return SupportNo
	}
	return SupportUnknown
}

// lacks reports whether there is no use in sending op for a document: the deployment, or
// the document, turned out to lack what it answers.
func (t *supportTable) lacks(op Operation, doc archive.ID) bool {
	if t.of(op) == SupportNo {
		return true
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.lacking[op].recent(doc, missingFor)
}

// suspect notes that doc lacks what op answers, and reports whether another document does
// as well. One alone may be broken.
func (t *supportTable) suspect(op Operation, doc archive.ID) (others bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if first, ok := t.lacking[op]; ok && first.document != doc && time.Since(first.at) < missingFor {
		return true
	}
	if t.lacking == nil {
		t.lacking = make(map[Operation]sighting)
	}
	t.lacking[op] = sighting{doc, time.Now()}
	return false
}

// saw notes that a document is there.
func (t *supportTable) saw(doc archive.ID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.seen = sighting{doc, time.Now()}
}

// sawLately reports whether a document was there a moment ago.
func (t *supportTable) sawLately(doc archive.ID) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.seen.recent(doc, seenFor)
}
