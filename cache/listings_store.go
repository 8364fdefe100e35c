package cache

import (
	"time"

	"github.com/archivefs/archivefs/archive"
)

// Store keeps answers beyond the life of a Listings and of what it holds in memory. Save
// and Forget return before anything is written.
type Store[K comparable, V any] interface {
	// Load returns what was saved for key last, and when that was fetched.
	Load(key K) (value V, fetched time.Time, ok bool)
	// Save keeps an answer. It does not change value, and nobody does later.
	Save(key K, value V, fetched time.Time)
	// SavePacked is Save of an answer in the form that a Packing gave it.
	SavePacked(key K, packed string, fetched time.Time)
	// Forget removes the answer of key.
	Forget(key K)
}

// Keep has every answer saved in store, from where one is taken when the service is away
// and none is in memory. It is called before the first Get.
func (l *Listings[K, V]) Keep(store Store[K, V]) { l.store = store }

// recall takes the answer of key from the store when the service is away, as err says, and
// none is in memory.
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
		l.serial++
		it.entry, it.known = l.packing.held(Entry[V]{Value: value, Fetched: fetched, Serial: l.serial}), true
	}
}

// keep brings the end of a fetch that counts to the store: its answer, or that there is
// none any more.
func (l *Listings[K, V]) keep(key K, entry Entry[V], err error) {
	switch {
	case l.store == nil:
	case err == nil && entry.Packed != "":
		l.store.SavePacked(key, entry.Packed, entry.Fetched)
	case err == nil:
		l.store.Save(key, entry.Value, entry.Fetched)
	case refused(err):
		l.store.Forget(key)
	}
}

// refused reports whether the service does not show what it once did.
func refused(err error) bool {
	kind := archive.KindOf(err)
	return kind == archive.KindNotFound || kind == archive.KindForbidden
}
