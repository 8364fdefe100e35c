package journal

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/sirupsen/logrus"

	"github.com/archivefs/archivefs/internal/durable"
)

const (
	// last is what entries with large bodies leave of a segment while there is no other one, in bytes: on a full disk
	// it can still be written down what became of what is here.
	last = 64 << 10
	// spares bounds how many free segments are kept for the next entries.
	spares = 8
	// few is how many segments there must be before any of them is emptied.
	few = 4
)

// Entry is what is appended.
type Entry struct {
	Key     string // of what it is about
	Kind    byte   // what it says, in the words of the owner
	Durable bool   // whoever appends it waits until it is durable (Sync)
	Void    bool   // nothing needs it itself: it ends what others say
	Arg     int64  // a number of the owner's
	Body    []byte
}

// Written is where an entry is.
type Written struct {
	At    Pos // what Sync and Release are given
	Bytes Pos // of the body
}

// Replayed is an entry that an earlier run left.
type Replayed struct {
	Entry // Body is there if Whole is set
	Written
	Size int64 // of the body, in bytes
	// Current says that it is of this run of the machine, so that no crash took anything of it.
	Current bool
	whole   func() ([]byte, bool)
}

// Whole returns the body, and false if it is damaged.
func (r *Replayed) Whole() ([]byte, bool) { return r.whole() }

// Options configure a log. Dir and Size are required.
type Options struct {
	// Dir is the directory of the segments. It exists, and no other process has a log there.
	Dir string
	// Size is that of a segment, in bytes. One with an entry that needs more is larger.
	Size int64
	// Boot names the run of the machine, since only a crash of it takes what is not synced; empty if that is not known.
	Boot string
	// Replay is called by Open for each entry of an earlier run, oldest first.
	Replay func(Replayed)
	// Damaged is called by Open, before Replay, for each place at which something is missing that was durable.
	Damaged func(Pos)
	// Move appends anew what the owner needs of the entries before a place, or makes it durable elsewhere, and
	// releases those. There is one call at a time.
	Move func(before Pos) error
	// Most is how many segments there are at most before the oldest is emptied, however little of it is void; 0 for no
	// bound.
	Most int
	Log  logrus.FieldLogger
}

// Log is an append-only log. Its methods may be called concurrently. After Close an Append fails with os.ErrClosed.
type Log struct {
	o       Options
	work    sync.WaitGroup
	buffers sync.Pool // of *[]byte

	mu sync.Mutex
	// changed tells that a sync has ended.
	changed *sync.Cond
	// segments are in their order. The last one takes entries if it is active.
	segments []*segment // +checklocks:mu
	active   bool       // +checklocks:mu
	// spare are free, the one first that was free first.
	spare []*segment // +checklocks:mu
	// number is that of the last segment, and end where its entries end.
	number uint64 // +checklocks:mu
	end    Pos    // +checklocks:mu
	// durable is up to where everything is durable.
	durable Pos // +checklocks:mu
	// named says that the directory has a name that is not durable.
	named   bool // +checklocks:mu
	files   int  // +checklocks:mu
	syncing bool // +checklocks:mu
	// moving says that the oldest segment is being emptied, and stuck that this failed since one was begun.
	moving bool // +checklocks:mu
	stuck  bool // +checklocks:mu
	closed bool // +checklocks:mu
}

// Open opens the log in a directory, and replays what an earlier run left.
func Open(o Options) (*Log, error) {
	l := &Log{o: o}
	l.changed = sync.NewCond(&l.mu)
	l.buffers.New = func() any { return new([]byte) }
	segments, err := openSegments(o.Dir, os.O_RDWR)
	if err == nil {
		err = l.recover(segments)
	}
	if err != nil {
		closeAll(segments)
		return nil, fmt.Errorf("open journal: %w", err)
	}
	return l, nil
}

