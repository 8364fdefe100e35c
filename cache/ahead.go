package cache

import (
	"slices"
	"time"
)

// Ahead is a prefetch: one request that answers for many keys. It does not store the answer of a
// key that was invalidated after the prefetch began: the answer may be older than the change.
type Ahead[K comparable, V any] struct {
	l *Listings[K, V]
	// changed are the keys invalidated since it began. Guarded by mu of l.
	changed map[K]bool
	// changes are the calls of Update since it began. Guarded by mu of l.
	changes map[K][]func(V) V
	// void says that all keys were invalidated. Guarded by mu of l.
	void bool
}

// Ahead begins a prefetch, which ends with End. Its answers are kept outside of the LRU until Get
// asks for them, or the ttl is over.
func (l *Listings[K, V]) Ahead() *Ahead[K, V] {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := &Ahead[K, V]{l: l, changed: map[K]bool{}, changes: map[K][]func(V) V{}}
	l.aheads[a] = true
	l.sweepLocked()
	return a
}

// Offer stores the answer of one key, unless a fresh one is known. Callers that wait for a fetch of the key take it.
func (a *Ahead[K, V]) Offer(key K, value V) {
	a.offer(key, a.l.packing.held(Entry[V]{Value: value, Fetched: a.l.now()}))
}

// OfferPacked is Offer of a packed answer.
func (a *Ahead[K, V]) OfferPacked(key K, packed string) {
	a.offer(key, Entry[V]{Packed: a.l.packing.spill.Hold(packed), Fetched: a.l.now()})
}

func (a *Ahead[K, V]) offer(key K, entry Entry[V]) {
	l := a.l
	l.mu.Lock()
	defer l.mu.Unlock()
	if a.void || a.changed[key] || l.freshLocked(key) {
		return
	}
	entry.changes = slices.Clip(a.changes[key])
	l.offers[key] = entry
	if f := l.flights[key]; f != nil {
		select {
		case <-f.offered:
		default:
			close(f.offered)
		}
	}
}

// Put stores the answer of one key, and returns it. It replaces a fresh one. It returns false if the key
// was invalidated meanwhile.
func (a *Ahead[K, V]) Put(key K, value V) (entry Entry[V], ok bool) {
	l := a.l
	entry = Entry[V]{Value: value, Packed: l.packing.hold(value), Fetched: l.now()}
	l.mu.Lock()
	if ok = !a.void && !a.changed[key]; ok {
		l.supersedeLocked(key)
		entry.changes = slices.Clip(a.changes[key])
		entry = l.storeLocked(key, entry)
	}
	l.mu.Unlock()
	if ok {
		entry, ok = l.open(key, entry, true)
	}
	return entry, ok
}

// End ends the prefetch.
func (a *Ahead[K, V]) End() {
	l := a.l
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.aheads, a)
	if len(l.offers) > 0 {
		time.AfterFunc(l.ttl+time.Second, l.sweep)
	}
}

// Fresh reports whether Get would answer key without a fetch.
func (l *Listings[K, V]) Fresh(key K) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	o, ok := l.offers[key]
	return ok && l.now().Sub(o.Fetched) < l.ttl || l.freshLocked(key)
}

// +checklocks:l.mu
func (l *Listings[K, V]) freshLocked(key K) bool {
	it, ok := l.items.Peek(key)
	return ok && it.trusted(l.now(), l.ttl)
}

// takeLocked moves the offer of key to the LRU and returns it packed; false: there is none within the ttl.
// +checklocks:l.mu
func (l *Listings[K, V]) takeLocked(key K) (Entry[V], bool) {
	o, ok := l.offers[key]
	if !ok {
		return Entry[V]{}, false
	}
	l.removeOfferLocked(key)
	if l.now().Sub(o.Fetched) >= l.ttl {
		return Entry[V]{}, false
	}
	delete(l.flights, key) // its answer is not needed
	return l.storeLocked(key, o), true
}

// removeOfferLocked removes an offer. With the last one it replaces the map, which would keep its memory.
// +checklocks:l.mu
func (l *Listings[K, V]) removeOfferLocked(key K) {
	if _, ok := l.offers[key]; !ok {
		return
	}
	delete(l.offers, key)
	if len(l.offers) == 0 {
		l.offers = make(map[K]Entry[V])
	}
}

// sweep removes offers older than the ttl.
func (l *Listings[K, V]) sweep() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sweepLocked()
}

// +checklocks:l.mu
func (l *Listings[K, V]) sweepLocked() {
	now := l.now()
	for key, o := range l.offers {
		if now.Sub(o.Fetched) >= l.ttl {
			l.removeOfferLocked(key)
		}
	}
}
