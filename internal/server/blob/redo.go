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
	"sync"

	"github.com/sirupsen/logrus"
	"golang.org/x/sync/errgroup"

	"github.com/archivefs/archivefs/internal/durable"
	"github.com/archivefs/archivefs/internal/redolog"
)

const (
	// logged is the most bytes of contents that are published together through the log. More of them
	// are synced in place: they would be written twice, and the syncs cost less than that.
	logged = 1 << 20
	// syncers is how many contents are synced in place at a time.
	syncers = 32
)

// LogOptions configure the redo log of Files.
type LogOptions struct {
	// Size is the size of each of its two files, in bytes.
	Size int64
	// Worth is how many small contents are published before the files are made (redolog.Options.Worth).
	Worth int
	Log   logrus.FieldLogger
}

// KeepLog has small contents published through a redo log in the directory: their bytes are synced in the
// log, which is one sync for all that arrive together, and their files are synced later. It first repairs
// the files of the contents that an earlier run left in its log. It must be called before Publish, if at
// all, and ends with Close.
func (f *Files) KeepLog(o LogOptions) error {
	opened, err := redolog.Open(redolog.Options{Dir: f.dir, Size: o.Size, Worth: o.Worth, Replay: f.replay, Checkpoint: f.checkpoint, Log: o.Log})
	if err != nil {
		return fmt.Errorf("contents: %w", err)
	}
	f.log = opened
	return nil
}

// Close makes what is in the log durable in place.
func (f *Files) Close() error {
	if f.log != nil {
		return f.log.Close()
	}
	if f.past.close != nil {
		f.past.close()
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
			errs[i] = f.log.Append(redolog.Entry{Key: staged.digest, Body: staged.reader()})
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
		switch {
		case errors.Is(err, redolog.ErrFull):
			refused = append(refused, files[i].digest)
		case err != nil:
			return fmt.Errorf("publish content: %w", err)
		}
	}
	if len(refused) == 0 {
		return nil
	}
	if err := f.checkpoint(refused); err != nil {
		return fmt.Errorf("publish content: %w", err)
	}
	return nil
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
	content, rerr := io.ReadAll(io.LimitReader(file, logged+1))
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

// replay writes again the contents of entries that a crash has lost or torn. Checkpoint follows. Removed ones
// come back, and are swept like all that an interrupted run left.
func (f *Files) replay(entries []redolog.Entry) error {
	for _, e := range entries {
		if !valid(e.Key) || e.Body == nil {
			continue
		}
		path := f.path(e.Key)
		there, err := os.ReadFile(path) //nolint:gosec // named by a digest
		if err == nil && is(there, e.Key) {
			continue
		}
		content, err := io.ReadAll(e.Body)
		if err != nil {
			return err
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		if err := durable.WriteFile(path, content, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// past is the log of a service that may have been interrupted, for those who only look.
type past struct {
	once    sync.Once
	entries map[string]redolog.Entry
	close   func()
}

// inLog returns a content that the log has, nil without one. Only the next service repairs the file of a
// content that a crash of the machine has lost or torn; until then the log has it.
func (f *Files) inLog(digest string) io.ReadSeekCloser {
	if !f.view {
		return nil
	}
	f.past.once.Do(func() {
		entries, done, err := redolog.Read(f.dir)
		if err != nil { // then there is what is in place
			return
		}
		f.past.close, f.past.entries = done, map[string]redolog.Entry{}
		for _, e := range entries {
			f.past.entries[e.Key] = e
		}
	})
	e, ok := f.past.entries[digest]
	if !ok || e.Body == nil {
		return nil
	}
	content := make([]byte, e.Body.Size())
	if _, err := e.Body.ReadAt(content, 0); err != nil && err != io.EOF || !is(content, digest) {
		return nil // a running service has used its place again, and has synced the file before
	}
	return memoryFile{bytes.NewReader(content)}
}

// memoryFile is an open content in memory.
type memoryFile struct{ *bytes.Reader }

// Close implements io.Closer.
func (memoryFile) Close() error { return nil }
