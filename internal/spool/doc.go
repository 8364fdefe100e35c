// Package spool is the crash-safe queue between a file written here and a document of the
// archive: what was written is neither lost nor archived twice, whatever ends in between.
//
// # On disk
//
// An upload is entries of a journal (internal/journal) in the spool's directory, with its id as their key: its records,
// of which the last one says what it is and how far it got, and its bytes, as they were written. A large content is in a
// file of its own, data-ID, and an entry says so. Nothing that a user types becomes a name there. All is private to its
// owner (0700, 0600). One process has a spool at a time; the lock is on its directory (flock(2)).
//
// # States
//
// state.go has what follows from each state, and the table of transitions, as has docs/ARCHITECTURE.md ("The states of a
// written file"). Only Commit says that a file is whole: one that failed without it is incomplete, and retried only as
// it is. An empty one is never committed.
//
// # Exactly once
//
// docs/ARCHITECTURE.md ("Look before repeat", "What is certain, on which service") has the rules and their limits.
//
// # Locks
//
// The order is Upload.mu (one transition at a time, held while its record is written), content.mu (the bytes),
// content.files (the descriptor), then all others, under which nothing is locked. The archive, and what Update and
// CommitAs are given, are called without any of them, Options.Fault, Options.MakeRoom and Options.DiskFailed with.
package spool
