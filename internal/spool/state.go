package spool

import (
	"errors"
	"fmt"
	"syscall"
)

// State is where a file, or a folder, is on its way into the archive. What else is known of it in that place is in
// its facts.
type State string

// The states of an upload; the package comment draws the transitions.
const (
	// Created: nothing was written to it yet.
	Created State = "created"
	// Writing: it is being written, and no close has been answered.
	Writing State = "writing"
	// Promised: it is being written, and a close of another writer was answered with success.
	Promised State = "promised"
	// Local: it is closed and stays on this machine, because it is empty or has a temporary name.
	Local State = "local"
	// Recalled: taken back from the queue for a change that has not begun.
	Recalled State = "recalled"
	// Committed: complete; nothing was sent, and its close waits for that.
	Committed State = "committed"
	// Sending: being sent while its close waits, or cut off there: the archive may have it.
	Sending State = "sending"
	// Resting: complete, its close was answered, and it is sent when it has been left alone for Record.Rest.
	Resting State = "resting"
	// Queued: complete, its close was answered, and it is sent in the background.
	Queued State = "queued"
	// Delivering: being sent in the background, or cut off there: the archive may have it.
	Delivering State = "delivering"
	// Confirmed: the archive has it. The record can be removed.
	Confirmed State = "confirmed"
	// Failed: it stays in its folder until somebody decides what becomes of it.
	Failed State = "failed"
	// Lost: it failed before any close was answered with success, and has left its folder.
	Lost State = "lost"
	// Unusable: what is known of it cannot be trusted, so nothing is done with it. Its bytes can be had. No record says so.
	Unusable State = "unusable"
)

// facts are what follows from a state.
type facts struct {
	written  bool  // its bytes may change
	due      bool  // the next close has to archive it or keep it
	complete bool  // its bytes are all there, and the record has their checksum
	queued   bool  // the background archives it, in a later run, too
	sent     bool  // the archive may have it
	failed   bool  // somebody has to decide
	refused  State // what it is when it fails; none if it cannot
	after    State // what a restart makes of it
}

// factsOf has the facts of each state. What is refused as Failed stays in its folder, because a close was answered
// with success, and is durable for the same reason.
var factsOf = map[State]facts{
	Created:    {written: true, refused: Lost, after: Lost},
	Writing:    {written: true, due: true, refused: Lost, after: Lost},
	Promised:   {written: true, due: true, refused: Failed, after: Failed},
	Local:      {written: true, refused: Lost, after: Local},
	Recalled:   {written: true, queued: true, refused: Failed, after: Recalled},
	Committed:  {complete: true, refused: Lost, after: Committed},
	Sending:    {complete: true, sent: true, refused: Lost, after: Sending},
	Resting:    {complete: true, queued: true, refused: Failed, after: Resting},
	Queued:     {complete: true, queued: true, refused: Failed, after: Queued},
	Delivering: {complete: true, queued: true, sent: true, refused: Failed, after: Delivering},
	Confirmed:  {complete: true, after: Confirmed},
	Failed:     {failed: true, refused: Failed, after: Failed},
	Lost:       {failed: true, refused: Lost, after: Lost},
	Unusable:   {failed: true, after: Unusable},
}

// Written reports whether its bytes may change.
func (s State) Written() bool { return factsOf[s].written }

// Due reports whether the next close has to archive it or keep it.
func (s State) Due() bool { return factsOf[s].due }

// InQueue reports whether the background archives it, in a later run, too.
func (s State) InQueue() bool { return factsOf[s].queued }

// InFlight reports whether it is being sent, or was cut off there.
func (s State) InFlight() bool { return factsOf[s].sent }

// IsFailed reports whether somebody has to decide what becomes of it.
func (s State) IsFailed() bool { return factsOf[s].failed }

// IsUnsent reports whether it is complete, and nothing of it was sent since.
func (s State) IsUnsent() bool { return factsOf[s].complete && !factsOf[s].sent && s != Confirmed }

