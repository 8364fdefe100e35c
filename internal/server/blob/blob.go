// Package blob stores contents by their SHA-256: Files in a directory, Bucket in one with the S3
// interface.
//
// A content is added in two steps. Stage takes it into memory, or a larger one into a temporary file,
// and hashes it, so that its digest is known and its bytes can be inspected before it is stored. Publish
// then makes it durable under its digest, alone or with others. Files syncs and renames it, and syncs the
// directory; Bucket sends it, and S3 compares it with its digest. A crash leaves nothing, a temporary file
// (swept by the next OpenFiles, or by Walk), parts of a large object (removed by Walk), or a complete
// content.
// Contents never change, so equal ones are stored once and may be read without a lock.
//
// If the service of a Bucket does not answer, the error is an archive.Error of KindUnreachable.
package blob

import (
	"encoding/hex"
	"errors"
	"io"
	"net"
	"sync/atomic"
	"time"

	"github.com/archivefs/archivefs/internal/pace"
)

// digits is the length of a SHA-256 in hexadecimal.
const digits = 64

// ErrMissing says that there is no content with that digest.
var ErrMissing = errors.New("no such content")

// ErrDamaged says that a content does not have its digest.
var ErrDamaged = errors.New("its bytes do not match its digest")

// Part is the part of a content that will be read: a range of bytes, as in HTTP (RFC 9110, section
// 14.1.2: "bytes=0-99", "bytes=100-", "bytes=-100"), or one of the constants below. Reading other
// parts is possible, but costs more requests.
type Part string

// All of a content, or only its length.
const (
	Whole   Part = ""
	Nothing Part = "nothing"
)

// Staged is a received content. It may be published, even repeatedly, until it is discarded.
type Staged interface {
	// ReaderAt reads the received bytes; it may be used until Discard.
	io.ReaderAt
	// Digest is the SHA-256 of the bytes, 64 lower-case hexadecimal digits.
	Digest() string
	// Size is the number of bytes.
	Size() int64
	// Discard removes the received bytes. A published content stays.
	Discard() error
}

// valid ensures that only a digest becomes part of a path.
func valid(digest string) bool {
	if len(digest) != digits {
		return false
	}
	_, err := hex.DecodeString(digest)
	return err == nil
}

// moving is a connection that fails when it is too slow (see pace.Watch). Reads and writes use up its time,
// and a new request restores it.
type moving struct {
	net.Conn
	watch    pace.Watch
	answered atomic.Bool // a read followed the last write
}

func newMoving(conn net.Conn, within time.Duration) *moving {
	return &moving{Conn: conn, watch: pace.Watch{
		Limit: within, Expire: func() { _ = conn.SetDeadline(time.Unix(1, 0)) }, // fails for a closed connection
	}}
}

// Read implements net.Conn.
func (m *moving) Read(p []byte) (int, error) {
	m.watch.Begin()
	n, err := m.Conn.Read(p)
	m.watch.End(int64(n), pace.Least)
	if n > 0 {
		m.answered.Store(true)
	}
	return n, err
}

// Write implements net.Conn.
func (m *moving) Write(p []byte) (int, error) {
	if m.answered.Swap(false) {
		m.watch.Renew()
	}
	m.watch.Begin()
	n, err := m.Conn.Write(p)
	m.watch.End(int64(n), pace.Least)
	return n, err
}
