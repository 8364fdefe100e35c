package cache

import (
	"maps"
	"slices"
	"time"

	"github.com/archivefs/archivefs/archive"
)

// Contents that are kept are not evicted, and the limit does not count them. What is kept is in
// the names of files, so that the next process knows it before it evicts anything.

// Keeping is the part of a Content for those who keep contents. Its fields are guarded by mu of the Content.
type Keeping struct {
	c *Content
	// wanted are keys that are to be kept once their content is there.
	wanted map[Key]bool
	// files counts the versions that are kept and found by Open, bytes their share of Content.used
	// and that of versions that are being downloaded or still read.
	files int
	bytes int64
	// locals counts those of files that are in files of the service (local.go).
	locals int
}

// keepAtOnce is how many contents are kept or let go under one hold of the lock: each may rename a file.
const keepAtOnce = 64

// Keep makes the contents of keys stay: those that are cached now, the others once they are.
func (k *Keeping) Keep(keys ...Key) {
	for some := range slices.Chunk(keys, keepAtOnce) {
		k.keepSome(some)
	}
}

func (k *Keeping) keepSome(keys []Key) {
	k.c.mu.Lock()
	defer k.c.unlock()
	for _, key := range keys {
		if v := k.c.versions[key]; v != nil {
			keepLocked(k.c, v, true)
			continue
		}
		k.wanted[key] = true
		if d := k.c.downloads[key]; d != nil && d.version != nil {
			keepLocked(k.c, d.version, true)
		}
	}
}

// LetGo makes all contents ordinary ones, evicted at the limit, but for those of keys.
func (k *Keeping) LetGo(except map[Key]bool) {
	k.c.mu.Lock()
	var free []*version
	for key := range k.wanted {
		if !except[key] {
			delete(k.wanted, key)
		}
	}
	for key, v := range k.c.versions {
		if v.keep && !except[key] {
			free = append(free, v)
		}
	}
	k.c.unlock()
	for some := range slices.Chunk(free, keepAtOnce) {
		k.letGoSome(some)
	}
}

func (k *Keeping) letGoSome(versions []*version) {
	k.c.mu.Lock()
	defer k.c.unlock()
	for _, v := range versions {
		keepLocked(k.c, v, false)
	}
	k.c.evictLocked(excessLocked(k.c))
}

// Held describes a cached content.
type Held struct {
	Size int64
	// Serial differs from an earlier one when the content was downloaded again.
	Serial uint64
	// Fetched is when it was requested or validated last, and Print the fingerprint of the document then, 0
	// if it was not archived.
	Fetched time.Time
	Print   archive.Fingerprint
	// Tagged says that it has an ETag, so that a validation need not download it again.
	Tagged bool
	// Sum is a checksum of the bytes, empty for a large content.
	Sum string
	// Kept says that it is kept.
	Kept bool
}

// Held returns what is cached of key, complete and of any age, if anything is. It does not count as a use.
func (k *Keeping) Held(key Key) (Held, bool) {
	k.c.mu.Lock()
	defer k.c.unlock()
	v := k.c.versions[key]
	if v == nil {
		return Held{}, false
	}
	return Held{Size: v.size, Serial: v.serial, Fetched: v.fetched, Print: v.print, Tagged: v.etag != "", Sum: string(v.check), Kept: v.keep}, true
}

// Partly reports whether a download has brought a part of the content of key.
func (k *Keeping) Partly(key Key) bool {
	k.c.mu.Lock()
	defer k.c.unlock()
	d := k.c.downloads[key]
	return d != nil && d.version != nil && d.version.progress.reached() > 0
}

// Downloading counts the downloads in flight.
func (k *Keeping) Downloading() int {
	k.c.mu.Lock()
	defer k.c.unlock()
	return len(k.c.downloads)
}

// FreeDisk returns how many bytes the cache's disk has room for.
func (k *Keeping) FreeDisk() (int64, error) { return k.c.free() }

