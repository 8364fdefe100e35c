package history

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"math/rand/v2"
	"time"

	"github.com/archivefs/archivefs/internal/lab/faultlab/disk"
	"github.com/archivefs/archivefs/internal/lab/faultlab/proxy"
	"github.com/archivefs/archivefs/internal/spool"
)

// Directories of the archive of every run.
const (
	Mandator = "Muster GmbH"
	Folder   = Mandator + "/Eingang"
	Inbox    = "inboxes/Administrator"
)

// History is what happens in one run.
type History struct {
	Seed, Run uint64
	Writes    Writes
	Service   Shape
	Waiting   []Waiting // in the inbox from the beginning
	Sessions  []Session
}

// Writes is the value of --writes.
type Writes string

// The values of --writes.
const (
	Sync  Writes = "sync"
	Async Writes = "async"
)

// Modes returns both.
func Modes() []Writes { return []Writes{Sync, Async} }

// Waiting is an inbox document.
type Waiting struct {
	Index int // of its content
	Name  string
	Size  int
}

// Session is what happens from a mount to its end.
type Session struct {
	Point Strike // at a point of the spool
	Net   []proxy.Fault
	Disk  []disk.Fault
	Steps []Step
	End   End
	// Grace is the value of --grace.
	Grace time.Duration
	// Moment is how long after the begin of the last step the program is killed; 0: after
	// the step. It counts for Kill and Crash.
	Moment time.Duration
}

// Step is what happens at the same time.
type Step []Action

// End is how a session ends, also when the program is killed at a point: then Clean is as
// Kill.
type End string

// The ends.
const (
	Clean End = "clean" // SIGTERM
	Kill  End = "kill"  // SIGKILL
	Crash End = "crash" // of the machine: all programs are killed, and the disk forgets
)

// Strike is what happens at the nth passing of a point, from 1. Without a Deed nothing does.
type Strike struct {
	Point spool.Point
	Nth   int
	Deed  Deed
}

// Deed is what happens at a point.
type Deed string

// The deeds.
const (
	KillThere Deed = "kill"
	FailEIO   Deed = "EIO"
	FailFull  Deed = "ENOSPC"
)

// Digest identifies a history: equal digests, equal histories.
func (h *History) Digest() string {
	b, err := json.Marshal(h)
	if err != nil {
		panic(err) // it holds nothing that could not be encoded
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:8])
}

// Content is the content with an index: no two of a run are equal, and it begins with the
// index. size is in bytes, at least 1, and at least 2 from
// index 256 on.
func (h *History) Content(index, size int) []byte {
	rng := rand.New(rand.NewPCG(h.Seed^h.Run<<20, uint64(index))) //nolint:gosec // not a secret
	content := make([]byte, size)
	for i := range content {
		content[i] = byte('a' + rng.IntN(26)) //nolint:gosec // a letter
	}
	content[0] = byte(index) //nolint:gosec // its last bits
	if index > 255 {
		content[1] = byte(index >> 8) //nolint:gosec // its first ones, which are no letter
	}
	return content
}
