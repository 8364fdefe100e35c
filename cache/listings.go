package cache

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/archivefs/archivefs/archive"
)

// errorTTL is how long an error is cached, and how long an older answer serves without a fetch
// while the service is away.
const errorTTL = 2 * time.Second

// Entry is a cached answer.
type Entry[V any] struct {
	// Value is shared by all callers and must not be changed.
	Value V
	// Packed is Value as the Packing packs it, none without one.
	Packed Packed
	// Fetched is when the fetch of Value ended.
	Fetched time.Time
	// Serial grows with every fetch and every Update of any key. A Listings never uses one twice.
	Serial uint64
	// Stale says that Value is shown only because the service is away: it is older than the
	// ttl, or was invalidated, or comes from the store.
	Stale bool

	// changes are those of Update that Value and Packed lack; what a caller gets has them. The array
	// is only appended to. base identifies what they change.
	changes []func(V) V
	base    uint64
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
	// flights are the fetches in flight whose answer may be stored.
	flights map[K]*flight[V] // +checklocks:mu
	// offers are prefetched answers, without a serial.
	offers map[K]Entry[V] // +checklocks:mu
	// aheads are the prefetches in flight.
	aheads map[*Ahead[K, V]]bool // +checklocks:mu
	// serial is the last one used.
	serial uint64 // +checklocks:mu
	// saver calls Save; nil if nothing is to be saved.
	saver *time.Timer // +checklocks:mu
	// stats are the counters; Entries is not kept here.
	stats ListingsStats // +checklocks:mu
}

// item is the answer, or the remembered error, of one key. Guarded by Listings.mu.
type item[V any] struct {
	entry Entry[V] // packed
	known bool     // entry holds an answer
	fresh bool     // not invalidated since the answer was fetched
	err   error
	until time.Time // err is answered before this time
}

