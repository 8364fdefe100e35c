package redolog

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/sirupsen/logrus"
	"golang.org/x/sys/unix"

	"github.com/archivefs/archivefs/internal/durable"
)

// ErrFull says that the log has no room for an entry now, or no files yet.
var ErrFull = errors.New("the redo log has no room")

// defaultWorth is Options.Worth if that is 0.
const defaultWorth = 8

// roomy is how many times the size of the log must be free on the disk before it is made, so that what the
// log is for does not lack its room.
const roomy = 16

// Options configure a log. All but Worth and Boot are required.
type Options struct {
	// Dir is the directory of the two files. It exists, and no other process has a log there.
	Dir string
	// Size is the size of a new file, in bytes.
	Size int64
	// Worth is how many entries must find no files before these are made: for fewer it would not pay.
	// 0 means 8.
	Worth int
	// Boot names the run of the machine, since only a crash of it loses what is in place. Entries of
	// the same run are checkpointed and not replayed, because what is in place may be newer. If it is
	// empty, all entries of an earlier process are replayed.
	Boot string
	// Replay makes the changes of entries in place again, oldest first; Checkpoint follows. Bodies can be
	// read until it returns.
	Replay func(entries []Entry) error
	// Checkpoint makes durable in place what the last changes of these keys were, removals included.
	Checkpoint func(keys []string) error
	Log        logrus.FieldLogger
}

// Log is a redo log. Its methods may be called concurrently, but none after Close.
type Log struct {
	o          Options
	buffers    sync.Pool // of *[]byte
	background sync.WaitGroup

	mu sync.Mutex
	// changed tells that a sync has ended, or a file was made or checkpointed.
	changed *sync.Cond
	// spare are empty files.
	// +checklocks:mu
	spare []*file
	// active takes entries; nil if there is none.
	// +checklocks:mu
	active *file
	// full are to be checkpointed, the oldest first.
	// +checklocks:mu
	full []*file
	// checkpointing says that a goroutine empties them.
	// +checklocks:mu
	checkpointing bool
	// scrubbing keeps the empty files from being used.
	// +checklocks:mu
	scrubbing bool
	// stuck is why the oldest could not be checkpointed.
	// +checklocks:mu
	stuck error
	// generation is the newest one of both files.
	// +checklocks:mu
	generation uint64
	// missed counts entries that found no files.
	// +checklocks:mu
	missed int
	// made says that both files exist, are being made, or cannot be made.
	// +checklocks:mu
	made bool
}

// Open opens the log in a directory. It first replays and checkpoints what an earlier run left.
func Open(o Options) (*Log, error) {
	if o.Worth == 0 {
		o.Worth = defaultWorth
	}
	l := &Log{o: o}
	l.changed = sync.NewCond(&l.mu)
	l.buffers.New = func() any { return new([]byte) }
	if err := l.open(); err != nil {
		return nil, fmt.Errorf("open redo log: %w", err)
	}
	return l, nil
}

func (l *Log) open() error {
	if err := durable.Sweep(l.o.Dir); err != nil {
		return err
	}
	files, err := openFiles(l.o.Dir, os.O_RDWR)
	if err == nil && len(files) > 0 {
		err = durable.SyncDir(l.o.Dir) // who made them may have ended before
	}
	if err != nil {
		closeFiles(files)
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	err = l.recover(files)
	for _, f := range files {
		if err == nil && f.size == l.o.Size {
			l.spare = append(l.spare, f)
			continue
		}
		if err == nil {
			err = os.Remove(f.Name())
		}
		_ = f.Close()
	}
	l.made = len(l.spare) == len(names)
	return err
}

// recover replays and checkpoints the entries of files.
// +checklocks:l.mu
func (l *Log) recover(files []*file) error {
	var entries []Entry
	var keys []string
	replay := false
	for _, f := range files {
		l.generation = max(l.generation, f.generation)
		found := f.entries()
		for _, e := range found {
			keys = append(keys, e.Key)
		}
		replay = replay || len(found) > 0 && (l.o.Boot == "" || f.boot != l.o.Boot)
		entries = append(entries, found...)
	}
	if len(entries) == 0 {
		return nil
	}
	if replay {
		if err := l.o.Replay(entries); err != nil {
			return fmt.Errorf("replay: %w", err)
		}
	}
	slices.Sort(keys)
	if err := l.o.Checkpoint(slices.Compact(keys)); err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	for _, f := range files { // the older one first: a replay of it alone would undo changes
		l.generation++
		if err := f.begin(l.generation, l.o.Boot); err != nil {
			return err
		}
		if err := durable.SyncData(f.File); err != nil {
			return err
		}
	}
	return nil
}

// Close checkpoints everything and closes the files.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.handOver()
	l.startCheckpoint()
	for l.checkpointing {
		l.changed.Wait()
	}
	err := l.stuck
	l.mu.Unlock()
	l.background.Wait()
	l.mu.Lock()
	closeFiles(slices.Concat(l.spare, l.full))
	l.spare, l.full, l.made = nil, nil, true
	if err != nil {
		return fmt.Errorf("close redo log: %w", err)
	}
	return nil
}

