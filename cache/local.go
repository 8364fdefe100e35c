package cache

import (
	"encoding/base64"
	"encoding/hex"
	"os"
	"strings"
)

// maxLocal is how many contents are known that the service keeps on this machine.
const maxLocal = 1 << 16

// A service on this machine, whose ETags are the SHA-256 of what it sends, keeps the very
// bytes in files that never change. They are read from there (Options.Local), and nothing of
// them is kept here. The service's files are never touched.

// localFile opens the file in which the service keeps the content that has an ETag and a size;
// nil where there is none.
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
		return nil, "" // it is downloaded as from any other service
	}
	return f, path
}

// receiveLocal ends a download whose answer the service keeps on this machine. It is false when
// that does not.
func (d *download) receiveLocal(etag string, size int64) bool {
	c := d.c
	f, path := c.localFile(etag, size)
	if f == nil {
		return false
	}
	v := newLocal(fileName{key: d.key, size: size, fetched: d.began, final: d.final, etag: etag}, path)
	v.file, v.refs = f, 1
	c.mu.Lock()
	defer c.unlock()
	if c.leaveLocked(d) {
		c.indexLocalLocked(v)
	} else {
		c.serial++
		v.serial = c.serial
	}
	d.settleLocked(v)
	d.releaseOldLocked()
	c.releaseLocked(v)
	return true
}

// adoptLocal is Adopt of what the service keeps on this machine by now. It is false when that does
// not.
func (c *Content) adoptLocal(key Key, a Adoption) bool {
	info, err := os.Stat(a.Path)
	if err != nil {
		return false
	}
	etag := `"` + a.Sum + `"`
	f, path := c.localFile(etag, info.Size())
	if f == nil {
		return false
	}
	_ = f.Close() // it was not read
	c.mu.Lock()
	defer c.unlock()
	delete(c.downloads, key)
	c.indexLocalLocked(newLocal(fileName{key: key, size: info.Size(), fetched: c.now(), final: a.Final, etag: etag}, path))
	return true
}

// keptLocally reports whether the service keeps on this machine what an earlier process left.
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

// newLocal is a version whose bytes are in a file of the service's.
func newLocal(name fileName, path string) *version {
	return &version{fileName: name, local: path, progress: progress{have: name.size, done: true}}
}

// indexLocalLocked is indexLocked of a version of the service's, in the place of the one that
// was opened longest ago when there are many.
// +checklocks:c.mu
func (c *Content) indexLocalLocked(v *version) {
	c.serial++
	v.serial = c.serial
	c.indexLocked(v)
	c.locals++
	for e := c.recent.Back(); e != nil && c.locals > maxLocal; {
		old := e.Value.(*version) // the list holds nothing else
		e = e.Prev()              // before old's element leaves the list
		if old.local != "" && old.refs == 0 {
			c.dropLocked(old)
		}
	}
}
