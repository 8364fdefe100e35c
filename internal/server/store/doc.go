// Package store is the database of the archive service: folders, documents and
// settings of all tenants, in SQLite or PostgreSQL. An Archive is the view of one tenant.
//
// Every change is one transaction that is safe from a crash when its method returns. In SQLite
// (WAL, synchronous=FULL) one connection writes and a pool of others reads, so that readers
// never wait for a writer; one process has the file. Any number of processes may use the same
// PostgreSQL. What a caller can do about an error is told by archive.KindOf: a
// missing row is KindNotFound, a name that is taken KindConflict, a change that the
// state of a document or folder does not allow KindConflict or KindForbidden, and a
// database that is gone KindUnreachable.
package store
