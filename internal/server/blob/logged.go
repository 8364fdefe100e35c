package blob

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/sirupsen/logrus"

	"github.com/archivefs/archivefs/internal/durable"
	"github.com/archivefs/archivefs/internal/journal"
)

const (
	// mostLogged is the most bytes of contents that are published together through the journal. More of them
	// are synced in place: they would be written twice, and the syncs cost less than that.
	mostLogged = 1 << 20
	// mostLog is how many segments the journal has before the contents of the oldest get their files. With twice as
	// many, further contents get theirs at once: they arrive faster than files can be made.
	mostLog = 8
	// abreast is how many contents get their files together.
	abreast = 32
)

// logged are the contents that the journal has and that have no file, by digest.
type logged struct {
	mu    sync.Mutex
	at    map[string]loggedContent // +checklocks:mu
	bytes int64                    // +checklocks:mu
}

// loggedContent is where the journal has a content.
type loggedContent struct {
	entry, body journal.Pos
	size        int64
}

// KeepLog has small contents published through a journal in the directory, with segments of so many bytes: there they
// are durable with one sync for all that arrive together, and are read from there until they get their files. It first
// makes the files of the contents that an earlier run left in its journal. It must be called before Publish, if at
// all, and ends with Close.
func (f *Files) KeepLog(size int64, log logrus.FieldLogger) error {
	var left []journal.Replayed
	opened, err := journal.Open(journal.Options{
		Dir: f.dir, Size: size, Most: mostLog, Log: log, Move: f.checkpoint,
		Damaged: func(journal.Pos) { log.Error("the journal of contents is damaged") },
		Replay:  func(e journal.Replayed) { left = append(left, e) },
	})
	if err == nil {
		f.log, f.crowded = opened, 2*mostLog*size
		for _, e := range left { // Removed ones come back, and are swept like all that an interrupted run left.
			if content, _ := e.Whole(); valid(e.Key) && is(content, e.Key) {
				f.noteLogged(e.Key, loggedContent{e.At, e.Bytes, e.Size})
			} else {
				opened.Release(e.At)
			}
		}
		err = opened.Scrub()
	}
	if err != nil {
		return fmt.Errorf("contents: %w", err)
	}
	return nil
}

// Close gives what is in the journal its files.
func (f *Files) Close() error {
	if f.log != nil {
		return errors.Join(f.log.Scrub(), f.log.Close())
	}
	f.past.close()
	return nil
}

// Scrub makes removals durable, and removes from the log what it still has of contents that were removed.
// Those that it has besides get their files first.
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

// noteLogged takes note of a content that the journal has.
func (f *Files) noteLogged(digest string, c loggedContent) {
	f.dropLogged(digest)
	f.logged.mu.Lock()
	defer f.logged.mu.Unlock()
	f.logged.at[digest] = c
	f.logged.bytes += c.size
}

// inLog returns where the journal has a content that has no file.
func (f *Files) inLog(digest string) (loggedContent, bool) {
	f.logged.mu.Lock()
	defer f.logged.mu.Unlock()
	c, ok := f.logged.at[digest]
	return c, ok
}

// dropLogged says that nobody needs what the journal has of a content.
func (f *Files) dropLogged(digest string) {
	f.logged.mu.Lock()
	c, ok := f.logged.at[digest]
	delete(f.logged.at, digest)
	f.logged.bytes -= c.size
	f.logged.mu.Unlock()
	if ok {
		f.log.Release(c.entry)
	}
}

// takesLogged reports whether contents of so many bytes should be published through the journal.
func (f *Files) takesLogged(size int64) bool {
	if f.log == nil || size > mostLogged {
		return false
	}
	f.logged.mu.Lock()
	defer f.logged.mu.Unlock()
	return f.logged.bytes < f.crowded
}

// publishLogged makes contents durable in the journal, or in place if that has no room.
func (f *Files) publishLogged(files []*stagedFile) error {
	var all []journal.Pos
	var failed error
	for _, staged := range files {
		at, err := f.append(staged)
		failed, all = errors.Join(failed, err), append(all, at)
	}
	for _, at := range slices.Backward(all) { // the last sync is that of most
		if failed == nil {
			failed = f.log.Sync(at)
		}
	}
	if failed == nil {
		return nil
	}
	if err := f.place(files); err != nil {
		return errors.Join(failed, err)
	}
	for _, staged := range files {
		f.dropLogged(staged.digest)
	}
	return nil
}

