package cache

import (
	"encoding/base64"
	"encoding/hex"
	"os"
	"strings"
)

// maxLocal bounds the contents that are known to be in files of the service.
const maxLocal = 1 << 16

// A service on this machine, whose ETags are the SHA-256 of its contents, keeps them in files
// that never change. Contents are read from those files (Options.Local) and not cached a second
// time. The cache never changes or removes the service's files.

// localFile opens the service's file of the content with this ETag and size; nil if it has none.
func (c *Content) localFile(etag string, size int64) (*os.File, string) {
	sum := strings.Trim(etag, `"`)
	if c.local == nil || size < 0 || len(sum) != 64 || etag != `"`+sum+`"` {
		return nil, ""
	}
	if _, err := hex.DecodeString(sum); err != nil {
		return nil, ""
	}
	path := c.local(sum)
	if path == "" {
		return nil, ""
	}
	f, err := openSized(path, size)
	if err != nil {
		return nil, "" // the content is downloaded instead
	}
	return f, path
}

// receiveLocal ends a download whose content is in a file of the service; false if it is not.
func (d *download) receiveLocal(etag string, size int64) bool {
	c := d.c
	f, path := c.localFile(etag, size)
	if f == nil {
		return false
	}
	v := c.completeVersion(fileName{key: d.key, size: size, fetched: d.began, print: d.print, etag: etag})
	v.local, v.file, v.refs = path, f, 1
	c.mu.Lock()
	defer c.unlock()
	if c.leaveLocked(d) {
		c.indexLocalLocked(v)
	}
	d.settleLocked(v)
	d.releaseOldLocked()
	c.releaseLocked(v)
	return true
}

// adoptLocal is Adopt of a content that is in a file of the service; false if it is not.
func (c *Content) adoptLocal(key Key, a Adoption) bool {
	if c.local == nil {
		return false
	}
	size := a.Size
	if a.Path != "" {
		info, err := os.Stat(a.Path)
		if err != nil {
			return false
		}
		size = info.Size()
	}
	etag := `"` + a.Sum + `"`
	f, path := c.localFile(etag, size)
	if f == nil {
		return false
	}
	_ = f.Close() // it was not read
	v := c.completeVersion(fileName{key: key, size: size, fetched: c.now(), print: a.Print, etag: etag})
	v.local = path
	c.mu.Lock()
	defer c.unlock()
	delete(c.downloads, key)
	c.indexLocalLocked(v)
	return true
}

// keptLocally reports whether the content of v is in a file of the service.
func (c *Content) keptLocally(v *version) bool {
	etag := v.etag
	if sum, is := strings.CutPrefix(string(v.check), string(checkSHA256)); is {
		b, _ := base64.RawURLEncoding.DecodeString(sum) // valid
		etag = `"` + hex.EncodeToString(b) + `"`
	}
	f, _ := c.localFile(etag, v.size)
	if f == nil {
		return false
	}
	_ = f.Close() // it was not read
	return true
}

// indexLocalLocked indexes a version in a file of the service. Beyond maxLocal that are not kept, those that
// were opened longest ago are forgotten.
// +checklocks:c.mu
func (c *Content) indexLocalLocked(v *version) {
	c.indexLocked(v)
	c.locals++
	for e := c.recent.Back(); e != nil && c.locals-c.Kept.locals > maxLocal; {
		old := e.Value.(*version) // the list holds nothing else
		e = e.Prev()              // before old's element leaves the list
		if old.local != "" && old.refs == 0 && !old.keep {
			c.removeLocked(old)
		}
	}
}
