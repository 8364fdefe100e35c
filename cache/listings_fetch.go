package cache

import (
	"context"
	"errors"

	"github.com/archivefs/archivefs/archive"
)

// flight is one fetch under way. When it is no longer in Listings.flights its answer goes
// to those who wait for it and is not stored.
type flight[V any] struct {
	// done is closed when entry and err are set.
	done   chan struct{}
	entry  Entry[V]
	err    error
	cancel context.CancelFunc
	// waiting counts the callers. Guarded by Listings.mu.
	waiting int
}

// startLocked starts the fetch of key.
// +checklocks:l.mu
func (l *Listings[K, V]) startLocked(ctx context.Context, key K, fetch func(context.Context) (V, error)) *flight[V] {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	f := &flight[V]{done: make(chan struct{}), cancel: cancel}
	l.flights[key] = f
	l.stats.Fetches++
	go func() {
		defer cancel()
		value, err := fetch(ctx)
		l.land(key, f, value, err)
	}()
	return f
}

// land stores the result of f, unless f was superseded, and hands it to those who wait.
func (l *Listings[K, V]) land(key K, f *flight[V], value V, err error) {
	l.recall(key, err)
	f.entry = Entry[V]{Value: value, Packed: l.packing.Pack(value), Fetched: l.now()}
	if l.settle(key, f, err) {
		l.keep(key, f.entry, err)
	}
	close(f.done)
}

// settle makes f.entry, which a fetch answered, or err the result of f, and reports whether it
// counts: f was not superseded.
func (l *Listings[K, V]) settle(key K, f *flight[V], err error) (current bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	current = l.flights[key] == f
	if current {
		delete(l.flights, key)
	}
	it, ok := l.items.Peek(key)
	if !ok {
		it = &item[V]{}
	}
	if err != nil {
		if current && refused(err) {
			it.known = false
		}
		f.entry, f.err = l.failLocked(it, f, err)
		if current && memorable(err) {
			it.err, it.until = err, l.now().Add(errorTTL)
			l.items.Add(key, it)
		}
		return current
	}
	l.serial++
	f.entry.Serial = l.serial
	if current {
		*it = item[V]{entry: l.packing.held(f.entry), known: true, fresh: true}
		l.items.Add(key, it)
	}
	return current
}

// failLocked returns what those who wait for f get when it fails with err.
// +checklocks:l.mu
func (l *Listings[K, V]) failLocked(it *item[V], f *flight[V], err error) (Entry[V], error) {
	if entry, ok := it.stale(err); ok {
		l.stats.Stale += uint64(f.waiting) //nolint:gosec // a count of callers
		return l.packing.whole(entry), nil
	}
	return Entry[V]{}, err
}

// stale returns the older answer that stands in when a fetch fails with err.
func (it *item[V]) stale(err error) (Entry[V], bool) {
	if !it.known || !archive.Away(err) {
		return Entry[V]{}, false
	}
	entry := it.entry
	entry.Stale = true
	return entry, true
}

// memorable reports whether err says something about the service. A context error speaks
// of the callers, unless it is the cause of a time-out that the client has classified.
func memorable(err error) bool {
	if archive.Away(err) {
		return true
	}
	return !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded)
}

// leave takes a caller whose context has ended out of f, and cancels f with the last one.
func (l *Listings[K, V]) leave(key K, f *flight[V]) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f.waiting--
	if f.waiting > 0 {
		return
	}
	f.cancel()
	if l.flights[key] == f {
		delete(l.flights, key)
	}
}