// of returns s for a record: what has a time of grace rests in the queue, and nothing else does.
func (s State) of(r *Record) State {
	switch {
	case s != Resting && s != Queued:
		return s
	case r.Rest > 0:
		return Resting
	}
	return Queued
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
// Upload.transitLocked takes the new state from here (State.of). when is what else must hold, nil for nothing.
var (
	onUpdate = event{"change", PointUpdate, PointUpdated, each(func(s State, f facts) State {
		if f.failed && f.refused == "" {
			return ""
		}
		return s
	}), nil, true}
	// onTouch comes before bytes change.
	onTouch = event{"write to", PointReopen, PointReopened, map[State]State{Created: Writing, Writing: Writing, Promised: Promised, Local: Writing, Recalled: Writing}, nil, false}
	// onAnswer is for a close that is answered with success while others still write.
	onAnswer = event{"sync", PointSync, PointSynced, map[State]State{Created: Created, Writing: Promised, Promised: Promised, Local: Local, Recalled: Recalled}, nil, false}
	onCommit = event{"commit", PointCommit, PointCommitted, map[State]State{Created: Committed, Writing: Committed, Promised: Queued, Local: Committed, Recalled: Queued}, nil, false}
	// onQueue is a commit whose close is answered at once.
	onQueue    = event{"commit", PointCommit, PointCommitted, map[State]State{Created: Queued, Writing: Queued, Promised: Queued, Local: Queued, Recalled: Queued}, nil, false}
	onRecommit = event{"commit again", PointCommit, PointCommitted, map[State]State{Recalled: Queued}, nil, false}
	onKeep     = event{"keep", PointKeep, PointKept, map[State]State{Created: Local, Writing: Local, Promised: Local, Local: Local, Recalled: Local}, nil, false}
	onReopen   = event{
		"reopen", PointReopen, PointReopened,
		map[State]State{
			Created: Created, Writing: Writing, Promised: Promised, Local: Created, Recalled: Created,
			Committed: Created, Resting: Created, Queued: Created, Failed: Created, Lost: Created,
		},
		notFolder, false,
	}
	onRecall = event{"recall", PointReopen, PointReopened, map[State]State{Resting: Recalled, Queued: Recalled}, notFolder, false}
	// onFail is for what fails outside a delivery; onFailShown for what stays in its folder all the same.
	onFail      = event{"fail", PointFail, PointFailed, each(func(_ State, f facts) State { return f.refused }), nil, false}
	onFailShown = event{
		"fail", PointFail, PointFailed, each(func(_ State, f facts) State {
			if f.refused == "" {
				return ""
			}
			return Failed
		}), nil, false,
	}
	onRetry = event{"retry", PointRetry, PointRetried, map[State]State{Resting: Resting, Queued: Queued, Delivering: Delivering, Failed: Queued, Lost: Queued}, nil, false}
	onSend  = event{"deliver", PointSend, PointSending, map[State]State{Committed: Sending, Sending: Sending, Resting: Delivering, Queued: Delivering, Delivering: Delivering}, nil, false}
	// onLook is for what is looked for and not sent; it changes no record.
	onLook = event{
		"look for", "", "",
		map[State]State{
			Committed: Committed, Sending: Sending, Resting: Resting, Queued: Queued, Delivering: Delivering, Failed: Failed, Lost: Lost,
		},
		func(r *Record) bool { return !r.State.IsFailed() || r.Doubtful }, false,
	}
	// onConfirm also is for what a look finds, and again for an id that is found later.
	onConfirm = event{
		"confirm", PointAnswered, PointConfirmed,
		map[State]State{
			Committed: Confirmed, Sending: Confirmed, Resting: Confirmed, Queued: Confirmed, Delivering: Confirmed,
			Confirmed: Confirmed, Failed: Confirmed, Lost: Confirmed,
		},
		nil, true,
	}
	// onUnlisted is for what the service said it took, without an id, and never listed.
	onUnlisted = event{
		"look for", PointFail, PointFailed, map[State]State{Confirmed: Failed}, func(r *Record) bool { return r.Document == 0 && !r.Directory }, false,
	}
	onGiveUp = event{
		"give up", PointFail, PointFailed, each(func(_ State, f facts) State {
			if f.complete {
				return f.refused
			}
			return ""
		}), nil, true,
	}
	// onWaitUnsent is for what waits and is not in the archive, onWaitInDoubt for what may be.
	onWaitUnsent  = event{"put back", PointFail, PointFailed, map[State]State{Committed: Committed, Sending: Committed, Resting: Queued, Queued: Queued, Delivering: Queued}, nil, true}
	onWaitInDoubt = event{"put back", PointFail, PointFailed, map[State]State{Committed: Sending, Sending: Sending, Resting: Delivering, Queued: Delivering, Delivering: Delivering}, nil, true}
	// onInterrupt is for what an end of the program or the machine cut off, and for bytes that were lost.
	onInterrupt = event{
		"recover", PointRecover, PointRecovered, each(func(s State, f facts) State {
			switch {
			case f.failed, s == Confirmed:
				return ""
			case f.after == s:
				return Lost
			}
			return f.after
		}), nil, false,
	}
)

// each returns the state that follows each other one, where there is one.
func each(next func(State, facts) State) map[State]State {
	all := map[State]State{}
	for s, f := range factsOf {
		if to := next(s, f); to != "" {
			all[s] = to
		}
	}
	return all
}

func notFolder(r *Record) bool { return !r.Directory }

// StateError says that an upload is in no state for an operation. It is EBUSY.
type StateError struct {
	Op    string
	ID    string
	State State
}

func refusal(op string, r *Record) *StateError { return &StateError{Op: op, ID: r.ID, State: r.State} }

// Error implements error.
func (e *StateError) Error() string {
	return fmt.Sprintf("cannot %s upload %s: it is %s", e.Op, e.ID, e.State)
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

func (e notSent) Error() string { return string(e) }

func (e notSent) Unwrap() error { return syscall.EPERM }
