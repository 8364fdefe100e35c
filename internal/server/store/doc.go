// Package store is the database of the archive service: folders, documents and
// settings of all tenants in SQLite. An Archive is the view of one tenant.
//
// Every change is one transaction that is on disk (WAL, synchronous=FULL) when its
// method returns. One connection writes; a pool of others reads, so that readers never
// wait for a writer. What a caller can do about an error is told by archive.KindOf: a
// missing row is KindNotFound, a name that is taken KindConflict, a change that the
// state of a document or folder does not allow KindConflict or KindForbidden.
package store
