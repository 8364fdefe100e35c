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
// directory). One process has a spool at a time; the lock is on <dir> itself (flock(2)).
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
// which documents of that name were in the folder before (the baseline): durably, unless the
// upload is volatile. After an end in doubt Deliver lists the folder: a document that is not in
// the baseline, has the name, and whose data (specification, endpoint 8) show the external id
// is the one. An external id of the user's own need not be unique, so there the content must be
// equal too. Only when several looks over some time show nothing new of the name is the upload
// repeated, with the same key. What cannot be decided is failed, with the reason, and never
// sent again without a look.
//
// A service that accepts a document without telling its id is asked for it in the same way,
// when the record says already that the archive has it.
//
// So it is certain on a service that shows external ids in document data, provided that a
// request whose connection broke takes effect within the time of the looks (half of
// RetryFor, at most 30 s), and one that was not answered in time, or that the end of the
// program cut off, within LateBy; until then the next replacement of the same document waits.
// On a service that shows none, an end in doubt is either seen not to have arrived or becomes
// failed, never a second document.
//
// # Locks
//
// The order is: Upload.mu (one transition at a time, held while its record is written),
// content.mu (the bytes), content.files (the descriptor), budget.mu. Spool.mu, disk.mu,
// receipts.mu and those of trash and ids come after Upload.mu, and nothing is locked under them.
// The archive, and what Update and CommitAs are given, are called without any of them;
// Options.MakeRoom is called under Upload.mu and content.mu, Options.Fault under Upload.mu.
package spool
