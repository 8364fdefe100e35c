package cache

// indexLocked makes v what an Open of its key finds, in place of an older version.
// +checklocks:c.mu
func (c *Content) indexLocked(v *version) {
	if old := c.versions[v.key]; old != nil {
		c.dropLocked(old)
	}
	c.versions[v.key] = v
	v.element = c.recent.PushFront(v)
}

// dropLocked takes v out of the index and throws its file away. Who holds v keeps its
// bytes, which count until then. Dropping twice does no harm.
// +checklocks:c.mu
func (c *Content) dropLocked(v *version) {
	if v.element == nil {
		return
	}
	c.recent.Remove(v.element)
	v.element = nil
	delete(c.versions, v.key)
	if v.local != "" {
		c.locals-- // the file is not ours
		return
	}
	c.trash.paths = append(c.trash.paths, c.path(v))
	if v.refs == 0 {
		c.discountLocked(v)
	}
}

// discountLocked takes v's bytes out of the count.
// +checklocks:c.mu
func (c *Content) discountLocked(v *version) {
	c.used -= v.counted
	v.counted = 0
}

// countLocked adds n bytes to v's part of the count and makes room for them.
// +checklocks:c.mu
func (c *Content) countLocked(v *version, n int64) {
	v.counted += n
	c.used += n
	c.evictLocked()
}

// evictLocked drops what nobody uses, the least recently opened first, until the limit is
// kept.
// +checklocks:c.mu
func (c *Content) evictLocked() {
	if c.used > c.limit {
		c.freeLocked(c.used - c.limit)
	}
}

// freeLocked drops what nobody uses, the least recently opened first, until at least want
// bytes are free, and returns how many bytes it freed.
// +checklocks:c.mu
func (c *Content) freeLocked(want int64) int64 {
	var freed int64
	for e := c.recent.Back(); e != nil && freed < want; {
		v := e.Value.(*version) // the list holds nothing else
		e = e.Prev()            // before v's element leaves the list
		if v.refs > 0 || v.local != "" {
			continue
		}
		freed += v.counted
		c.stats.Evicted++
		c.dropLocked(v)
	}
	return freed
}

// Free makes room on a full disk, at least want bytes when there is so much that nobody
// uses. False means that there was nothing to drop.
func (c *Content) Free(want int64) bool {
	c.mu.Lock()
	defer c.unlock()
	return c.freeLocked(want) > 0
}

// Remove forgets the content of key. Readers keep what they have; a download under way
// goes on for them and is not kept.
func (c *Content) Remove(key Key) {
	c.mu.Lock()
	defer c.unlock()
	delete(c.downloads, key)
	if v := c.versions[key]; v != nil {
		c.dropLocked(v)
	}
}
