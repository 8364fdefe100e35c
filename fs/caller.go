package fs

import (
	"context"
	"runtime/debug"
	"sync"
	"syscall"
	"time"

	"github.com/archivefs/archivefs/internal/closing"
)

// lookEvery is how often a caller is looked at that was sent a signal while it waits.
const lookEvery = 150 * time.Millisecond

// A caller that is killed ends only when its request is answered. The kernel tells of the first
// signal alone (INTERRUPT), which may be one that the caller has a use for, as Go's scheduler sends
// them all the time: from then on the caller is looked at.

// leaves waits for done, and reports whether the caller of a request was killed before.
func leaves(ctx context.Context, done <-chan struct{}) bool {
	select {
	case <-done:
		return false
	case <-ctx.Done():
	}
	pid := callerPID(ctx)
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for {
		if closing.Doomed(pid) {
			return true
		}
		select {
		case <-done:
			return false
		case <-look.C:
		}
	}
}

// outlive carries a change out, whatever becomes of its caller, who is not kept when it was killed.
// Close waits for the change. late, where it is not nil, is called after a change that nobody
// waited for.
func (k *kernel) outlive(ctx context.Context, change func(context.Context) syscall.Errno, late func()) syscall.Errno {
	errno, done := syscall.EIO, make(chan struct{})
	k.fs.work.Go(func() {
		defer func() {
			if cause := recover(); cause != nil {
				k.fs.log.Errorf("panic: %v\n%s", cause, debug.Stack())
			}
			close(done)
		}()
		errno = change(detached(ctx))
	})
	if !leaves(ctx, done) {
		return errno
	}
	k.fs.log.Debug("a caller was killed; what it asked for goes on")
	if late != nil {
		k.fs.work.Go(func() {
			<-done
			late()
		})
	}
	return syscall.EINTR
}

// changeNames is outlive for a change of names. The kernel, to which it has failed when nobody
// waited for it, forgets those.
func (k *kernel) changeNames(ctx context.Context, d *dir, change func(context.Context) syscall.Errno, names ...placed) syscall.Errno {
	return k.outlive(ctx, change, func() {
		for _, p := range names {
			k.forgetNames(p.d, []string{p.name})
		}
	})
}

// placed is a name in a directory.
type placed struct {
	d    *dir
	name string
}

// whileAlive is the context of what is given up when the caller was killed, and not when it was
// merely interrupted. stop ends the looking.
func whileAlive(ctx context.Context) (alive context.Context, stop func()) {
	alive, cancel := context.WithCancel(detached(ctx))
	unwatch := context.AfterFunc(ctx, func() {
		if leaves(ctx, alive.Done()) {
			cancel()
		}
	})
	return alive, func() { unwatch(); cancel() }
}

// lockWhile locks mu unless ctx ends before.
func lockWhile(ctx context.Context, mu *sync.Mutex) error {
	if mu.TryLock() {
		return nil
	}
	locked := make(chan struct{})
	go func() {
		mu.Lock()
		select {
		case locked <- struct{}{}:
		case <-ctx.Done():
			mu.Unlock()
		}
	}()
	select {
	case <-locked:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
