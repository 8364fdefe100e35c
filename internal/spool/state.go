package spool

import (
	"errors"
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
	name          string          // follows "cannot"
	before, after Point           // around the write of the record
	to            map[State]State // the state that follows each in which the event is allowed
	when          func(*Record) bool
	busy          bool // allowed during a delivery
}

// The table of transitions, from what callers ask for to what a delivery and a start find out.
// Upload.transitLocked takes the new state from here. when is what else must hold, nil for nothing.
var (
	onUpdate = event{
		"change", PointUpdate, PointUpdated,
		map[State]State{Created: Created, Committed: Committed, Sending: Sending, Confirmed: Confirmed, Failed: Failed},
		nil, true,
	}
	onCommit   = event{"commit", PointCommit, PointCommitted, map[State]State{Created: Committed}, nil, false}
	onRecommit = event{
		"commit again", PointCommit, PointCommitted,
		map[State]State{Created: Committed},
		func(r *Record) bool { return r.Closed && r.Queued }, false,
	}
	onKeep   = event{"keep", PointKeep, PointKept, map[State]State{Created: Created}, nil, false}
	onReopen = event{
		"reopen", PointReopen, PointReopened,
		map[State]State{Created: Created, Committed: Created, Failed: Created},
		func(r *Record) bool { return !r.Directory }, false,
	}
	onRecall = event{
		"recall", PointReopen, PointReopened,
		map[State]State{Committed: Created},
		func(r *Record) bool { return r.Queued && !r.Directory }, false,
	}
	onFail = event{
		"fail", PointFail, PointFailed, map[State]State{Created: Failed, Committed: Failed, Sending: Failed, Failed: Failed}, nil, false,
	}
	onRetry = event{
		"retry", PointRetry, PointRetried,
		map[State]State{Committed: Committed, Sending: Sending, Failed: Committed},
		func(r *Record) bool { return r.State == Failed || r.Queued }, false,
	}
	onSend = event{"deliver", PointSend, PointSending, map[State]State{Committed: Sending, Sending: Sending}, nil, false}
	// onLook is for what is looked for and not sent; it changes no record.
	onLook = event{
		"look for", "", "", map[State]State{Committed: Committed, Sending: Sending, Failed: Failed},
		func(r *Record) bool { return r.State != Failed || r.Doubtful }, false,
	}
	// onConfirm also is for what a look finds, and again for an id that is found later.
	onConfirm = event{
		"confirm", PointAnswered, PointConfirmed,
		map[State]State{Committed: Confirmed, Sending: Confirmed, Confirmed: Confirmed, Failed: Confirmed}, nil, true,
	}
	onGiveUp = event{"give up", PointFail, PointFailed, map[State]State{Committed: Failed, Sending: Failed}, nil, true}
	// onWaitUnsent is for what waits in the queue and is not in the archive, onWaitInDoubt for
	// what may be.
	onWaitUnsent  = event{"put back", PointFail, PointFailed, map[State]State{Committed: Committed, Sending: Committed}, nil, true}
	onWaitInDoubt = event{"put back", PointFail, PointFailed, map[State]State{Committed: Sending, Sending: Sending}, nil, true}
	// onInterrupt is for what an end of the program or the machine cut off.
	onInterrupt = event{
		"recover", PointRecover, PointRecovered, map[State]State{Created: Failed, Committed: Failed, Sending: Failed}, nil, false,
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

// ErrStopped says that rsync kept what it had of a file when it was stopped.
var ErrStopped = errors.New("rsync was stopped before it had all of it")

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
