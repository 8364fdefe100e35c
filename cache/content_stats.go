package cache

import "time"

// ContentStats says what the cache holds and what became of its work since the start.
type ContentStats struct {
	Files     int    `json:"files"`
	Bytes     int64  `json:"bytes"` // of all files, running downloads and files in use included
	Limit     int64  `json:"limit"`
	Hits      uint64 `json:"hits"`      // opens served by a cached file alone
	Misses    uint64 `json:"misses"`    // opens that started or joined a download
	Downloads uint64 `json:"downloads"` // started, validations included
	Renewed   uint64 `json:"renewed"`   // validations that found the file still right
	Resumed   uint64 `json:"resumed"`   // broken downloads taken up again
	Evicted   uint64 `json:"evicted"`   // files dropped to make room
	Damaged   uint64 `json:"damaged"`   // files dropped because they were not what was kept
}

// Stats returns the numbers of now.
func (c *Content) Stats() ContentStats {
	c.mu.Lock()
	defer c.unlock()
	s := c.stats
	s.Files, s.Bytes, s.Limit = len(c.versions)-c.locals, c.used, c.limit
	return s
}

// Usage returns the bytes of all files, running downloads and files in use included, and
// their bound.
func (c *Content) Usage() (used, limit int64) {
	c.mu.Lock()
	defer c.unlock()
	return c.used, c.limit
}

// Lookup returns the length of the complete cached content of key, if there is one. It
// does not count as a use, and does not look at the age.
func (c *Content) Lookup(key Key) (int64, bool) {
	c.mu.Lock()
	defer c.unlock()
	v := c.versions[key]
	if v == nil {
		return 0, false
	}
	return v.size, true
}

// Trusted returns the length of the content that Open with that maxAge returns without
// asking the service, if there is one and its length is known.
func (c *Content) Trusted(key Key, maxAge time.Duration) (int64, bool) {
	c.mu.Lock()
	defer c.unlock()
	if v := c.versions[key]; v != nil && c.trusted(v.fetched, v.final, maxAge) {
		return v.size, true
	}
	if d := c.downloads[key]; d != nil && d.version != nil && c.trusted(d.began, d.final, maxAge) { // it is joined
		return d.version.size, true
	}
	return 0, false
}
