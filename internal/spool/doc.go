// Package spool is the crash-safe queue between a file written here and a document of the
// archive: what was written is neither lost nor archived twice, whatever ends in between.
//
// # On disk
//
// Every upload is a directory of its own, <dir>/<id>/, private to its owner (0700, 0600):
//
//	record.json   what it is and how far it got: a line for each Record, version 1
//	data          the bytes
//
// Nothing that a user types becomes a name there. A directory appears complete (built as
// .new-<id>, then renamed) and disappears at once (renamed to .trash-<id>, removed later).
// The last whole record of record.json counts; what a crash left behind it is written over.
// A file of records that has grown long is replaced (temporary file, fsync, rename, fsync of the
// directory). <dir>.redo holds a redo log: what becomes durable is in place and appended to it, unless
// it is large (redo.go). One process has a spool at a time; the lock is on <dir> itself (flock(2)).
//
// # States
//
//	         Create
//	            |
//	            v   Commit            Deliver
//	+------> created -----> committed -----> sending -----> confirmed
//	| Reopen    |               |               |
//	+-----------|---------------+               |
//	|           v  Fail         v  Fail         v  Deliver, Fail
//	+-------- failed <--------------------------+
//	            |  Retry
//	            +---------> committed
//	            |  Resolve
//	            +---------> confirmed
//
// Only Commit says that a file is whole. One that failed without it is incomplete, and taken by
// RetryAsItIs alone; an empty one is never committed.
//
// The table of transitions is in state.go: each event, the states in which it is allowed, and
// the state that follows.
//
// An upload is volatile until somebody is told that it is safe, or it might be kept: nothing of
// it is synced, and its record names the run of the machine (Record.Boot). In another run it is
// failed and never sent, because what a crash left may be older than what was sent. When it
// becomes durable, data is synced before the record that speaks of it, and from then on every
// record.
//
// An upload that was created and not closed when the program or the machine stopped is not
// complete: it comes back as failed and is never sent by itself. One that was recalled from the
// queue (Recall) and not changed since is complete and still queued. One that was sending comes
// back as sending, and Deliver looks at the archive before it sends anything. Records that
// cannot be read, or are of a later version, come back as failed and stay on disk as they are.
//
// # Exactly once
//
// Before the first byte is sent, the record says which external id is the idempotency key, and
// which documents of that name the folder had (the baseline). After an end in doubt Deliver
// looks in the folder, and repeats, with the same key, only what several looks over some time do
// not show. What cannot be decided is failed, with the reason, and never sent again without a
// look. An upload that is queued says its key with its commit (Record.Announced), and is sent without
// another sync; in another run of the machine it counts as sent.
// docs/ARCHITECTURE.md ("Announced uploads", "Look before repeat", "What is certain, on which service") has the
// rules and their limits.
//
// # Locks
//
// The order is Upload.mu (one transition at a time, held while its record is written), content.mu
// (the bytes), content.files (the descriptor), then all others, under which nothing is locked;
// but trash.sweeping comes before trash.mu. The redo log is checkpointed without Upload.mu, whose holder may
// wait for it. The archive, and what Update and CommitAs are given,
// are called without any of them, Options.Fault, Options.MakeRoom and Options.DiskFailed with.
package spool
