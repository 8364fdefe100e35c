package tree

import (
	"sync/atomic"
	"time"
)

// lease is until when the kernel may use names of a directory without asking.
type lease struct{ until atomic.Int64 } // nanoseconds since clock

// clock is the kernel's, which goes on whatever Options.Now says.
var clock = time.Now()

// Extend notes that the kernel may keep a name for so long.
func (l *lease) Extend(validity time.Duration) {
	until := int64(time.Since(clock) + validity)
	for {
		before := l.until.Load()
		if before >= until || l.until.CompareAndSwap(before, until) {
			return
		}
	}
}

// Runs reports whether the kernel may have names of the directory that it does not ask for.
func (l *lease) Runs() bool { return l.until.Load() > int64(time.Since(clock)) }

// ExtendTo notes that names of one directory, with their time-outs, become such of another.
func (l *lease) ExtendTo(to *lease) {
	if l.Runs() {
		to.Extend(time.Duration(l.until.Load()) - time.Since(clock))
	}
}