// ListingsStats counts how Get was answered.
type ListingsStats struct {
	Hits    uint64 `json:"hits"`    // from memory, remembered errors included
	Ahead   uint64 `json:"ahead"`   // by a prefetched answer
	Misses  uint64 `json:"misses"`  // by a fetch, own or joined
	Stale   uint64 `json:"stale"`   // by an older answer while the service was away
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

// Pack has answers kept in the form of p and unpacked for each caller. It is called before the first Get.
func (l *Listings[K, V]) Pack(p *Packing[V]) { l.packing = p }

// Get returns the cached answer if it is younger than the ttl, else the result of fetch, which
// all concurrent callers of key share.
//
// The context of the fetch is detached from each single caller, and cancelled when the last caller has left; a caller
// whose ctx ends leaves at once with ctx's error. The error of a fetch is returned again, without another fetch, for
// two seconds; context errors are not. When the fetch fails because the service is away (archive.Away) and there is an
// older answer, in memory or in the store, Get returns that with Stale set and a nil error, without another fetch for
// two seconds.
func (l *Listings[K, V]) Get(ctx context.Context, key K, fetch func(context.Context) (V, error)) (Entry[V], error) {
	l.mu.Lock()
	for entry, ahead, ok, err := l.haveLocked(key); ok; entry, ahead, ok, err = l.haveLocked(key) {
		l.mu.Unlock()
		if entry, ok := l.open(key, entry, ahead); ok {
			return entry, err
		}
		l.mu.Lock()
		l.loseLocked(key, entry)
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

	for offered := f.offered; ; {
		select {
		case <-f.done:
			return f.entry, f.err
		case <-offered:
			offered = nil
			if entry, ok := l.offered(key); ok {
				return entry, nil
			}
		case <-ctx.Done():
			l.leave(key, f)
			return Entry[V]{}, ctx.Err()
		}
	}
}

// offered returns the answer that a prefetch brought while the caller waited for a fetch; false if
// that has been invalidated since, or is too old.
func (l *Listings[K, V]) offered(key K) (Entry[V], bool) {
	l.mu.Lock()
	entry, ahead, ok, err := l.haveLocked(key) // another caller may have taken it
	l.mu.Unlock()
	if ok {
		entry, ok = l.open(key, entry, ahead)
	}
	return entry, ok && err == nil
}

// open returns an answer as callers get it; false: it is lost. One that was prefetched, or changed, is saved.
func (l *Listings[K, V]) open(key K, entry Entry[V], ahead bool) (Entry[V], bool) {
	whole, ok := l.packing.whole(entry)
	switch {
	case !ok:
	case len(entry.changes) > 0:
		l.fold(key, entry, whole)
	case ahead:
		l.keep(key, whole, nil)
	}
	return whole, ok
}

// haveLocked answers without a fetch, packed, from the LRU or by a prefetched answer (ahead).
// +checklocks:l.mu
func (l *Listings[K, V]) haveLocked(key K) (entry Entry[V], ahead, ok bool, err error) {
	if entry, ok, err := l.cachedLocked(key); ok {
		return entry, false, true, err
	}
	if entry, ok = l.takeLocked(key); ok {
		l.stats.Ahead++
	}
	return entry, true, ok, nil
}

// loseLocked removes an answer that cannot be unpacked.
// +checklocks:l.mu
func (l *Listings[K, V]) loseLocked(key K, entry Entry[V]) {
	if it, ok := l.items.Peek(key); ok && it.entry.Packed == entry.Packed {
		l.items.Remove(key)
	}
}

// cachedLocked answers from memory, packed, and counts that; false: a fetch is needed.
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

// Peek returns the answer of key in memory, however old. It does not count as a use.
func (l *Listings[K, V]) Peek(key K) (Entry[V], bool) {
	l.mu.Lock()
	var entry Entry[V]
	it, ok := l.items.Peek(key)
	if ok = ok && it.known; ok {
		entry = it.entry
	}
	l.mu.Unlock()
	if ok {
		entry, ok = l.packing.whole(entry)
	}
	return entry, ok
}

// Last returns the last answer of key, however old, from memory or else from the store.
func (l *Listings[K, V]) Last(key K) (value V, known bool) {
	if entry, ok := l.Peek(key); ok || l.store == nil {
		return entry.Value, ok
	}
	value, _, known = l.store.Load(key)
	return value, known
}

// Stats returns the counters since the start.
func (l *Listings[K, V]) Stats() ListingsStats {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.stats
	s.Entries = l.items.Len()
	return s
}

// Invalidate makes the next Get of key fetch. The old answer serves while the service is away. The callers of a fetch
// in flight get its answer, which is not stored: it may be older than the change.
func (l *Listings[K, V]) Invalidate(key K) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.supersedeLocked(key)
	if it, ok := l.items.Peek(key); ok {
		it.expire()
	}
}

// InvalidateAll is Invalidate of every key.
func (l *Listings[K, V]) InvalidateAll() {
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(l.flights)
	l.offers = make(map[K]Entry[V])
	for a := range l.aheads {
		a.void = true
	}
	for _, it := range l.items.Values() {
		it.expire()
	}
}

// Put stores an answer that is known without a fetch, such as that of a new folder, and returns its entry.
func (l *Listings[K, V]) Put(key K, value V) Entry[V] {
	a := l.Ahead()
	defer a.End()
	entry, _ := a.Put(key, value)
	return entry
}

// +checklocks:l.mu
func (l *Listings[K, V]) nextLocked() uint64 {
	l.serial++
	return l.serial
}

// storeLocked makes entry the fresh answer of key, and gives it a serial.
// +checklocks:l.mu
func (l *Listings[K, V]) storeLocked(key K, entry Entry[V]) Entry[V] {
	entry.Serial = l.nextLocked()
	entry.base = entry.Serial
	l.items.Add(key, &item[V]{entry: l.packing.held(entry), known: true, fresh: true})
	return entry
}

// supersedeLocked makes sure that no answer of key to an earlier request is stored.
// +checklocks:l.mu
func (l *Listings[K, V]) supersedeLocked(key K) {
	delete(l.flights, key)
	l.removeOfferLocked(key)
	for a := range l.aheads {
		a.changed[key] = true
	}
}

// expire makes the answer stale and forgets a remembered error.
func (it *item[V]) expire() {
	it.fresh = false
	it.err = nil
}

// saveAfter is how long changes stay beside the answer: a killed program forgets them. To pack them with it costs as much
// as the answer is long, which a change does not.
const saveAfter = 10 * time.Second

// Update changes the answer of key without a fetch: it was changed here, and nobody has to ask what it is
// now. The answer keeps its age and gets a new serial. Answers to requests in flight may be older than the
// change, so they are changed, too. f must therefore give the same for a value that has the change
// already. It is pure; it owns the value that it gets if answers are packed, else it changes a copy.
func (l *Listings[K, V]) Update(key K, f func(V) V) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for a := range l.aheads {
		a.changes[key] = append(a.changes[key], f)
	}
	if under := l.flights[key]; under != nil {
		under.entry.changes = append(under.entry.changes, f)
	}
	if o, ok := l.offers[key]; ok {
		o.changes = append(o.changes, f)
		l.offers[key] = o
	}
	it, ok := l.items.Peek(key)
	if !ok || !it.known {
		return
	}
	it.entry.changes, it.entry.Serial = append(it.entry.changes, f), l.nextLocked()
	if l.saver == nil {
		l.saver = time.AfterFunc(saveAfter, l.Save)
	}
}

