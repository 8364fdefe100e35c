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

import (
	"encoding/hex"
	"errors"
	"io"
)

// digits is the length of a SHA-256 in hexadecimal.
const digits = 64

// ErrMissing says that no content of that digest is kept.
var ErrMissing = errors.New("no such content")

// ErrDamaged says that a content is not what its digest says.
var ErrDamaged = errors.New("it has other bytes than its digest says")

// Part is what is going to be read of a content: a range of its bytes, as HTTP writes it
// (RFC 9110, 14.1.2: "bytes=0-99", "bytes=100-", "bytes=-100"), or one of the words below. The rest can be
// read all the same; it costs more.
type Part string

// All of a content, and none of it but its length.
const (
	Whole   Part = ""
	Nothing Part = "nothing"
)

// Staged is a content that has been received. It may be published, again and again, until it
// is discarded.
type Staged interface {
	// ReaderAt reads the received bytes; it may be used until Discard.
	io.ReaderAt
	// Digest is the SHA-256 of the bytes, 64 lower-case hexadecimal digits.
	Digest() string
	// Size is the number of bytes.
	Size() int64
	// Discard drops what was received. A content that was published stays.
	Discard() error
}

// valid keeps anything but a digest from becoming part of a path.
func valid(digest string) bool {
	if len(digest) != digits {
		return false
	}
	_, err := hex.DecodeString(digest)
	return err == nil
}
