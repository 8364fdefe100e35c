package blob

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/sirupsen/logrus"
	"golang.org/x/sync/errgroup"

	"github.com/archivefs/archivefs/internal/durable"
	"github.com/archivefs/archivefs/internal/journal"
)

const (
	// mostLogged is the most bytes of contents that are published together through the journal. More of them
	// are synced in place: they would be written twice, and the syncs cost less than that.
	mostLogged = 1 << 20
	// syncers is how many contents are synced in place at a time.
	syncers = 32
)

// mostLog is how many segments the journal has before the contents of the oldest are made durable in place.
const mostLog = 8

// loggedContent is a content whose file is not durable, and where the journal has it.
type loggedContent struct {
	digest string
	at     journal.Pos
}

// KeepLog has small contents published through a journal in the directory, with segments of so many bytes: their bytes
// are synced there, which is one sync for all that arrive together, and their files are synced later. It first repairs
// the files of the contents that an earlier run left in its journal. It must be called before Publish, if at
// all, and ends with Close.
func (f *Files) KeepLog(size int64, log logrus.FieldLogger) error {
	var failed error
	opened, err := journal.Open(journal.Options{
		Dir: f.dir, Size: size, Most: mostLog, Log: log, Move: f.checkpointLog,
		Damaged: func(journal.Pos) { log.Error("the journal of contents is damaged") },
		Replay: func(e journal.Replayed) {
			failed = errors.Join(failed, f.replay(&e))
			f.noteLogged(e.Key, e.At)
		},
	})
	if err == nil {
		f.log = opened
		if err = failed; err == nil {
			err = opened.Scrub()
		}
	}
	if err != nil {
		return fmt.Errorf("contents: %w", err)
	}
	return nil
}

// Close makes what is in the journal durable in place.
func (f *Files) Close() error {
	if f.log != nil {
		return errors.Join(f.log.Scrub(), f.log.Close())
	}
	if f.past.close != nil {
		f.past.close()
	}
	return nil
}

// noteLogged takes note of a content that is in the journal.
func (f *Files) noteLogged(digest string, at journal.Pos) {
	f.logging.Lock()
	defer f.logging.Unlock()
	f.logged = append(f.logged, loggedContent{digest, at})
}

// checkpointLog makes durable in place what the journal has before a place.
func (f *Files) checkpointLog(before journal.Pos) error {
	f.logging.Lock()
	var digests []string
	var done []loggedContent
	f.logged = slices.DeleteFunc(f.logged, func(c loggedContent) bool {
		if c.at < before {
			digests, done = append(digests, c.digest), append(done, c)
		}
		return c.at < before
	})
	f.logging.Unlock()
	slices.Sort(digests)
	if err := f.checkpoint(slices.Compact(digests)); err != nil {
		f.logging.Lock()
		defer f.logging.Unlock()
		f.logged = append(done, f.logged...)
		return err
	}
	for _, c := range done {
		f.log.Release(c.at)
	}
	return nil
}

// Scrub makes removals durable, and removes from the log what it still has of contents that were removed.
// Those that it has besides are made durable in place first.
func (f *Files) Scrub(context.Context) error {
	shards, err := filepath.Glob(filepath.Join(f.dir, "[0-9a-f][0-9a-f]"))
	for _, dir := range shards {
		err = errors.Join(err, durable.SyncDir(dir))
	}
	if err == nil && f.log != nil {
		err = f.log.Scrub()
	}
	if err != nil {
		return fmt.Errorf("scrub contents: %w", err)
	}
	return nil
}

// publishLogged makes contents durable in the log, or in place if that has no room. It gives them their
// places while the log is being synced.
func (f *Files) publishLogged(files []*stagedFile) error {
	var appending sync.WaitGroup
	errs := make([]error, len(files))
	f.placing.RLock()
	for i, staged := range files {
		appending.Go(func() {
			errs[i] = f.append(staged)
		})
	}
	err := f.place(files, f.placeShard, rename)
	f.placing.RUnlock()
	appending.Wait()
	if err != nil {
		return err
	}
	var refused []string
	for i, err := range errs {
		if err != nil {
			refused = append(refused, files[i].digest)
		}
	}
	if len(refused) == 0 {
		return nil
	}
	if err := f.checkpoint(refused); err != nil {
		return fmt.Errorf("publish content: %w", errors.Join(append(errs, err)...))
	}
	return nil
}