// append writes a content into the journal, unless that has it.
func (f *Files) append(staged *stagedFile) (journal.Pos, error) {
	if c, ok := f.inLog(staged.digest); ok && !f.log.Lost(c.entry) {
		return c.entry, nil
	}
	body := make([]byte, staged.size)
	if _, err := staged.reader().ReadAt(body, 0); err != nil && !errors.Is(err, io.EOF) {
		return 0, err
	}
	w, err := f.log.Append(journal.Entry{Key: staged.digest, Body: body})
	if err != nil {
		return 0, err
	}
	f.noteLogged(staged.digest, loggedContent{w.At, w.Bytes, staged.size})
	return w.At, nil
}

// checkpoint gives contents that the journal has before a place their files.
func (f *Files) checkpoint(before journal.Pos) error {
	f.logged.mu.Lock()
	var digests []string
	for digest, c := range f.logged.at {
		if c.entry < before {
			digests = append(digests, digest)
		}
	}
	f.logged.mu.Unlock()
	for some := range slices.Chunk(digests, abreast) {
		if err := f.unlog(some...); err != nil {
			return err
		}
	}
	return nil
}

// unlog gives contents their files if they are in the journal. A content is not removed meanwhile: it would come back.
func (f *Files) unlog(digests ...string) error {
	f.placing.Lock()
	defer f.placing.Unlock()
	files, err := f.stageLogged(digests)
	if err == nil {
		err = f.place(files)
	}
	for _, file := range files {
		if err == nil {
			f.dropLogged(file.digest)
		}
		_ = file.Discard()
	}
	return err
}

// stageLogged copies contents from the journal into temporary files, also of those before an error.
func (f *Files) stageLogged(digests []string) (files []*stagedFile, err error) {
	for _, digest := range digests {
		content, err := f.readLogged(digest)
		if err != nil {
			return files, err
		}
		if content == nil {
			continue
		}
		file, err := f.create()
		if err != nil {
			return files, err
		}
		files = append(files, &stagedFile{File: file, from: f.staging, digest: digest})
		if _, err := file.Write(content); err != nil {
			return files, err
		}
	}
	return files, nil
}

// readLogged returns a content that has no file from the journal; nil without one.
func (f *Files) readLogged(digest string) ([]byte, error) {
	if f.view {
		return f.past.read(digest), nil
	}
	for {
		c, ok := f.inLog(digest)
		if !ok {
			return nil, nil
		}
		content := make([]byte, c.size)
		err := f.log.ReadAt(content, c.body)
		if now, _ := f.inLog(digest); now == c { // else its place may have been used again
			return content, err
		}
	}
}

// open opens a content. While it is stored it only moves from the journal to the first of the paths, and from each to the
// next. Who only looks may not see all of the journal at first.
func (f *Files) open(digest string, paths ...string) (io.ReadSeekCloser, error) {
	for last := !f.view; ; last = true {
		content, err := f.readLogged(digest)
		if err != nil {
			return nil, fmt.Errorf("open content: %w", err)
		}
		if content != nil {
			return memoryFile{bytes.NewReader(content)}, nil
		}
		for _, path := range paths {
			file, err := os.Open(path) //nolint:gosec // named by a digest
			if err == nil {
				return file, nil
			}
			if !errors.Is(err, os.ErrNotExist) {
				return nil, fmt.Errorf("open content: %w", err)
			}
		}
		if last {
			return nil, fmt.Errorf("content %s: %w", digest, ErrMissing)
		}
		f.past.look(f.dir)
	}
}

// is reports whether a content has a digest.
func is(content []byte, digest string) bool {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:]) == digest
}

// past is the journal for those who only look. A service may be using it.
type past struct {
	mu      sync.Mutex
	entries map[string]journal.Replayed // +checklocks:mu
	done    func()                      // +checklocks:mu
}

// look reads what the journal in a directory has by now. Without one that can be read there is what has files.
func (p *past) look(dir string) {
	p.close()
	p.mu.Lock()
	defer p.mu.Unlock()
	entries := map[string]journal.Replayed{}
	if done, err := journal.Read(dir, func(e journal.Replayed) { entries[e.Key] = e }); err == nil {
		p.entries, p.done = entries, done
	}
}

// read returns a content that the journal had; nil without one.
func (p *past) read(digest string) []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	e, ok := p.entries[digest]
	if !ok {
		return nil
	}
	content, whole := e.Whole()
	if !whole || !is(content, digest) {
		return nil // a running service has used its place again, and has made the file before
	}
	return content
}

// close ends reading.
func (p *past) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.done != nil {
		p.done()
	}
	p.entries, p.done = nil, nil
}

// memoryFile is an open content in memory.
type memoryFile struct{ *bytes.Reader }

func (memoryFile) Close() error { return nil }
