package spool

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/sirupsen/logrus"
)

const (
	// trashRest is how long no upload must have gone before trash is removed.
	trashRest = 500 * time.Millisecond
	// trashMost is how many directories wait for that.
	trashMost = 1000
)

// trash is what is left of removed uploads: directories with a hidden name, and a record in
// each. New uploads take them, because a directory takes ext4 longer to make than all else that a
// new upload needs. The others are removed once no more comes: a disk that is told of each block
// that becomes free (discard in ext4(5)) may take a millisecond for each of both, more than all
// else that an upload costs, and the next uploads would wait for that.
type trash struct {
	log logrus.FieldLogger

	sweeping sync.Mutex // while one is removed

	mu sync.Mutex
	// dirs are in the order they came.
	dirs []string // +checklocks:mu
	// newest is when the last of them came.
	newest time.Time // +checklocks:mu
	// timer is nil before the first one.
	timer *time.Timer // +checklocks:mu
}

// put takes over the directory of an upload, whose hidden name is durable. The bytes, where they
// are still in it, go at once.
func (t *trash) put(dir string) {
	id := strings.TrimPrefix(filepath.Base(dir), trashPrefix)
	err := os.Remove(filepath.Join(dir, dataFile(id)))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.log.Warnf("the next start removes what is left of an upload: %v", err)
		return
	}
	t.mu.Lock()
	t.dirs = append(t.dirs, dir)
	t.newest = time.Now()
	full := len(t.dirs) > trashMost
	if t.timer == nil {
		t.timer = time.AfterFunc(trashRest, t.sweep)
	} else {
		t.timer.Reset(trashRest)
	}
	t.mu.Unlock()
	if full {
		t.removeOne()
	}
}

// take returns the newest directory, which holds a record alone. It is false when there is none.
func (t *trash) take() (dir string, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	last := len(t.dirs) - 1
	if last < 0 {
		return "", false
	}
	dir, t.dirs = t.dirs[last], t.dirs[:last]
	return dir, true
}

// sweep removes what is there, until more comes: the timer is set again then.
func (t *trash) sweep() {
	for {
		t.mu.Lock()
		goOn := time.Since(t.newest) >= trashRest
		t.mu.Unlock()
		if !goOn || !t.removeOne() {
			return
		}
	}
}

// removeOne removes the oldest directory. It is false when there is none.
func (t *trash) removeOne() bool {
	t.sweeping.Lock()
	defer t.sweeping.Unlock()
	t.mu.Lock()
	if len(t.dirs) == 0 {
		t.mu.Unlock()
		return false
	}
	dir := t.dirs[0]
	t.dirs = t.dirs[1:]
	t.mu.Unlock()
	t.remove(dir)
	return true
}

// empty removes all of it now.
func (t *trash) empty() {
	for t.removeOne() {
	}
}

// stop leaves it to the next start.
func (t *trash) stop() {
	t.sweeping.Lock()
	defer t.sweeping.Unlock()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.dirs = nil
	if t.timer != nil {
		t.timer.Stop()
	}
}

// remove removes a directory now: the record first, without which nothing else counts.
func (t *trash) remove(dir string) {
	err := os.Remove(filepath.Join(dir, recordFile))
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		err = os.RemoveAll(dir)
	}
	if err != nil {
		t.log.Warnf("the next start removes what is left of an upload: %v", err)
	}
}