// Documents returns the documents of which there is something, and whether there are previews.
func (k *Keeping) Documents() (ids map[archive.ID]bool, previews bool) {
	k.c.mu.Lock()
	defer k.c.unlock()
	ids = make(map[archive.ID]bool, len(k.c.versions))
	for _, key := range keysLocked(k.c) {
		if key.Representation == archive.Preview {
			previews = true
		} else {
			ids[key.Document] = true
		}
	}
	return ids, previews
}

// Forget removes what there is of a document that does not exist any more, also if it is kept. The keys of
// previews do not tell of which document they are, so it removes all previews.
func (k *Keeping) Forget(doc archive.ID) {
	k.c.mu.Lock()
	defer k.c.unlock()
	for _, key := range keysLocked(k.c) {
		if key.Representation == archive.Preview || key.Document == doc {
			forgetLocked(k.c, key)
			delete(k.wanted, key)
		}
	}
}

// Listed notes that a list shows a document with another fingerprint than before. What was put here before any
// list showed it gets that fingerprint; everything else is validated before it is used again.
func (k *Keeping) Listed(doc archive.ID, before, now archive.Fingerprint) {
	k.c.mu.Lock()
	defer k.c.unlock()
	for _, r := range []archive.Representation{archive.Original, archive.PDF, archive.Data, archive.Text} {
		switch v := k.c.versions[Key{Document: doc, Representation: r}]; {
		case v == nil:
		case before != archive.Unlisted:
			v.describeLocked(k.c, func(n *fileName) { n.fetched = time.Unix(0, 0) })
		case v.print == archive.Unlisted:
			v.describeLocked(k.c, func(n *fileName) { n.print = now })
		}
	}
}

// keysLocked returns the keys of all contents and downloads.
// +checklocks:c.mu
func keysLocked(c *Content) []Key {
	return slices.AppendSeq(slices.Collect(maps.Keys(c.versions)), maps.Keys(c.downloads))
}

// forgetLocked is Content.Remove.
// +checklocks:c.mu
func forgetLocked(c *Content, key Key) {
	delete(c.downloads, key)
	if v := c.versions[key]; v != nil {
		c.removeLocked(v)
	}
}

// expect makes the version that a new download fills stay, if its content is to be kept.
func (k *Keeping) expect(v *version) {
	k.c.mu.Lock()
	defer k.c.unlock()
	old := k.c.versions[v.key]
	v.keep = k.wanted[v.key] || old != nil && old.keep
}

// keepLocked makes v stay, or lets it go.
// +checklocks:c.mu
func keepLocked(c *Content, v *version, keep bool) {
	if v.keep == keep {
		return
	}
	v.keep = keep
	sign := -1
	if keep {
		sign = 1
	}
	c.Kept.bytes += int64(sign) * v.counted
	if v.element != nil {
		countKeptLocked(c, v, sign)
		renameLocked(c, v)
	}
}

// countKeptLocked counts a version that is kept, or is no longer.
// +checklocks:c.mu
func countKeptLocked(c *Content, v *version, sign int) {
	c.Kept.files += sign
	if v.local != "" {
		c.Kept.locals += sign
	}
}

// arriveLocked makes v, which Open finds from now on, stay if its content is to be kept.
// +checklocks:c.mu
func arriveLocked(c *Content, v *version) {
	if c.Kept.wanted[v.key] {
		delete(c.Kept.wanted, v.key)
		if !v.keep {
			v.keep = true
			c.Kept.bytes += v.counted
		}
	}
	if v.keep {
		countKeptLocked(c, v, 1)
	}
	renameLocked(c, v)
}

// departLocked notes that Open does not find v any more.
// +checklocks:c.mu
func departLocked(c *Content, v *version) {
	if v.keep {
		countKeptLocked(c, v, -1)
		c.Kept.wanted[v.key] = true
	}
}

// renameLocked makes the name of the file of v say whether it is kept.
// +checklocks:c.mu
func renameLocked(c *Content, v *version) {
	if v.keep == v.kept || v.temp != "" || v.local != "" {
		return
	}
	v.describeLocked(c, func(n *fileName) { n.kept = v.keep })
}

// excessLocked returns by how many bytes the files that are not kept exceed the limit.
// +checklocks:c.mu
func excessLocked(c *Content) int64 { return c.used - c.Kept.bytes - c.limit }
