package cache

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/archivefs/archivefs/internal/durable"
)

// Adoption is a complete file that the service has, and that nobody changes any more.
type Adoption struct {
	Path string
	// ETag is the service's, empty where it is not known.
	ETag string
	// Sum is the SHA-256 of the file in hexadecimal. Where it is empty the file is read.
	Sum string
	// Final says that the content does not change any more at the service, as with Open.
	Final bool
}

// Adopt takes a file, which does not change any more, as the content of key. Its path stays, for
// the caller to remove: after a crash of the machine it must not be gone before whatever says that
// it is not needed. On an error, of which ErrTooLarge is one, the cache is as before.
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
	name, err := c.describe(key, a)
	if err != nil {
		return err
	}
	target := name.path(c.dir)
	if err := os.MkdirAll(filepath.Dir(target), 0o700); err != nil {
		return err
	}
	if err := link(a.Path, target); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.unlock()
	delete(c.downloads, key)
	c.serial++
	v := &version{fileName: name, serial: c.serial, progress: progress{have: name.size, done: true}}
	c.indexLocked(v)
	c.touchLocked(v)
	c.countLocked(v, name.size)
	return nil
}

// link gives the file of path the name target, too: a copy of it where it can have no second one, as
// on another file system.
func link(path, target string) error {
	if err := os.Link(path, target); err == nil {
		return nil
	}
	return copyFile(path, target)
}

// private makes an open file its owner's alone and, where nobody will check its hash,
// durable. A crash of the machine may lose its name: it is a cached content.
func private(f *os.File, info os.FileInfo) error {
	if info.Mode().Perm() != 0o600 { // a change costs a write of the journal
		if err := f.Chmod(0o600); err != nil {
			return err
		}
	}
	if checkable(info.Size()) {
		return nil
	}
	return f.Sync()
}

// describe makes a file private and returns the name that it gets.
func (c *Content) describe(key Key, a Adoption) (fileName, error) {
	f, err := os.Open(a.Path)
	if err != nil {
		return fileName{}, err
	}
	defer f.Close() //nolint:errcheck // opened for reading
	info, err := f.Stat()
	switch {
	case err != nil:
		return fileName{}, err
	case !info.Mode().IsRegular():
		return fileName{}, errors.New("not a regular file")
	case info.Size() > c.limit:
		return fileName{}, ErrTooLarge
	}
	name := fileName{key: key, size: info.Size(), fetched: c.now(), final: a.Final, etag: a.ETag, tag: newTag()}
	if checkable(name.size) {
		if name.check, err = a.check(f); err != nil {
			return fileName{}, err
		}
	}
	return name, private(f, info)
}

// check is that of the file f, from the sum that came with it, else from its bytes.
func (a Adoption) check(f *os.File) (check, error) {
	if sum, err := hex.DecodeString(a.Sum); err == nil && len(sum) == sha256.Size {
		return shaOf(sum), nil
	}
	sum := newCRC()
	if _, err := io.Copy(sum, f); err != nil {
		return "", err
	}
	return crcOf(sum), nil
}

// copyFile publishes a copy of the file of path under the name target.
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
