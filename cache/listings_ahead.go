package cache

import "time"

// Ahead takes in the answers of one fetch that serves many keys. What is invalidated after
// it began is not taken in: the fetch may have been answered before the change.
type Ahead[K comparable, V any] struct {
	l *Listings[K, V]
	// changed are the keys invalidated since it began. Guarded by mu of l.
	changed map[K]bool
	// void says that all were. Guarded by mu of l.
	void bool
}

// Ahead begins such a fetch; End ends it. Offers are beside the LRU until Get asks for
// them, or the ttl is over.
func (l *Listings[K, V]) Ahead() *Ahead[K, V] {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := &Ahead[K, V]{l: l, changed: map[K]bool{}}
	l.aheads[a] = true
	l.sweepLocked()
	return a
}

// Offer takes in the answer of one key. What is known and fresh is left as it is.
func (a *Ahead[K, V]) Offer(key K, value V) {
	a.offer(key, a.l.packing.held(Entry[V]{Value: value, Fetched: a.l.now()}))
}

// OfferPacked is Offer of an answer in the form that the packing of the listings gives it.
func (a *Ahead[K, V]) OfferPacked(key K, packed string) {
	a.offer(key, Entry[V]{Packed: packed, Fetched: a.l.now()})
}

func (a *Ahead[K, V]) offer(key K, entry Entry[V]) {
	l := a.l
	l.mu.Lock()
	defer l.mu.Unlock()
	if a.void || a.changed[key] || l.freshLocked(key) {
		return
	}
	l.offers[key] = entry
}

// End ends the fetch.
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

// takeLocked makes the offer of key, if it has one that can be trusted, the answer, which it
// returns as it is kept.
// +checklocks:l.mu
func (l *Listings[K, V]) takeLocked(key K) (Entry[V], bool) {
	o, ok := l.offers[key]
	if !ok {
		return Entry[V]{}, false
	}
	l.dropOfferLocked(key)
	if l.now().Sub(o.Fetched) >= l.ttl {
		return Entry[V]{}, false
	}
	delete(l.flights, key) // which began before, or is of no use
	l.serial++
	o.Serial = l.serial
	l.items.Add(key, &item[V]{entry: o, known: true, fresh: true})
	return o, true
}

// dropOfferLocked forgets an offer, and with the last one the memory of all: a map keeps what
// it once took.
// +checklocks:l.mu
func (l *Listings[K, V]) dropOfferLocked(key K) {
	delete(l.offers, key)
	if len(l.offers) == 0 {
		l.offers = make(map[K]Entry[V])
	}
}

// withdrawLocked forgets what was offered of key, and what fetches under way will offer.
// +checklocks:l.mu
func (l *Listings[K, V]) withdrawLocked(key K) {
	if _, ok := l.offers[key]; ok {
		l.dropOfferLocked(key)
	}
	for a := range l.aheads {
		a.changed[key] = true
	}
}

// +checklocks:l.mu
func (l *Listings[K, V]) withdrawAllLocked() {
	l.offers = make(map[K]Entry[V])
	for a := range l.aheads {
		a.void = true
	}
}

// sweep forgets offers that cannot be trusted any more.
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
			l.dropOfferLocked(key)
		}
	}
}
