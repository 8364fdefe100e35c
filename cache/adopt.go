package cache

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/durable"
)

// Adoption is a complete file that was uploaded to the service.
type Adoption struct {
	Path string
	// Body is its content instead, of Size bytes and at most 64 MiB, if Path is empty.
	Body io.ReaderAt
	Size int64
	// ETag is the service's, empty if unknown.
	ETag string
	// Sum is the SHA-256 of the file in hexadecimal. If it is empty the file is read.
	Sum string
	// Print is the fingerprint of the document if it is archived, as in Trust.
	Print archive.Fingerprint
}

// Adopt makes a file the content of key. The file keeps its path, and the caller removes it once its own record of the
// upload is gone, so that a crash in between loses nothing. On an error, such as ErrTooLarge, the cache is as before.
func (c *Content) Adopt(key Key, a Adoption) error {
	if c.adoptLocal(key, a) {
		return nil
	}
	if err := c.adopt(key, a); err != nil {
		return fmt.Errorf("adopt the content of %s: %w", key, err)
	}
	return nil
}

func (c *Content) adopt(key Key, a Adoption) error {
	name, modified, err := c.describe(key, a)
	if err != nil {
		return err
	}
	if a.Path == "" {
		err = a.write(name.path(c.dir))
	} else {
		err = link(a.Path, name.path(c.dir))
	}
	if err != nil {
		return err
	}
	v := c.completeVersion(name)
	v.touched = modified
	c.mu.Lock()
	defer c.unlock()
	delete(c.downloads, key)
	c.indexLocked(v)
	c.touchLocked(v)
	c.countLocked(v, name.size)
	return nil
}

// write makes a file of the body. A crash may lose it, or tear it, which its check shows: it is only cached.
func (a Adoption) write(target string) error {
	const flag = os.O_WRONLY | os.O_CREATE | os.O_EXCL
	f, err := durable.OpenFile(target, flag, 0o600)
	if errors.Is(err, fs.ErrNotExist) {
		if err := os.MkdirAll(filepath.Dir(target), 0o700); err != nil {
			return err
		}
		f, err = durable.OpenFile(target, flag, 0o600)
	}
	if err != nil {
		return err
	}
	if _, err := io.Copy(f, io.NewSectionReader(a.Body, 0, a.Size)); err != nil {
		return durable.Discard(f, err)
	}
	return f.Close()
}

// link makes a file appear as target, too, or a copy of it.
func link(path, target string) error {
	err := os.Link(path, target)
	if errors.Is(err, fs.ErrNotExist) {
		if err := os.MkdirAll(filepath.Dir(target), 0o700); err != nil {
			return err
		}
		err = os.Link(path, target)
	}
	if err != nil { // as on another file system
		return copyFile(path, target)
	}
	return nil
}

// private sets the permissions of an open file to 0600 and syncs it if it will have no check. A
// crash of the machine may lose its name: it is only cached.
func private(f *os.File, info os.FileInfo) error {
	if info.Mode().Perm() != 0o600 { // a needless chmod would cost a write of the journal
		if err := f.Chmod(0o600); err != nil {
			return err
		}
	}
	if checkable(info.Size()) {
		return nil
	}
	return f.Sync()
}

// describe makes a file private and returns the name that it gets, and when it was modified.
func (c *Content) describe(key Key, a Adoption) (name fileName, modified time.Time, err error) {
	if a.Path == "" {
		return a.describe(key, c.limit, c.now())
	}
	f, err := durable.OpenFile(a.Path, os.O_RDONLY, 0)
	if err != nil {
		return fileName{}, time.Time{}, err
	}
	defer f.Close() //nolint:errcheck // opened for reading
	info, err := f.Stat()
	switch {
	case err != nil:
		return fileName{}, time.Time{}, err
	case !info.Mode().IsRegular():
		return fileName{}, time.Time{}, errors.New("not a regular file")
	case info.Size() > c.limit:
		return fileName{}, time.Time{}, ErrTooLarge
	}
	name = fileName{key: key, size: info.Size(), fetched: c.now(), print: a.Print, etag: a.ETag, tag: newTag()}
	if checkable(name.size) {
		if name.check, err = a.check(f); err != nil {
			return fileName{}, time.Time{}, err
		}
	}
	return name, info.ModTime(), private(f, info)
}

// describe is Content.describe for what is no file yet.
func (a Adoption) describe(key Key, limit int64, now time.Time) (name fileName, modified time.Time, err error) {
	if a.Size > limit || !checkable(a.Size) {
		return fileName{}, time.Time{}, ErrTooLarge
	}
	name = fileName{key: key, size: a.Size, fetched: now, print: a.Print, etag: a.ETag, tag: newTag()}
	name.check, err = a.check(io.NewSectionReader(a.Body, 0, a.Size))
	return name, now, err
}

// check returns the check of the bytes, from Sum if that is set.
func (a Adoption) check(f io.Reader) (check, error) {
	if sum, err := hex.DecodeString(a.Sum); err == nil && len(sum) == sha256.Size {
		return shaOf(sum), nil
	}
	sum := newCRC()
	if _, err := io.Copy(sum, f); err != nil {
		return "", err
	}
	return crcOf(sum), nil
}

// copyFile publishes a copy of the file of path as target.
func copyFile(path, target string) error {
	from, err := os.Open(path) //nolint:gosec // the caller's own file
	if err != nil {
		return err
	}
	defer from.Close() //nolint:errcheck // opened for reading
	to, err := durable.CreateTemp(filepath.Dir(target))
	if err != nil {
		return err
	}
	if _, err := io.Copy(to, from); err != nil {
		return durable.Discard(to, err)
	}
	if err := durable.Publish(to, target); err != nil {
		return durable.Discard(to, err)
	}
	return to.Close()
}

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
	path := c.local(sum, false)
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

// adoptLocal is Adopt of a content that is or will be in a file of the service; false if it is not.
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
	path := c.local(a.Sum, true)
	if path == "" {
		return false
	}
	v := c.completeVersion(fileName{key: key, size: size, fetched: c.now(), print: a.Print, etag: `"` + a.Sum + `"`})
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
