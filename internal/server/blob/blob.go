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