// Scrub makes everything durable in place that the log has by now, and overwrites it with zeros: nothing of
// a change that was undone is left. Callers of Append find no room meanwhile.
func (l *Log) Scrub() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.scrubbing = true
	l.handOver()
	l.startCheckpoint()
	for l.checkpointing {
		l.changed.Wait()
	}
	err, files := l.stuck, slices.Clone(l.spare)
	if err == nil {
		l.mu.Unlock()
		err = zeroFiles(files)
		l.mu.Lock()
	}
	l.scrubbing = false
	if err != nil {
		return fmt.Errorf("scrub redo log: %w", err)
	}
	return nil
}

func zeroFiles(files []*file) error {
	for _, f := range files {
		if err := f.zero(); err != nil {
			return err
		}
	}
	return nil
}

// Abandon closes the files as the end of the program does.
func (l *Log) Abandon() {
	l.mu.Lock()
	defer l.mu.Unlock()
	active := l.active
	l.active = nil
	if active != nil {
		closeFiles([]*file{active})
	}
	closeFiles(slices.Concat(l.spare, l.full))
	l.spare, l.full = nil, nil
}

// Most is the size of the largest body that is appended, in bytes, beside a key and a meta of a few KiB.
func (l *Log) Most() int64 { return l.o.Size / 16 }

// Append makes an entry durable. After any error but ErrFull it may be durable or not.
func (l *Log) Append(e Entry) error {
	w, err := l.Write(e)
	if err != nil {
		return err
	}
	return l.Sync(w)
}

// Written is an entry that Write has written.
type Written struct {
	f          *file
	generation uint64
	end        int64
}

// Write is the first half of Append, and Sync is the other one. Entries that are written before any
// of them is synced share one sync. After an error Sync is not called.
func (l *Log) Write(e Entry) (Written, error) {
	p := l.buffers.Get().(*[]byte) // of New
	defer l.buffers.Put(p)
	if err := encode(p, e); err != nil {
		return Written{}, fmt.Errorf("redo log: %w", err)
	}
	if int64(len(*p)) > l.o.Size-block {
		return Written{}, fmt.Errorf("redo log: an entry of %d bytes: %w", len(*p), ErrFull)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	f, err := l.room(e.Key, int64(len(*p)))
	if err != nil {
		return Written{}, err
	}
	if err := f.append(e.Key, *p); err != nil {
		return Written{}, fmt.Errorf("redo log: %w", err)
	}
	return Written{f, f.generation, f.end}, nil
}

// Sync makes an entry durable that was written.
func (l *Log) Sync(w Written) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.sync(w); err != nil {
		return fmt.Errorf("redo log: %w", err)
	}
	return nil
}

// room returns a file with room for n bytes. If there is none it waits for the sake of a known key.
// +checklocks:l.mu
func (l *Log) room(key string, n int64) (*file, error) {
	for {
		if l.active != nil && l.active.takes(n) {
			if l.active.end > l.active.size/2 && l.stuck == nil { // by now many of these changes are of the past
				l.startCheckpoint()
			}
			return l.active, nil
		}
		l.handOver()
		if len(l.spare) == 0 {
			l.startCheckpoint()
		}
		if len(l.spare) > 0 && !l.scrubbing {
			f := l.spare[0]
			l.generation++
			if err := f.begin(l.generation, l.o.Boot); err != nil {
				return nil, fmt.Errorf("redo log: %w", err)
			}
			l.active, l.spare = f, l.spare[1:]
			continue
		}
		if !slices.ContainsFunc(l.full, func(f *file) bool { return f.keys[key] }) {
			if l.missed++; l.missed >= l.o.Worth && !l.made {
				l.made = true
				l.background.Go(l.make)
			}
			return nil, ErrFull
		}
		if l.changed.Wait(); l.stuck != nil {
			return nil, fmt.Errorf("redo log: %w", l.stuck)
		}
	}
}

