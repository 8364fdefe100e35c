package fs

import (
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/archivefs/archivefs/archive"
)

// What the kernel is told of its own accord, and what never.
//
// The notifications of a name (NotifyEntry, NotifyDelete) wait in the kernel for the lock of the
// directory. A create, mkdir, unlink, rmdir or rename holds it for as long as we take to answer, and
// who waits for it can be ended by nobody: a process in which one waits for what the other is to
// answer never ends. So no name is ever notified; the linter refuses it.
//
// Names expire with the listing that they are from: no time-out goes beyond the listing's. When one
// changes earlier, and the kernel was told names of the directory with a time-out that still runs, a new
// epoch begins (FUSE_NOTIFY_INC_EPOCH, Linux 6.16): the kernel looks up every name again when it is
// used next. That takes no lock. Older kernels are told nothing.
//
// Attributes are notified (attrsOnly), which takes no lock either. A notification of pages waits for
// those that are being read, from us: it is sent only for a file that nobody has open (dropPages).

// epochPause is the shortest time between two epochs.
const epochPause = 200 * time.Millisecond

// epochs begins new epochs, no more often than every epochPause. The zero value begins none.
type epochs struct {
	mu    sync.Mutex
	send  func() // nil where the kernel has none, or is gone; guarded by mu
	last  time.Time
	timer *time.Timer // of the one that waits, nil for none; guarded by mu
}

// start lets epochs begin.
func (e *epochs) start(send func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.send = send
}

// stop lets no more begin.
func (e *epochs) stop() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.send = nil
	if e.timer != nil {
		e.timer.Stop()
		e.timer = nil
	}
}

// begin begins an epoch, or has one begin soon. It returns at once.
func (e *epochs) begin() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.send == nil || e.timer != nil {
		return
	}
	if wait := epochPause - time.Since(e.last); wait > 0 {
		e.timer = time.AfterFunc(wait, e.late)
		return
	}
	e.last = time.Now()
	e.send()
}

// late begins the epoch that waited.
func (e *epochs) late() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.timer == nil {
		return // stopped
	}
	e.timer, e.last = nil, time.Now()
	e.send()
}

// forgetNames makes the kernel look up the names again, which changed, where it may know them. It
// returns at once, and may be called with any lock held.
func (k *kernel) forgetNames(d *dir, names []string) {
	if len(names) == 0 || d.node.Load() == nil {
		return
	}
	if d.lease.runs() {
		k.fs.epochs.begin()
	}
	k.fs.work.Go(func() { d.fs.kernel.forgetAttributes(d) })
}

// forgetAttributes makes the kernel ask for the attributes of the directory again.
func (k *kernel) forgetAttributes(d *dir) {
	node := d.node.Load()
	if node == nil {
		return
	}
	if errno := node.NotifyContent(attrsOnly, 0); errno != 0 && errno != syscall.ENOENT && errno != syscall.ENOSYS {
		k.fs.log.Debugf("notify %s: %v", archive.Printable(d.path()), errno)
	}
}

// clock is the kernel's, which goes on whatever Options.Now says.
var clock = time.Now()

// lease is until when the kernel may use names of a directory without asking.
type lease struct{ until atomic.Int64 } // nanoseconds since clock

// extend notes that the kernel may keep a name for so long.
func (l *lease) extend(validity time.Duration) {
	until := int64(time.Since(clock) + validity)
	for {
		before := l.until.Load()
		if before >= until || l.until.CompareAndSwap(before, until) {
			return
		}
	}
}

// runs reports whether the kernel may have names of the directory that it does not ask for.
func (l *lease) runs() bool { return l.until.Load() > int64(time.Since(clock)) }

// extendTo notes that names of one directory, with their time-outs, become such of another.
func (l *lease) extendTo(to *lease) {
	if l.runs() {
		to.extend(time.Duration(l.until.Load()) - time.Since(clock))
	}
}