// Save packs the answers that Update has changed, and saves them in the store. Without a further Update
// nothing is saved later.
func (l *Listings[K, V]) Save() {
	l.mu.Lock()
	if l.saver != nil {
		l.saver.Stop()
		l.saver = nil
	}
	changed := map[K]Entry[V]{}
	for _, key := range l.items.Keys() {
		if it, ok := l.items.Peek(key); ok && len(it.entry.changes) > 0 {
			changed[key] = it.entry
		}
	}
	l.mu.Unlock()
	for key, entry := range changed {
		_, _ = l.open(key, entry, false)
	}
}

// fold replaces the answer of key by whole, which has its changes, and saves that.
func (l *Listings[K, V]) fold(key K, entry, whole Entry[V]) {
	l.mu.Lock()
	if it, ok := l.items.Peek(key); ok && it.entry.base == entry.base {
		held := l.packing.held(whole)
		it.entry.Value, it.entry.Packed = held.Value, held.Packed
		it.entry.changes, it.entry.base = append([]func(V) V(nil), it.entry.changes[len(entry.changes):]...), l.nextLocked()
	}
	l.mu.Unlock()
	l.keep(key, whole, nil)
}

// flight is a fetch in flight. If it is not in Listings.flights, it was superseded: its callers
// get the answer, which is not stored.
type flight[V any] struct {
	// done is closed when entry and err are set.
	done chan struct{}
	// entry has the changes made meanwhile, which are guarded by Listings.mu.
	entry  Entry[V]
	err    error
	cancel context.CancelFunc
	// waiting counts the callers. Guarded by Listings.mu.
	waiting int
	// offered is closed, under Listings.mu, when a prefetch has brought an answer before.
	offered chan struct{}
}

// startLocked starts the fetch of key.
// +checklocks:l.mu
func (l *Listings[K, V]) startLocked(ctx context.Context, key K, fetch func(context.Context) (V, error)) *flight[V] {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	f := &flight[V]{done: make(chan struct{}), offered: make(chan struct{}), cancel: cancel}
	l.flights[key] = f
	l.stats.Fetches++
	go func() {
		defer cancel()
		value, err := fetch(ctx)
		l.land(key, f, value, err)
	}()
	return f
}

// land stores the result of f, unless f was superseded, and hands it to the callers.
func (l *Listings[K, V]) land(key K, f *flight[V], value V, err error) {
	l.recall(key, err)
	packed := l.packing.hold(value)
	current := l.settle(key, f, Entry[V]{Value: value, Packed: packed, Fetched: l.now()}, err)
	if len(f.entry.changes) > 0 {
		f.entry, _ = l.packing.whole(f.entry)
	}
	if current {
		l.keep(key, f.entry, err)
	}
	close(f.done)
}

