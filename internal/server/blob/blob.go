package blob

import (
	"errors"
	"io"
)

// ErrMissing says that no content of that digest is kept.
var ErrMissing = errors.New("no such content")

// Staged is a content that has been received and is not yet kept.
type Staged interface {
	// ReaderAt reads the received bytes; it may be used until Files.Publish or Discard.
	io.ReaderAt
	// Digest is the SHA-256 of the bytes, 64 lower-case hexadecimal digits.
	Digest() string
	// Size is the number of bytes.
	Size() int64
	// Discard drops the content. After Files.Publish it does nothing.
	Discard() error
}