// recover replays the entries of segments, and makes durable what counts of them.
func (l *Log) recover(segments []*segment) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.files = len(segments)
	all, damaged, synced := judge(segments, l.o.Boot)
	var kept [][]found
	for i, s := range segments {
		if l.number = s.number; len(all[i]) > 0 {
			kept = append(kept, all[i])
		}
	}
	segments = slices.DeleteFunc(segments, func(s *segment) bool {
		if s.end == block { // it never had an entry, or none that counts
			_ = errors.Join(s.Close(), os.Remove(s.Name()))
		}
		return s.end == block
	})
	if !synced {
		for _, s := range segments {
			if err := durable.SyncData(s.File); err != nil {
				return err
			}
		}
	}
	if len(segments) > 0 {
		if err := durable.SyncDir(l.o.Dir); err != nil { // whoever made one may have ended before that
			return err
		}
	}
	for i, s := range segments {
		s.all = len(kept[i])
		for _, f := range kept[i] {
			if f.Key != "" { // else it is the mark of Close
				s.live++
			}
		}
		s.synced = s.end
		l.end = pos(s.number, s.end)
	}
	l.segments, l.durable = segments, l.end
	l.mu.Unlock() // the owner releases what it does not need
	defer l.mu.Lock()
	for _, at := range damaged {
		l.o.Damaged(at)
	}
	replay(segments, kept, l.o.Boot, l.o.Replay)
	return nil
}

func replay(segments []*segment, kept [][]found, boot string, entry func(Replayed)) {
	for i, s := range segments {
		for _, f := range kept[i] {
			if f.Key == "" {
				continue
			}
			entry(Replayed{
				Entry: f.Entry, Written: Written{f.at, f.body}, Size: f.size, Current: boot != "" && s.boot == boot,
				whole: func() ([]byte, bool) { return s.whole(&f) },
			})
		}
	}
}

// judge returns the entries of each segment that count, and sets where those end; the places at which something is
// missing that was durable; and whether all that counts was durable. A crash took nothing of the run of the machine boot.
func judge(segments []*segment, boot string) (kept [][]found, damaged []Pos, synced bool) {
	all := make([][]found, len(segments))
	var mark Pos // what lies before it was durable
	for i, s := range segments {
		all[i] = s.entries()
		for _, f := range all[i] {
			mark = max(mark, f.durable)
		}
	}
	kept = make([][]found, len(segments))
	synced = true
	whole := true // nothing is missing so far of what was not durable
	for i, s := range segments {
		s.end = block
		if j := slices.IndexFunc(segments[:i], func(e *segment) bool { return e.number == s.before.number() }); j >= 0 && s.before.offset() > segments[j].end {
			if s.before <= mark {
				damaged = append(damaged, s.before)
			} else {
				whole = false
			}
		}
		limit := pos(s.number+1, 0)
		for _, later := range segments[i+1:] {
			if later.before > 0 { // what is behind it was lost
				limit = min(limit, later.before)
			}
		}
		for _, f := range all[i] {
			gap := f.at.offset() != s.end
			there := f.at < mark || boot != "" && s.boot == boot
			synced = synced && f.at < mark
			switch {
			case f.at >= limit:
				continue
			case there && gap:
				damaged = append(damaged, f.at)
			case there:
			case !whole || gap:
				whole = false
				continue
			default:
				if _, whole = s.whole(&f); !whole {
					continue
				}
			}
			kept[i] = append(kept[i], f)
			s.end = f.next()
		}
	}
	return kept, damaged, synced
}

// Append writes an entry. It survives an end of the program.
func (l *Log) Append(e Entry) (Written, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.append(e)
}

