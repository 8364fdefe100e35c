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
//	Create
//	   |
//	   v      write            Commit              Deliver
//	created -------> writing --------> committed ---------> sending ----+
//	            Sync |  |  \                                            |
//	                 v  |Keep \ Commit(queue)                           +--> confirmed
//	           promised |       +----> resting, queued --> delivering --+
//	                    v                 |   ^
//	                  local        Recall v   | Recommit
//	                                     recalled
//
// What fails is lost if a close returns the error, and failed if one was answered with success before; Retry queues
// both. Only Commit says that a file is whole: one that failed without it is incomplete, and retried only as it is. An
// empty one is never committed.
//
// state.go has what follows from each state, and the table of transitions; docs/ARCHITECTURE.md ("The states of a
// written file") has both, too.
//
// An upload is volatile until somebody is told that it is safe, or it might be kept: nothing of it is synced, and its
// record says so. In another run of the machine it is unusable and never sent, because what a crash left may be older
// than what was sent. From the record that makes it durable on every record is.
//
// An upload that was not closed when the program or the machine stopped is not complete: it comes back as failed or
// lost, and is never sent by itself. One that was recalled from the queue and not changed since is complete and still
// queued. One that was sending comes back so, and Deliver looks at the archive before it sends anything. Records that
// cannot be read, or are of a later version, come back as unusable and stay on disk as they are.
//
// # Exactly once
//
// Before the first byte is sent, the record says which external id is the idempotency key, and which documents of that
// name the folder had (the baseline). After an end in doubt Deliver looks in the folder, and repeats, with the same
// key, only what several looks over some time do not show. What cannot be decided is failed, with the reason, and never
// sent again without a look. docs/ARCHITECTURE.md ("Look before repeat", "What is certain, on which service") has the
// rules and their limits.
//
// # Locks
//
// The order is Upload.mu (one transition at a time, held while its record is written), content.mu (the bytes),
// content.files (the descriptor), then all others, under which nothing is locked. The archive, and what Update and
// CommitAs are given, are called without any of them, Options.Fault, Options.MakeRoom and Options.DiskFailed with.
package spool