// settle makes entry the result of f, and stores it unless f was superseded. It reports whether f was current.
func (l *Listings[K, V]) settle(key K, f *flight[V], entry Entry[V], err error) (current bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	current = l.flights[key] == f
	if current {
		delete(l.flights, key)
	}
	if err == nil {
		entry.changes = f.entry.changes
		if f.entry = entry; current {
			f.entry = l.storeLocked(key, entry)
		} else {
			f.entry.Serial = l.nextLocked()
		}
		return current
	}
	it, ok := l.items.Peek(key)
	if !ok {
		it = &item[V]{}
	}
	if current && refused(err) {
		it.known = false
	}
	entry, ok = it.stale(err)
	if ok {
		entry, ok = l.packing.whole(entry)
	}
	if ok {
		l.stats.Stale += uint64(f.waiting) //nolint:gosec // a count of callers
		f.entry = entry
	} else {
		f.entry, f.err = Entry[V]{}, err
	}
	if current && memorable(err) {
		it.err, it.until = err, l.now().Add(errorTTL)
		l.items.Add(key, it)
	}
	return current
}

// stale returns the older answer that serves when a fetch fails with err.
func (it *item[V]) stale(err error) (Entry[V], bool) {
	if !it.known || !archive.Away(err) {
		return Entry[V]{}, false
	}
	entry := it.entry
	entry.Stale = true
	return entry, true
}

// memorable reports whether err is about the service. A context error is about the callers,
// unless it is the cause of a time-out that the client has classified.
func memorable(err error) bool {
	return archive.Away(err) || !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded)
}

// lingers is how long a fetch without callers continues. A program whose system call was interrupted
// by a signal, as by the Go runtime for a garbage collection, repeats the call at once (signal(7)), and
// a slow listing would never arrive if each signal cancelled it.
const lingers = 500 * time.Millisecond

// leave counts out a caller of f whose context has ended. If it was the last one, f is cancelled
// unless somebody joins it soon.
func (l *Listings[K, V]) leave(key K, f *flight[V]) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if f.waiting--; f.waiting == 0 {
		time.AfterFunc(lingers, func() { l.abandon(key, f) })
	}
}

// abandon cancels f if it has no callers.
func (l *Listings[K, V]) abandon(key K, f *flight[V]) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if f.waiting > 0 {
		return
	}
	f.cancel()
	if l.flights[key] == f {
		delete(l.flights, key)
	}
}

// Store keeps answers on disk. Save and Forget return before anything is written.
type Store[K comparable, V any] interface {
	// Load returns the answer of key that was saved last, and when it was fetched.
	Load(key K) (value V, fetched time.Time, ok bool)
	// Save keeps an answer. Nobody changes value afterwards.
	Save(key K, value V, fetched time.Time)
	// SavePacked is Save of a packed answer.
	SavePacked(key K, packed string, fetched time.Time)
	// Forget removes the answer of key.
	Forget(key K)
}

// Keep has every answer saved in store. While the service is away, Get loads answers that are
// not in memory from there. It is called before the first Get.
func (l *Listings[K, V]) Keep(store Store[K, V]) { l.store = store }

// recall loads the answer of key from the store if err says that the service is away and there is no answer in memory.
func (l *Listings[K, V]) recall(key K, err error) {
	if l.store == nil || !archive.Away(err) {
		return
	}
	if _, known := l.Peek(key); known {
		return
	}
	value, fetched, ok := l.store.Load(key)
	if !ok {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	it, ok := l.items.Peek(key)
	if !ok {
		it = &item[V]{}
		l.items.Add(key, it)
	}
	if !it.known {
		it.entry, it.known = l.packing.held(Entry[V]{Value: value, Fetched: fetched, Serial: l.nextLocked()}), true
	}
}

// keep saves the answer of a fetch in the store, or removes the old one if err says that there is none any more.
func (l *Listings[K, V]) keep(key K, entry Entry[V], err error) {
	switch {
	case l.store == nil:
	case err == nil && !entry.Packed.IsZero():
		if text, ok := entry.Packed.Text(); ok {
			l.store.SavePacked(key, text, entry.Fetched)
		}
	case err == nil:
		l.store.Save(key, entry.Value, entry.Fetched)
	case refused(err):
		l.store.Forget(key)
	}
}

// refused reports whether the service does not show the listing any more.
func refused(err error) bool {
	kind := archive.KindOf(err)
	return kind == archive.KindNotFound || kind == archive.KindForbidden
}
