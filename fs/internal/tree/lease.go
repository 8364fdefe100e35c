package tree

import (
	"sync/atomic"
	"time"
)

// lease records until when the kernel may use cached names of a directory.
type lease struct{ until atomic.Int64 } // nanoseconds since clock

// clock is the origin of leases. They follow the kernel's clock, not Options.Now.
var clock = time.Now()

// Extend notes that the kernel may cache a name for validity.
func (l *lease) Extend(validity time.Duration) {
	until := int64(time.Since(clock) + validity)
	for {
		before := l.until.Load()
		if before >= until || l.until.CompareAndSwap(before, until) {
			return
		}
	}
}

// Left returns for how much longer the kernel may hold what was leased, 0 if it does not.
func (l *lease) Left() time.Duration {
	return max(0, time.Duration(l.until.Load())-time.Since(clock))
}

// Runs reports whether the kernel may hold unexpired names of the directory.
func (l *lease) Runs() bool { return l.Left() > 0 }

// End notes that the kernel holds nothing any more, and reports whether it may have held something.
func (l *lease) End() bool { return l.until.Swap(0) > int64(time.Since(clock)) }

// ExtendTo notes that names, with their timeouts, move to another directory.
func (l *lease) ExtendTo(to *lease) {
	if left := l.Left(); left > 0 {
		to.Extend(left)
	}
}
