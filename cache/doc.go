// Package cache keeps what the archive service has told, so that it is asked once.
//
// Listings holds answers in memory: folder children, document lists, inboxes. It is an
// LRU with a bound in entries and a ttl, serves any number of concurrent callers of a key
// with one fetch, and lets the callers' own changes invalidate or patch exactly one
// answer. With a Store, as Known is, the answers are there again for a service that is
// away, also in the next process.
//
// Content holds document bytes on disk with a bound in bytes. A reader follows a download
// while it runs and gets exactly the service's bytes or an error; nothing is kept that is
// not complete, and what is kept survives a restart.
//
// Facts holds sizes, learned once and kept for ever.
//
// Known holds what was listed last, within a bound in bytes. It is never trusted while the
// service answers.
//
// All of them may be used by any number of goroutines. They never call a fetch while they
// hold a lock, and they pass its errors on wrapped, never reclassified.
package cache