// +checklocks:l.mu
func (l *Log) append(e Entry) (Written, error) {
	if l.closed {
		return Written{}, fmt.Errorf("journal: %w", os.ErrClosed)
	}
	p := l.buffers.Get().(*[]byte) // of New
	defer l.buffers.Put(p)
	n := padded(int64(atKey + len(e.Key) + len(e.Body)))
	s, err := l.room(n)
	if err != nil {
		return Written{}, fmt.Errorf("journal: %w", err)
	}
	s.encode(p, e, s.end, l.durable)
	if _, err := s.WriteAt(*p, s.end); err != nil {
		s.err = err
		return Written{}, fmt.Errorf("journal: %w", err)
	}
	at := pos(s.number, s.end)
	s.end += n
	l.end = pos(s.number, s.end)
	if s.all++; !e.Void {
		s.live++
	}
	return Written{at, at + Pos(atKey+len(e.Key))}, nil
}

// room returns a segment with room for n bytes.
// +checklocks:l.mu
func (l *Log) room(n int64) (*segment, error) {
	var s *segment
	if l.active {
		if s = l.segments[len(l.segments)-1]; s.err == nil && s.end+n <= s.size-min(last, s.size/4) {
			return s, nil
		}
	}
	next, err := l.next(n)
	if err != nil {
		if s != nil && s.err == nil && n < last && s.end+n <= s.size {
			return s, nil
		}
		return nil, err
	}
	if s != nil {
		l.settle(s)
	}
	l.segments, l.active, l.stuck = append(l.segments, next), true, false
	l.empty()
	return next, nil
}

// next begins a segment with room for n bytes.
// +checklocks:l.mu
func (l *Log) next(n int64) (*segment, error) {
	size := max(l.o.Size, 2*n)
	var s *segment
	if i := slices.IndexFunc(l.spare, func(s *segment) bool { return s.size >= size }); i >= 0 {
		s = l.spare[i]
		l.spare = slices.Delete(l.spare, i, i+1)
	} else {
		var f *os.File
		err := os.ErrExist
		for errors.Is(err, os.ErrExist) {
			l.files++
			f, err = durable.OpenFile(filepath.Join(l.o.Dir, fmt.Sprintf("%s%d", prefix, l.files)), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		}
		if err == nil {
			err = durable.Allocate(f, size)
			s = &segment{File: f, size: size}
			l.named = true
		}
		if err != nil {
			return nil, discard(f, err)
		}
	}
	before := l.end
	for _, s := range slices.Backward(l.segments) {
		if s.err == nil {
			break
		}
		before = pos(s.number, max(block, s.synced)) // whoever waited for the rest was told that it is lost
	}
	if err := s.begin(l.number+1, before, l.o.Boot); err != nil {
		return nil, discard(s.File, err)
	}
	l.number++
	l.end = pos(s.number, s.end)
	return s, nil
}

// discard removes a file that has no entries, and returns why.
func discard(f *os.File, why error) error {
	if f != nil {
		why = errors.Join(why, f.Close(), os.Remove(f.Name()))
	}
	return why
}

// ReadAt reads bytes of a body that begin at a place.
func (l *Log) ReadAt(p []byte, at Pos) error {
	l.mu.Lock()
	s := l.find(at)
	l.mu.Unlock()
	if s == nil {
		return fmt.Errorf("journal: %w", os.ErrNotExist)
	}
	if _, err := s.ReadAt(p, at.offset()); err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	return nil
}

// find returns the segment of a place, nil if it is free.
// +checklocks:l.mu
func (l *Log) find(at Pos) *segment {
	i, ok := slices.BinarySearchFunc(l.segments, at.number(), func(s *segment, n uint64) int {
		return int(s.number) - int(n) //nolint:gosec // small numbers
	})
	if !ok {
		return nil
	}
	return l.segments[i]
}

// Sync returns when the entry at a place is durable, and all before it. Those that wait together share a sync. After an
// error the entry may be durable or not.
func (l *Log) Sync(at Pos) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.syncTo(at)
}

// +checklocks:l.mu
func (l *Log) syncTo(at Pos) error {
	for {
		switch s := l.find(at); {
		case s == nil, s.synced > at.offset():
			return nil
		case s.err != nil:
			return fmt.Errorf("journal: %w", s.err)
		case l.syncing:
			l.changed.Wait()
		default:
			l.sync()
		}
	}
}

