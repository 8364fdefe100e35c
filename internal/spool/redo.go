package spool

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"github.com/archivefs/archivefs/internal/durable"
	"github.com/archivefs/archivefs/internal/redolog"
)

const (
	// redoSuffix is what the name of the redo log's directory has beside that of the spool.
	redoSuffix = ".redo"
	// redoSize is the size of each of its files, in bytes. Bodies of up to a sixteenth are logged.
	redoSize = 64 << 20
)

// The redo log makes small uploads durable with one sync. An entry has the id of its upload as the
// key and begins with one of these bytes, which a record follows.
const (
	asLogged  = 'r' // the bytes are those of the entry, else of the last entry that has some, else what is in place
	isInPlace = 'p' // the bytes are what is in place
	isGone    = 'g' // the upload was removed; no record follows
)

func meta(kind byte, record []byte) []byte { return append([]byte{kind}, record...) }

// openRedo opens the redo log and makes in place what it says. Without a name for the run of the
// machine there is none: an end of the program, too, would take bytes that were written since.
func (s *Spool) openRedo() (err error) {
	if s.opts.Boot == "" {
		return nil
	}
	dir := s.dir + redoSuffix
	if err := durable.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	opened := false
	log, err := redolog.Open(redolog.Options{
		Dir: dir, Size: s.opts.RedoSize, Boot: s.opts.Boot, Log: s.log, Replay: s.replay,
		Checkpoint: func(ids []string) error {
			if opened {
				return s.checkpoint(ids)
			}
			return s.checkpointLeft(ids)
		},
	})
	opened, s.redo = true, log
	return err
}

// checkpointLeft checkpoints what an earlier run left. Beside what its log says it may have written a record
// that says it is durable, and have ended before it was.
func (s *Spool) checkpointLeft(ids []string) error {
	for _, id := range ids {
		s.unsynced.Store(id, true)
	}
	names, err := os.ReadDir(s.dir)
	if err != nil {
		return err
	}
	var others []string
	for _, e := range names {
		if _, there := slices.BinarySearch(ids, e.Name()); !there && validID(e.Name()) {
			others = append(others, e.Name())
		}
	}
	if err := s.checkpoint(others); err != nil { // nobody was told about what it might lose
		s.log.Warn(err)
	}
	return s.checkpoint(ids)
}

// logged is what the redo log says of an upload.
type logged struct {
	kind   byte
	record []byte
	body   *io.SectionReader // nil: what is in place; of a removal: what it had, for a record after one that failed
}

// lastOf returns the last state of each upload. What is no entry of a spool is left out.
func lastOf(entries []redolog.Entry) map[string]logged {
	last := map[string]logged{}
	for _, e := range entries {
		if !validID(e.Key) || len(e.Meta) == 0 {
			continue
		}
		l := logged{kind: e.Meta[0], record: e.Meta[1:], body: e.Body}
		if l.body == nil && l.kind != isInPlace {
			l.body = last[e.Key].body
		}
		last[e.Key] = l
	}
	return last
}

// replay makes in place what the log says, after a crash of the machine. What was removed goes
// first: its directory may have become that of another upload.
func (s *Spool) replay(entries []redolog.Entry) error {
	last := lastOf(entries)
	for id, l := range last {
		if l.kind == isGone {
			if err := os.RemoveAll(filepath.Join(s.dir, id)); err != nil {
				return err
			}
		}
	}
	for id, l := range last {
		if l.kind == isGone {
			continue
		}
		if wasHidden(s.dir, id) {
			continue
		}
		dir := filepath.Join(s.dir, id)
		if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		if l.body != nil {
			if err := restore(filepath.Join(dir, dataFile(id)), l.body); err != nil {
				return err
			}
		}
		if err := os.WriteFile(filepath.Join(dir, recordFile), l.record, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// wasHidden reports whether the removal of an upload had begun: the spool at dir has its directory
// under the hidden name alone.
func wasHidden(dir, id string) bool {
	_, shown := os.Lstat(filepath.Join(dir, id))
	_, hidden := os.Lstat(filepath.Join(dir, trashPrefix+id))
	return errors.Is(shown, fs.ErrNotExist) && hidden == nil
}

// restore makes body all that stands in a file.
func restore(path string, body io.Reader) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC|unix.O_NOFOLLOW, 0o600) //nolint:gosec // below the spool's own directory
	if err != nil {
		return err
	}
	_, err = io.Copy(f, body)
	return errors.Join(err, f.Close())
}

// removal is an upload whose directory has a hidden name.
type removal struct{ id, dir string }

// removals are those that become durable together, a little later: a crash before that brings back
// an upload that the archive has, as one that was being sent.
type removals struct {
	work sync.WaitGroup
	// ending is closed, under mu, by the first call of end.
	ending chan struct{}

	syncing sync.Mutex // while some are made durable

	mu    sync.Mutex
	ended bool // +checklocks:mu
	// waiting are not durable yet, and failed could not be made durable.
	waiting, failed []removal // +checklocks:mu
	// busy says that a goroutine takes those that wait.
	busy bool // +checklocks:mu
}

// removeAfter is how long others are waited for.
const removeAfter = 50 * time.Millisecond

// add takes over the directory of a removed upload of s.
func (q *removals) add(s *Spool, r removal) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting = append(q.waiting, r)
	if !q.busy {
		q.busy = true
		q.work.Go(func() { q.run(s) })
	}
}

