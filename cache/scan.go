package cache

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/archivefs/archivefs/internal/durable"
	"github.com/archivefs/archivefs/internal/retry"
)

// OpenContent opens the cache in o.Dir with the contents that an earlier process left there.
// Other files are removed, and contents beyond the limit are evicted, but not those that are kept.
func OpenContent(o Options) (*Content, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		silent := logrus.New()
		silent.SetOutput(io.Discard)
		o.Log = silent
	}
	if o.Sleep == nil {
		o.Sleep = retry.Sleep
	}
	closing, stop := context.WithCancel(context.Background())
	c := &Content{
		dir: o.Dir, limit: o.Limit, local: o.Local, log: o.Log, now: o.Now,
		pause: o.Sleep, write: (*os.File).WriteAt, free: func() (int64, error) { return diskFree(o.Dir) },
		closing: closing, stop: stop,
		versions: make(map[Key]*version), recent: list.New(), downloads: make(map[Key]*download),
	}
	c.Kept = &Keeping{c: c, wanted: make(map[Key]bool)}
	found, err := c.scan()
	if err != nil {
		stop()
		return nil, fmt.Errorf("open content cache: %w", err)
	}
	slices.SortFunc(found, func(a, b *version) int { return a.touched.Compare(b.touched) })
	c.mu.Lock()
	defer c.unlock()
	for _, v := range found {
		if c.keptLocally(v) {
			c.trash.paths = append(c.trash.paths, c.path(v))
			continue
		}
		c.restoreLocked(v)
	}
	c.evictLocked(excessLocked(c))
	return c, nil
}

// scan makes the cache's directory and returns the versions in its sub-directories.
func (c *Content) scan() ([]*version, error) {
	if err := os.MkdirAll(c.dir, 0o700); err != nil {
		return nil, err
	}
	if err := os.Chmod(c.dir, 0o700); err != nil { //nolint:gosec // a directory needs its x bits
		return nil, err
	}
	shards, err := os.ReadDir(c.dir)
	if err != nil {
		return nil, err
	}
	var found []*version
	for _, shard := range shards {
		if !shard.IsDir() {
			continue
		}
		dir := filepath.Join(c.dir, shard.Name())
		if err := durable.Sweep(dir); err != nil {
			return nil, err
		}
		files, err := os.ReadDir(dir)
		if err != nil {
			return nil, err
		}
		for _, f := range files {
			if v := c.inspect(dir, f); v != nil {
				found = append(found, v)
			}
		}
	}
	return found, nil
}

// createTemp creates a temporary file in the sub-directory of key, which it makes when missing.
func (c *Content) createTemp(key Key) (*os.File, error) {
	dir := filepath.Join(c.dir, key.shard())
	f, err := durable.CreateTemp(dir)
	if !errors.Is(err, fs.ErrNotExist) {
		return f, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	return durable.CreateTemp(dir)
}

// inspect returns the version in the file e of dir. A file with a wrong name, place or size is
// removed.
func (c *Content) inspect(dir string, e os.DirEntry) *version {
	path := filepath.Join(dir, e.Name())
	name, err := parseFileName(e.Name())
	if err == nil && name.path(c.dir) == path {
		info, err := e.Info()
		if err == nil && info.Mode().IsRegular() && info.Size() == name.size {
			v := c.completeVersion(name)
			v.touched, v.counted, v.unchecked = info.ModTime(), name.size, checkable(name.size)
			return v
		}
	}
	c.log.WithField("path", path).Warn("removing a broken file from the content cache")
	if err := os.Remove(path); err != nil {
		c.log.WithError(err).Warn("cannot remove a file of the content cache")
	}
	return nil
}

// restoreLocked indexes v as the most recent one. A crash while a version is replaced can leave
// two versions of a key: the newer one stays.
// +checklocks:c.mu
func (c *Content) restoreLocked(v *version) {
	if other := c.versions[v.key]; other != nil && other.fetched.After(v.fetched) {
		c.trash.paths = append(c.trash.paths, c.path(v))
		return
	}
	c.used += v.counted
	if v.keep = v.kept; v.keep {
		c.Kept.bytes += v.counted
	}
	c.indexLocked(v)
}