// append makes a content durable in the journal.
func (f *Files) append(staged *stagedFile) error {
	body := make([]byte, staged.size)
	if _, err := staged.reader().ReadAt(body, 0); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	w, err := f.log.Append(journal.Entry{Key: staged.digest, Body: body})
	if err != nil {
		return err
	}
	f.noteLogged(staged.digest, w.At)
	return f.log.Sync(w.At)
}

// rename gives files their names, which become durable later.
func rename(named []durable.Named) error {
	for _, n := range named {
		if err := os.Rename(n.File.Name(), n.Path); err != nil {
			return err
		}
	}
	return nil
}

// checkpoint makes contents durable in place. Removed ones are left out.
func (f *Files) checkpoint(digests []string) error {
	f.awaitPlaces()
	var group errgroup.Group
	group.SetLimit(syncers)
	shards := map[string]bool{}
	for _, digest := range digests {
		group.Go(func() error { return f.syncFile(digest) })
		shards[digest[:2]] = true
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for shard := range shards {
		if err := f.makeShard(shard); err != nil {
			return err
		}
		group.Go(func() error { return durable.SyncDir(filepath.Join(f.dir, shard)) })
	}
	return group.Wait()
}

// awaitPlaces waits until the contents that the log has by now are in place, or could not be placed.
// Without it, one that is on its way would pass for a removed one.
func (f *Files) awaitPlaces() {
	f.placing.Lock()
	defer f.placing.Unlock()
}

// syncFile syncs the file of a content. After a failure it makes a new one: the bytes of the first one
// may never reach the disk, and another sync would not say so.
func (f *Files) syncFile(digest string) error {
	path := f.path(digest)
	file, err := os.Open(path) //nolint:gosec // named by a digest
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // nothing was written
	if _, failed := f.unsynced.Load(digest); !failed {
		if err = file.Sync(); err == nil {
			return nil
		}
		f.unsynced.Store(digest, true)
	}
	content, rerr := io.ReadAll(io.LimitReader(file, mostLogged+1))
	if rerr != nil || !is(content, digest) {
		return errors.Join(fmt.Errorf("content %s: %w", digest, ErrDamaged), err, rerr)
	}
	if err := durable.WriteFile(path, content, 0o600); err != nil {
		return err
	}
	f.unsynced.Delete(digest)
	return nil
}

// is reports whether a content has a digest.
func is(content []byte, digest string) bool {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:]) == digest
}

// replay writes again a content that a crash has lost or torn. Checkpoint follows. Removed ones
// come back, and are swept like all that an interrupted run left.
func (f *Files) replay(e *journal.Replayed) error {
	if !valid(e.Key) {
		return nil
	}
	path := f.path(e.Key)
	there, err := os.ReadFile(path) //nolint:gosec // named by a digest
	if err == nil && is(there, e.Key) {
		return nil
	}
	content, _ := e.Whole()
	if !is(content, e.Key) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return durable.WriteFile(path, content, 0o600)
}

// past is the journal of a service that may have been interrupted, for those who only look.
type past struct {
	once    sync.Once
	entries map[string]journal.Replayed
	close   func()
}

// inLog returns a content that the journal has, nil without one. Only the next service repairs the file of a
// content that a crash of the machine has lost or torn; until then the journal has it.
func (f *Files) inLog(digest string) io.ReadSeekCloser {
	if !f.view {
		return nil
	}
	f.past.once.Do(func() {
		entries := map[string]journal.Replayed{}
		done, err := journal.Read(f.dir, func(e journal.Replayed) { entries[e.Key] = e })
		if err == nil { // else there is what is in place
			f.past.close, f.past.entries = done, entries
		}
	})
	e, ok := f.past.entries[digest]
	if !ok {
		return nil
	}
	content, whole := e.Whole()
	if !whole || !is(content, digest) {
		return nil // a running service has used its place again, and has synced the file before
	}
	return memoryFile{bytes.NewReader(content)}
}

// memoryFile is an open content in memory.
type memoryFile struct{ *bytes.Reader }

// Close implements io.Closer.
func (memoryFile) Close() error { return nil }
