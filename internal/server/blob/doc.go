// Package blob keeps contents by their SHA-256: Files in a directory, Bucket in one with the S3
// interface.
//
// A content arrives in two steps. Stage writes it to a temporary file, hashing on the
// way, so that its digest is known and its bytes can be looked at before anything is
// decided. Publish then makes it durable under its digest, alone or with others. For Files it is
// synced, renamed and its directory synced; for a Bucket it is sent, and compared with its digest
// there. A crash leaves either nothing, a temporary file (swept by the next OpenFiles), parts of a
// large object (dropped by Walk), or a whole content. Contents never change, so equal ones are kept
// once and may be read without a lock.
//
// What a Bucket cannot do because its service does not answer is an archive.Error of KindUnreachable.
package blob
