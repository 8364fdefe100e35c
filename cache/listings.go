package cache

import (
	"context"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// errorTTL is how long an error is cached, and how long a service that is away is not asked
// again while an older answer can be shown.
const errorTTL = 2 * time.Second

// Entry is an answer as it is cached.
type Entry[V any] struct {
	// Value is shared by all callers and must not be changed.
	Value V
	// Packed is Value in the form that it is kept in, empty where it is kept as it is.
	Packed string
	// Fetched is when the fetch of Value ended.
	Fetched time.Time
	// Serial grows with every fetch and every Update, over all keys, and is never used
	// twice by one Listings.
	Serial uint64
	// Stale says that the service is away and Value is not to be trusted beyond that: it is
	// older than the ttl, or was changed, or comes from the store.
	Stale bool
}

// Listings is a bounded LRU of answers that are trusted for a ttl.
type Listings[K comparable, V any] struct {
	ttl time.Duration
	now func() time.Time
	// store is nil unless Keep was called.
	store Store[K, V]
	// packing is nil unless Pack was called.
	packing *Packing[V]

	mu sync.Mutex
	// items are the answers and remembered errors.
	items *simplelru.LRU[K, *item[V]] // +checklocks:mu
	// flights are the fetches under way whose answer may be stored.
	flights map[K]*flight[V] // +checklocks:mu
	// offers are answers, without a serial, that came along with others before anybody asked.
	offers map[K]Entry[V] // +checklocks:mu
	// aheads are the fetches under way that will make offers.
	aheads map[*Ahead[K, V]]bool // +checklocks:mu
	// serial is the last one given out.
	serial uint64 // +checklocks:mu
	// stats are the counters; Entries is not kept here.
	stats ListingsStats // +checklocks:mu
}

// item is what is known of one key. Guarded by Listings.mu.
type item[V any] struct {
	entry Entry[V] // as it is kept
	known bool     // entry holds an answer
	fresh bool     // not invalidated since the answer was fetched
	err   error
	until time.Time // err is answered before this time
}

// ListingsStats counts how Get was answered.
type ListingsStats struct {
	Hits    uint64 `json:"hits"`    // from memory, remembered errors included
	Ahead   uint64 `json:"ahead"`   // with what came along with others before
	Misses  uint64 `json:"misses"`  // by a fetch, own or joined
	Stale   uint64 `json:"stale"`   // with an older answer, the service being away
	Fetches uint64 `json:"fetches"` // fetches started
	Entries int    `json:"entries"` // keys held now
}

// NewListings returns an empty cache of at most limit keys (at least one) whose answers
// are trusted for ttl by the clock now.
func NewListings[K comparable, V any](limit int, ttl time.Duration, now func() time.Time) *Listings[K, V] {
	items, err := simplelru.NewLRU[K, *item[V]](max(limit, 1), nil)
	if err != nil {
		panic("cache: " + err.Error()) // only a bound below one is refused
	}
	return &Listings[K, V]{
		ttl: ttl, now: now, items: items, flights: make(map[K]*flight[V]),
		offers: make(map[K]Entry[V]), aheads: make(map[*Ahead[K, V]]bool),
	}
}

// Pack has answers kept in the form of p, which is undone for each caller. It is called before
// the first Get.
func (l *Listings[K, V]) Pack(p *Packing[V]) { l.packing = p }

// Get answers with what is cached and younger than the ttl, else with the result of
// fetch, which is shared with every concurrent caller of key.
//
// The fetch runs with a context that is detached from each single caller and cancelled
// when the last caller waiting for it has gone; a caller whose ctx ends leaves at once
// with ctx's error. The error of a fetch is answered, without another fetch, for up to
// two seconds; context errors are not. When the fetch fails because the service is away
// (archive.Away) and an older answer is known, here or in the store, that is returned with
// Stale set and a nil error, and the service is left alone for two seconds.
func (l *Listings[K, V]) Get(ctx context.Context, key K, fetch func(context.Context) (V, error)) (Entry[V], error) {
	l.mu.Lock()
	if entry, ok, err := l.cachedLocked(key); ok {
		l.mu.Unlock()
		return l.packing.whole(entry), err
	}
	if entry, ok := l.takeLocked(key); ok {
		l.stats.Ahead++
		l.mu.Unlock()
		entry = l.packing.whole(entry)
		l.keep(key, entry, nil)
		return entry, nil
	}
	if err := ctx.Err(); err != nil {
		l.mu.Unlock()
		return Entry[V]{}, err
	}
	l.stats.Misses++
	f, ok := l.flights[key]
	if !ok {
		f = l.startLocked(ctx, key, fetch)
	}
	f.waiting++
	l.mu.Unlock()

	select {
	case <-f.done:
		return f.entry, f.err
	case <-ctx.Done():
		l.leave(key, f)
		return Entry[V]{}, ctx.Err()
	}
}

// cachedLocked answers from memory, as it is kept, and counts it; false means that a fetch is needed.
// +checklocks:l.mu
func (l *Listings[K, V]) cachedLocked(key K) (Entry[V], bool, error) {
	it, ok := l.items.Get(key)
	if !ok {
		return Entry[V]{}, false, nil
	}
	now := l.now()
	if it.trusted(now, l.ttl) {
		l.stats.Hits++
		return it.entry, true, nil
	}
	if it.err == nil || !now.Before(it.until) {
		return Entry[V]{}, false, nil
	}
	if entry, ok := it.stale(it.err); ok {
		l.stats.Stale++
		return entry, true, nil
	}
	l.stats.Hits++
	return Entry[V]{}, true, it.err
}

// trusted reports whether the answer needs no fetch.
func (it *item[V]) trusted(now time.Time, ttl time.Duration) bool {
	return it.known && it.fresh && now.Sub(it.entry.Fetched) < ttl
}

// Peek returns what is known of key, however old, and does not count as a use.
func (l *Listings[K, V]) Peek(key K) (Entry[V], bool) {
	entry, ok := l.peek(key)
	return l.packing.whole(entry), ok
}

func (l *Listings[K, V]) peek(key K) (Entry[V], bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	it, ok := l.items.Peek(key)
	if !ok || !it.known {
		return Entry[V]{}, false
	}
	return it.entry, true
}

// Stats returns the counters since the start.
func (l *Listings[K, V]) Stats() ListingsStats {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.stats
	s.Entries = l.items.Len()
	return s
}
