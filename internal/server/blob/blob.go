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
