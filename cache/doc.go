// Package cache keeps answers of the archive service, so that each is requested once.
//
// Listings holds answers in memory: folder children, document lists, inboxes. It is an
// LRU with a bound in entries and a ttl, serves any number of concurrent callers of a key
// with one fetch, and lets the callers' own changes invalidate or patch exactly one
// answer. With a Store, such as Known, it has answers while the service is away, even after a
// restart.
//
// Content holds document bytes on disk with a bound in bytes. A reader follows a running
// download and gets exactly the service's bytes or an error. Only complete contents are kept;
// they survive a restart.
//
// Facts holds the lengths of contents, learned once and kept for ever.
//
// Known holds the last listings on disk, with a bound in bytes. They are never trusted while
// the service answers.
//
// Any number of goroutines may use them. They hold no lock while they call a fetch, and wrap
// its errors without reclassifying them.
package cache
