// Package blob keeps contents as files named by their SHA-256.
//
// A content arrives in two steps. Stage writes it to a temporary file, hashing on the
// way, so that its digest is known and its bytes can be looked at before anything is
// decided. Publish then makes it durable under its digest, alone or with others: the file
// is synced, renamed and its directory synced. A crash leaves either nothing, a temporary file (swept by
// the next OpenFiles) or a whole content. Contents never change, so equal ones are kept
// once and may be read without a lock.
package blob
