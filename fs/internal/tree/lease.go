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

// Runs reports whether the kernel may hold unexpired names of the directory.
func (l *lease) Runs() bool { return l.until.Load() > int64(time.Since(clock)) }

// ExtendTo notes that names, with their timeouts, move to another directory.
func (l *lease) ExtendTo(to *lease) {
	if l.Runs() {
		to.Extend(time.Duration(l.until.Load()) - time.Since(clock))
	}
}