// sync makes an entry durable, with all before it. Callers that come during a sync share the next one.
// +checklocks:l.mu
func (l *Log) sync(w Written) error {
	f, generation, end := w.f, w.generation, w.end
	for f.generation == generation && f.durable < end && f.err == nil {
		if f.syncing {
			l.changed.Wait()
			continue
		}
		f.syncing = true
		written := f.end
		l.mu.Unlock()
		err := durable.SyncData(f.File)
		l.mu.Lock()
		if f.syncing = false; f.generation == generation {
			if f.err = err; err == nil {
				f.durable = written
			}
		}
		l.changed.Broadcast()
	}
	if f.generation != generation || f.durable >= end { // checkpointed, or synced
		return nil
	}
	return f.err
}

// handOver ends the active file.
// +checklocks:l.mu
func (l *Log) handOver() {
	if l.active != nil {
		l.full, l.active = append(l.full, l.active), nil
	}
}

// startCheckpoint has the full files checkpointed, also those that could not be checkpointed before.
// +checklocks:l.mu
func (l *Log) startCheckpoint() {
	if len(l.full) > 0 && !l.checkpointing {
		l.checkpointing = true
		l.background.Go(l.checkpoint)
	}
}

// checkpoint empties full files, one after the other: without the newer one, a replay of the older one
// would undo changes.
func (l *Log) checkpoint() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stuck = nil
	for len(l.full) > 0 && l.stuck == nil {
		f := l.full[0]
		keys := f.sorted()
		l.mu.Unlock()
		err := l.o.Checkpoint(keys)
		l.mu.Lock()
		if err == nil {
			l.generation++
			err = f.begin(l.generation, l.o.Boot)
		}
		if err == nil {
			l.mu.Unlock()
			err = durable.SyncData(f.File)
			l.mu.Lock()
		}
		if err != nil {
			l.stuck = fmt.Errorf("checkpoint: %w", err)
			l.o.Log.WithError(err).Error("changes in the redo log could not be made durable in place")
			break
		}
		l.full, l.spare = l.full[1:], append(l.spare, f)
		l.changed.Broadcast()
	}
	l.checkpointing = false
	l.changed.Broadcast()
}

// make makes the files that are missing, if the disk has plenty of room.
func (l *Log) make() {
	var disk unix.Statfs_t
	if err := unix.Statfs(l.o.Dir, &disk); err != nil || int64(disk.Bavail)*int64(disk.Bsize) < 2*roomy*l.o.Size { //nolint:unconvert,gosec // the types differ between systems
		return
	}
	for _, name := range names {
		path := filepath.Join(l.o.Dir, name)
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			continue
		}
		f, err := makeFile(path, l.o.Size)
		if err != nil {
			l.o.Log.WithError(err).Warn("no redo log could be made: small files take longer to be made durable")
			return
		}
		l.mu.Lock()
		l.spare = append(l.spare, f)
		l.changed.Broadcast()
		l.mu.Unlock()
	}
}

// Read returns the entries that the log in a directory has, oldest first, and changes nothing. The bodies can be
// read until the function that it returns is called.
func Read(dir string) (entries []Entry, closeBodies func(), err error) {
	files, err := openFiles(dir, os.O_RDONLY)
	if err != nil {
		return nil, nil, fmt.Errorf("read redo log: %w", err)
	}
	for _, f := range files {
		entries = append(entries, f.entries()...)
	}
	return entries, func() { closeFiles(files) }, nil
}

// openFiles opens the files that exist, the older one first.
func openFiles(dir string, flag int) (files []*file, err error) {
	for _, name := range names {
		f, err := openFile(filepath.Join(dir, name), flag)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			closeFiles(files)
			return nil, err
		}
		files = append(files, f)
	}
	slices.SortFunc(files, func(a, b *file) int { return cmp.Compare(a.generation, b.generation) })
	return files, nil
}

func closeFiles(files []*file) {
	for _, f := range files {
		_ = f.Close()
	}
}
