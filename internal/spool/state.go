package spool

import (
	"fmt"
	"syscall"
)

// State is how far an upload got.
type State string

// The states of an upload; the package comment draws the transitions.
const (
	// Created: it is being written, or is a local file (Record.Closed). Only here its bytes change.
	Created State = "created"
	// Committed: complete; nothing was sent.
	Committed State = "committed"
	// Sending: being sent, or cut off while it was: the archive may have it.
	Sending State = "sending"
	// Confirmed: the archive has it. The record can be removed.
	Confirmed State = "confirmed"
	// Failed: it stays here until somebody decides what becomes of it.
	Failed State = "failed"
)

func (s State) known() bool {
	_, ok := onUpdate.to[s]
	return ok
}

// event is a row of the table of transitions.
type event struct {
	name string // follows "cannot"
	// to has the state that follows each state in which the event is allowed.
	to map[State]State
	// when is what else must hold; nil for nothing.
	when func(*Record) bool
	// busy allows it while the upload is delivered.
	busy bool
	// before and after are the fault points around the write of the record.
	before, after Point
}

// The table of transitions, from what callers ask for to what a delivery and a start find out.
// Upload.transit is the only one that changes a state, and takes the new one from here.
var (
	onUpdate = event{
		name: "change", before: PointUpdate, after: PointUpdated, busy: true,
		to: map[State]State{Created: Created, Committed: Committed, Sending: Sending, Confirmed: Confirmed, Failed: Failed},
	}
	onCommit = event{
		name: "commit", before: PointCommit, after: PointCommitted,
		to: map[State]State{Created: Committed},
	}
	onRecommit = event{
		name: "commit again", before: PointCommit, after: PointCommitted,
		to:   map[State]State{Created: Committed},
		when: func(r *Record) bool { return r.Closed && r.Queued },
	}
	onKeep = event{
		name: "keep", before: PointKeep, after: PointKept,
		to: map[State]State{Created: Created},
	}
	onReopen = event{
		name: "reopen", before: PointReopen, after: PointReopened,
		to:   map[State]State{Created: Created, Committed: Created, Failed: Created},
		when: func(r *Record) bool { return !r.Directory },
	}
	onRecall = event{
		name: "recall", before: PointReopen, after: PointReopened,
		to:   map[State]State{Committed: Created},
		when: func(r *Record) bool { return r.Queued && !r.Directory },
	}
	onFail = event{
		name: "fail", before: PointFail, after: PointFailed,
		to: map[State]State{Created: Failed, Committed: Failed, Sending: Failed, Failed: Failed},
	}
	onRetry = event{
		name: "retry", before: PointRetry, after: PointRetried,
		to:   map[State]State{Committed: Committed, Sending: Sending, Failed: Committed},
		when: func(r *Record) bool { return r.State == Failed || r.Queued },
	}
	onSend = event{
		name: "deliver", before: PointSend, after: PointSending,
		to: map[State]State{Committed: Sending, Sending: Sending},
	}
	onConfirm = event{ // also of what a look finds, and again when its id is found later
		name: "confirm", before: PointAnswered, after: PointConfirmed,
		to: map[State]State{Committed: Confirmed, Sending: Confirmed, Confirmed: Confirmed},
	}
	onGiveUp = event{
		name: "give up", before: PointFail, after: PointFailed,
		to: map[State]State{Committed: Failed, Sending: Failed},
	}
	onWaitUnsent = event{ // in the queue; the archive does not have it
		name: "put back", before: PointFail, after: PointFailed,
		to: map[State]State{Committed: Committed, Sending: Committed},
	}
	onWaitInDoubt = event{ // in the queue; the archive may have it
		name: "put back", before: PointFail, after: PointFailed,
		to: map[State]State{Committed: Sending, Sending: Sending},
	}
	onInterrupt = event{ // by the end of the program or the machine
		name: "recover", before: PointRecover, after: PointRecovered,
		to: map[State]State{Created: Failed, Committed: Failed, Sending: Failed},
	}
)

// StateError says that an upload is in no state for an operation. It is EBUSY.
type StateError struct {
	Op    string
	ID    string
	State State
	// Detail says more, if there is more to say.
	Detail string
}

func refusal(op string, r *Record) *StateError { return &StateError{Op: op, ID: r.ID, State: r.State} }

// Error implements error.
func (e *StateError) Error() string {
	s := fmt.Sprintf("cannot %s upload %s: it is %s", e.Op, e.ID, e.State)
	if e.Detail != "" {
		s += ", " + e.Detail
	}
	return s
}

// Unwrap returns EBUSY.
func (e *StateError) Unwrap() error { return syscall.EBUSY }

// notSent is why something does not go to the archive. It is EPERM.
type notSent string

// What is not sent.
const (
	// ErrEmpty: an archive holds no empty document.
	ErrEmpty notSent = "it is empty, and no empty document is archived"
	// ErrIncomplete: what failed is no whole file, as far as anybody knows.
	ErrIncomplete notSent = "it is not known to be a whole file, and is sent only as it is"
)

// Error implements error.
func (e notSent) Error() string { return string(e) }

// Unwrap returns EPERM.
func (e notSent) Unwrap() error { return syscall.EPERM }