// Lost reports whether the entry at a place cannot become durable, because a sync has failed. It can still be read, and
// appended anew.
func (l *Log) Lost(at Pos) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.find(at)
	return s != nil && s.err != nil && s.synced <= at.offset()
}

// SyncAll makes all entries durable.
func (l *Log) SyncAll() error {
	l.mu.Lock()
	at := l.end
	l.mu.Unlock()
	return l.Sync(at - 1)
}

// Settle waits until as little of the disk is taken as the entries need, and makes all durable.
func (l *Log) Settle() error {
	l.work.Wait()
	return l.SyncAll()
}

// sync makes durable what is written. It lets go of mu meanwhile.
// +checklocks:l.mu
func (l *Log) sync() {
	var ends []int64
	dirty := slices.DeleteFunc(slices.Clone(l.segments), func(s *segment) bool { return s.err != nil || s.synced == s.end })
	for _, s := range dirty {
		ends = append(ends, s.end)
	}
	end, named := l.end, l.named
	l.named, l.syncing = false, true
	l.mu.Unlock()
	errs := make([]error, len(dirty))
	var nameless error
	if named {
		nameless = durable.SyncDir(l.o.Dir)
	}
	for i, s := range dirty {
		errs[i] = errors.Join(nameless, durable.SyncData(s.File))
	}
	l.mu.Lock()
	l.syncing, l.named = false, l.named || nameless != nil
	for i, s := range dirty {
		switch {
		case s.err != nil: // a write failed meanwhile, or it follows one whose sync did
		case errs[i] == nil:
			s.synced = ends[i]
		default:
			l.fail(s.number, errs[i])
		}
	}
	if errors.Join(errs...) == nil {
		l.durable = end
	}
	l.settleFree()
	l.changed.Broadcast()
}

// fail says that a sync of a segment failed. What follows counts only after what was before it, so that is lost, too.
// +checklocks:l.mu
func (l *Log) fail(number uint64, err error) {
	for _, s := range l.segments {
		if s.number >= number && s.err == nil {
			s.err = err
		}
	}
}

// lost returns the first segment with entries that are needed and cannot become durable.
// +checklocks:l.mu
func (l *Log) lost() *segment {
	for _, s := range l.segments {
		if s.err != nil && s.live > 0 {
			return s
		}
	}
	return nil
}

// Release says that nothing needs the entry at a place any more.
func (l *Log) Release(at Pos) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s := l.find(at); s != nil {
		s.live--
		l.settle(s)
		l.empty()
	}
	l.settleFree()
}

// settle notes up to where the log must be durable before a segment is used again that nothing needs.
// +checklocks:l.mu
func (l *Log) settle(s *segment) {
	if s.live == 0 {
		s.free = l.end
	}
}

// settleFree makes the oldest segments spare that nothing needs.
// +checklocks:l.mu
func (l *Log) settleFree() {
	limit := l.durable
	if s := l.lost(); s != nil { // what its entries took the place of is needed until they are appended anew
		limit = min(limit, pos(s.number, s.synced))
	}
	for len(l.segments) > 0 {
		s := l.segments[0]
		if s.live > 0 || s.free > limit || l.active && len(l.segments) == 1 {
			return
		}
		l.segments, l.spare = l.segments[1:], append(l.spare, s)
		// A later run reads what is left of them, too: what an entry ends must not outlive it, so the oldest goes first.
		for unfit := s.err != nil || s.size != l.o.Size; len(l.spare) > spares || unfit && len(l.spare) > 0; l.spare = l.spare[1:] {
			if err := errors.Join(l.spare[0].Close(), os.Remove(l.spare[0].Name())); err != nil {
				l.o.Log.WithError(err).Warn("a file of the journal could not be removed")
			}
		}
	}
}