// end makes durable those that wait. No more come.
func (q *removals) end() {
	q.mu.Lock()
	if !q.ended {
		q.ended = true
		close(q.ending)
	}
	q.mu.Unlock()
	q.work.Wait()
}

func (q *removals) run(s *Spool) {
	for goOn := true; goOn; {
		select {
		case <-time.After(removeAfter):
		case <-q.ending:
		}
		_ = q.sync(s) // which says so
		q.mu.Lock()
		goOn = len(q.waiting) > 0
		q.busy = goOn
		q.mu.Unlock()
	}
}

// sync makes durable all that were added before.
func (q *removals) sync(s *Spool) error {
	q.syncing.Lock()
	defer q.syncing.Unlock()
	q.mu.Lock()
	batch := slices.Concat(q.failed, q.waiting)
	q.waiting, q.failed = nil, nil
	q.mu.Unlock()
	durable := make([]func() error, len(batch)) // all are written first: they share a sync
	for i, r := range batch {
		durable[i] = s.writeRemoval(r.id)
	}
	var failed error
	for i, r := range batch {
		err := durable[i]()
		if err == nil {
			s.trash.put(r.dir)
			continue
		}
		err = fmt.Errorf("remove upload %s: %w", r.id, s.saw(err))
		s.log.Warn(err)
		q.mu.Lock()
		q.failed = append(q.failed, r)
		q.mu.Unlock()
		failed = errors.Join(failed, err)
	}
	return failed
}

// SyncRemovals returns when no crash of the machine brings back an upload that was removed. Until
// then a document that was uploaded must keep its name, place and content: the next start would look
// for it as it was sent, and send it again.
func (s *Spool) SyncRemovals() error { return s.removals.sync(s) }

// checkpoints is how many uploads are made durable in place at a time.
const checkpoints = 8

// checkpoint makes uploads durable in place, or their removal. It does not take Upload.mu: whoever holds
// that may wait for the log.
func (s *Spool) checkpoint(ids []string) error {
	var group errgroup.Group
	group.SetLimit(checkpoints)
	for _, id := range ids {
		group.Go(func() error {
			err := s.checkpointUpload(id)
			if err != nil {
				s.unsynced.Store(id, true)
				return fmt.Errorf("upload %s: %w", id, s.saw(err))
			}
			s.unsynced.Delete(id)
			return nil
		})
	}
	return errors.Join(group.Wait(), durable.SyncDir(s.dir))
}

// checkpointUpload makes an upload durable in place, but for the name of its directory.
func (s *Spool) checkpointUpload(id string) error {
	dir := filepath.Join(s.dir, id)
	u, ok := s.Get(id)
	_, again := s.unsynced.Load(id)
	if again && ok {
		u.content.mu.Lock()
		defer u.content.mu.Unlock()
	}
	for _, name := range []string{dataFile(id), recordFile} {
		if err := checkpointFile(filepath.Join(dir, name), again); err != nil {
			return err
		}
	}
	if err := durable.SyncDir(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// checkpointFile makes a file durable, if it is one. If an earlier sync of it may have failed the bytes are written
// again, because the kernel does not sync what it could not write.
func checkpointFile(path string, again bool) error {
	f, err := os.OpenFile(path, os.O_RDWR|unix.O_NOFOLLOW, 0) //nolint:gosec // below the spool's own directory
	if ofDisk(err) {
		return err
	}
	if err != nil {
		return nil //nolint:nilerr // it was removed, or is no file
	}
	defer f.Close() //nolint:errcheck // what was written is synced
	if again {
		if err := rewrite(f); err != nil {
			return err
		}
	}
	return f.Sync()
}

// rewrite writes the bytes of a file over themselves.
func rewrite(f *os.File) error {
	buf := make([]byte, 128<<10)
	for off := int64(0); ; {
		n, err := f.ReadAt(buf, off)
		if _, err := f.WriteAt(buf[:n], off); err != nil {
			return err
		}
		off += int64(n)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
