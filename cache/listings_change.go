package cache

// Invalidate makes the next Get of key fetch anew. What was known stays as the answer for
// a service that is away. A fetch under way may have been answered before the change that
// calls for this: those who wait for it get its answer, but it is not stored.
func (l *Listings[K, V]) Invalidate(key K) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.flights, key)
	l.withdrawLocked(key)
	if it, ok := l.items.Peek(key); ok {
		it.expire()
	}
}

// InvalidateAll is Invalidate of every key.
func (l *Listings[K, V]) InvalidateAll() {
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(l.flights)
	l.withdrawAllLocked()
	for _, it := range l.items.Values() {
		it.expire()
	}
}

// Put takes in an answer that is known without a fetch, as what is in a folder that was
// just made, and returns it as it is cached.
func (l *Listings[K, V]) Put(key K, value V) Entry[V] {
	entry := l.put(key, value)
	l.keep(key, entry, nil)
	return entry
}

func (l *Listings[K, V]) put(key K, value V) Entry[V] {
	entry := Entry[V]{Value: value, Packed: l.packing.Pack(value), Fetched: l.now()}
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.flights, key)
	l.withdrawLocked(key)
	l.serial++
	entry.Serial = l.serial
	l.items.Add(key, &item[V]{entry: l.packing.held(entry), known: true, fresh: true})
	return entry
}

// expire forgets that the answer is fresh, and a remembered error.
func (it *item[V]) expire() {
	it.fresh = false
	it.err = nil
}

// Update changes the known answer of key in place of a fetch: f returns the new value, or
// false to leave the old one. f runs under the cache's lock: it is pure, changes a copy
// and calls nothing of this cache. The answer keeps its age and gets a new serial. A
// fetch under way is not stored, as after Invalidate, whether or not an answer is known.
func (l *Listings[K, V]) Update(key K, f func(V) (V, bool)) {
	if entry, changed := l.update(key, f); changed {
		l.keep(key, entry, nil)
	}
}

func (l *Listings[K, V]) update(key K, f func(V) (V, bool)) (Entry[V], bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.flights, key)
	l.withdrawLocked(key)
	it, ok := l.items.Peek(key)
	if !ok || !it.known {
		return Entry[V]{}, false
	}
	entry := l.packing.whole(it.entry)
	value, changed := f(entry.Value)
	if !changed {
		return Entry[V]{}, false
	}
	l.serial++
	entry.Value, entry.Packed, entry.Serial = value, l.packing.Pack(value), l.serial
	it.entry = l.packing.held(entry)
	return entry, true
}