// empty has the oldest segment emptied if much of the log is void, and all up to one that lost what is needed.
// +checklocks:l.mu
func (l *Log) empty() {
	dense := 0
	for _, s := range l.segments {
		if 2*s.live >= s.all {
			dense++
		}
	}
	oldest := l.segments[0]
	n := len(l.segments)
	sparse := n > few && (2*oldest.live < oldest.all || n > 2*dense+few)
	lost := l.lost()
	if l.moving || l.stuck || lost == nil && !sparse && (l.o.Most == 0 || n <= l.o.Most) {
		return
	}
	l.moving = true
	before := pos(cmp.Or(lost, oldest).number+1, 0)
	l.work.Go(func() {
		err := l.o.Move(before)
		if err != nil {
			l.o.Log.WithError(err).Warn("the journal could not be made smaller")
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		l.moving, l.stuck = false, err != nil
		for l.syncing {
			l.changed.Wait()
		}
		l.sync()
	})
}

// hold waits until nothing is being emptied, and leaves it so.
func (l *Log) hold() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.moving && !l.closed {
		l.changed.Wait()
	}
	l.moving = true
}

// Scrub removes all that was appended so far, durably, once Move has dealt with it.
func (l *Log) Scrub() error {
	l.hold()
	l.mu.Lock()
	number := l.number
	if l.active {
		l.settle(l.segments[len(l.segments)-1])
		l.active = false
	}
	l.mu.Unlock()
	err := errors.Join(l.o.Move(pos(number+1, 0)), l.Settle())
	l.mu.Lock()
	defer l.mu.Unlock()
	l.moving = false
	l.changed.Broadcast()
	l.settleFree()
	if err == nil && len(l.segments) > 0 && l.segments[0].number <= number {
		err = errors.New("some of it is still needed")
	}
	if err = errors.Join(err, l.dropSpare()); err == nil {
		err = durable.SyncDir(l.o.Dir)
	}
	if err != nil {
		return fmt.Errorf("scrub journal: %w", err)
	}
	return nil
}

// dropSpare removes the files that are spare.
// +checklocks:l.mu
func (l *Log) dropSpare() (err error) {
	for _, s := range l.spare {
		err = errors.Join(err, s.Close(), os.Remove(s.Name()))
	}
	l.spare = nil
	return err
}

// Close makes all entries durable and closes the files, which may belong to another process from then on. Those that
// nothing needs are removed.
func (l *Log) Close() error {
	l.hold()
	err := l.Settle()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.active = false
	if err == nil {
		l.settleFree()
	}
	if err == nil && len(l.segments) > 0 { // say that all before it is durable
		_, err = l.append(Entry{Void: true})
	}
	l.closed = true
	if err == nil {
		err = l.syncTo(l.end - 1)
	}
	err = errors.Join(err, l.dropSpare())
	l.closeFiles()
	return err
}

// Abandon closes the files as the end of the program does.
func (l *Log) Abandon() {
	l.hold()
	l.work.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closeFiles()
}

// +checklocks:l.mu
func (l *Log) closeFiles() {
	closeAll(l.segments)
	closeAll(l.spare)
	l.segments, l.spare, l.active, l.closed = nil, nil, false, true
}

// Read replays the entries of the log in a directory, and changes nothing. A process may be using the log. Their bodies
// can be had until done is called.
func Read(dir string, entry func(Replayed)) (done func(), err error) {
	segments, err := openSegments(dir, os.O_RDONLY)
	if err != nil {
		return nil, fmt.Errorf("read journal: %w", err)
	}
	kept, _, _ := judge(segments, "")
	replay(segments, kept, "", entry)
	return func() { closeAll(segments) }, nil
}

// IsFile reports whether a name in the directory is one of a log's files.
func IsFile(name string) bool { return len(name) > len(prefix) && name[:len(prefix)] == prefix }
