package callers

import (
	"sync"
	"time"

	"github.com/archivefs/archivefs/internal/closing"
)

const (
	// pause is for how long a question and a listing are one with what the program does next.
	pause = 2 * time.Second
	// trust is for how long a walk, or the listing of a large folder, can be repeated.
	trust = 10 * time.Second
	// maxAskers bounds the threads that are remembered.
	maxAskers = 256
)

// Askers decides which programs get the exact length of a document although it has to be downloaded for
// that. Archivers ask for the length by path, open the document, read as much as they were told, and go
// on to the next; whoever lists a folder asks for one length after the other and opens nothing. So a
// program gets the first length that it asks for, and after that one for each document that it opens.
type Askers struct {
	now func() time.Time
	of  func(thread uint32) (process int, is Kind)

	mu       sync.Mutex
	byThread map[uint32]*asker // +checklocks:mu
}

// asker is a program that asks for lengths. Guarded by mu of Askers.
type asker struct {
	process int
	kind    Kind
	last    time.Time // when it asked, or a file manager listed, last
	opened  bool      // a document, since it was told a length
}

// NewAskers makes an Askers that knows of no program.
func NewAskers(now func() time.Time) *Askers {
	return &Askers{now: now, byThread: map[uint32]*asker{}, of: func(thread uint32) (int, Kind) {
		return closing.ThreadGroup(thread), Of(thread)
	}}
}

// Exact reports whether a thread that asks for a length that is not known gets the exact one.
func (a *Askers) Exact(thread uint32) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	p, now := a.askerLocked(thread), a.now()
	exact := p.opened || now.Sub(p.last) >= pause
	p.opened, p.last = false, now
	switch p.kind {
	case Gatherer:
		return true
	case Lister, Namer, Shell, Thumbnailer, Crawler:
		return false
	default:
		return exact
	}
}

// Trusts notes that a thread lists a folder, and returns for how long it may trust the estimates that it gets,
// so that they need no further answers: 0 unless it lists them to show them.
func (a *Askers) Trusts(thread uint32) time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	p := a.askerLocked(thread)
	switch p.kind {
	case Lister, Thumbnailer, Crawler:
		return trust
	case FileManager: // it may compress next what it shows
		p.last = a.now()
		return pause
	default:
		return 0
	}
}

// Opened notes that a thread opens a document.
func (a *Askers) Opened(thread uint32) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.askerLocked(thread).opened = true
}

// askerLocked returns what is known of the program of a thread.
// +checklocks:a.mu
func (a *Askers) askerLocked(thread uint32) *asker {
	if p := a.byThread[thread]; p != nil {
		return p
	}
	process, kind := a.of(thread)
	p := &asker{process: process, kind: kind}
	if kind == Shell {
		return p
	}
	now, full := a.now(), len(a.byThread) >= maxAskers
	for id, other := range a.byThread {
		switch {
		case other.process == process:
			p = other
		case full && now.Sub(other.last) >= pause:
			delete(a.byThread, id)
		}
	}
	if len(a.byThread) >= maxAskers {
		clear(a.byThread)
	}
	a.byThread[thread] = p
	return p
}
