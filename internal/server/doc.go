// Package server is the embedded archive service: it implements the eight operations of
// the specification and most of the public interface beside them on a data directory of
// its own.
//
// It guarantees that nothing is served without the configured credentials; that an
// upload, an archiving and every other change is all or nothing across a crash (contents
// are durable before the one transaction that refers to them); and that one process
// alone uses a data directory. Documents are numbered apart from folders, and ids are
// never used twice. Dates on the wire carry no zone and are in the server's local time.
//
// Errors are answered as application/problem+json (RFC 9457) and name the field that is
// wrong. Contents lie in package blob, everything else in package store; this package
// declares the interfaces that it needs of both. Package generated implements them without
// a data directory.
//
// A Server opens and closes an archive and serves it. routes.go is the table of operations, and says
// what each group of them needs: listings.go, documents.go, archiving.go, uploads.go, contents.go and
// search.go have them. What stands before all of them is the front, in middleware.go: it makes each
// handler's request, with the archive as its sender sees it.
package server
