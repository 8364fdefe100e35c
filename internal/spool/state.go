package spool

import (
	"fmt"
	"syscall"
)

// State is how far an upload got.
type State string

// The states of an upload; the package comment has the transitions.
const (
	// Created: it is being written, or is a local file (Record.Closed).
	Created State = "created"
	// Committed: complete and safe on disk; nothing was sent.
	Committed State = "committed"
	// Sending: being sent, or cut off while it was: the archive may have it.
	Sending State = "sending"
	// Confirmed: the archive has it. The record can be removed.
	Confirmed State = "confirmed"
	// Failed: it stays here until somebody decides what becomes of it.
	Failed State = "failed"
)

func (s State) known() bool {
	switch s {
	case Created, Committed, Sending, Confirmed, Failed:
		return true
	}
	return false
}

// StateError says that an upload is in no state for an operation. It is EBUSY.
type StateError struct {
	Op    string
	ID    string
	State State
	// Detail says more, if there is more to say.
	Detail string
}

// Error implements error.
func (e *StateError) Error() string {
	s := fmt.Sprintf("spool: cannot %s upload %s: it is %s", e.Op, e.ID, e.State)
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
