package spool

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/archivefs/archivefs/archive"
	forgetful "github.com/archivefs/archivefs/internal/lab/faultlab/disk"
	"github.com/archivefs/archivefs/internal/testing/fusetest"
)

var (
	depth   = flag.Int("depth", 2, "operations of a history after its file was written")
	crashes = flag.Uint64("crashes", 1, "crashes of the machine at the end of each history")
)

// act is what happens to a file. Its error is what a program or a person is told.
type act struct {
	name string
	do   func(*world) error
}

func acts() []act {
	update := func(edit func(*Record)) func(*world) error {
		return func(w *world) error { return w.file.Update(edit) }
	}
	deliver := func(o outcome) func(*world) error {
		return func(w *world) error {
			w.archive.script = []outcome{o}
			_, err := DeliverWith(context.Background(), w.file, w.archive, nil, w.policy())
			return err
		}
	}
	return []act{
		{"append", func(w *world) error { return w.write(strings.Repeat("xyz", 30_000), len(w.content)) }}, // into a file of its own
		{"overwrite", func(w *world) error { return w.write("Q", 0) }},
		{"truncate", (*world).truncate},
		{"fsync", func(w *world) error { return w.keeps(w.file.Sync(false)) }},
		{"close among others", func(w *world) error { return w.keeps(w.file.Sync(true)) }},
		{"close, sync", func(w *world) error { return w.file.Commit(false, func(*Record) {}) }},
		{"close, queued", func(w *world) error { return w.keeps(w.file.Commit(true, func(*Record) {})) }},
		{"close of a working name", func(w *world) error { return w.keeps(w.file.Keep("", func(*Record) {})) }},
		{"recall", func(w *world) error { return w.file.Recall() }},
		{"rename", update(func(r *Record) { r.Name = "renamed.pdf" })},
		{"setxattr", update(func(r *Record) { r.Keywords = []string{"word"} })},
		{"killed", func(w *world) error { return w.keeps(w.file.Fail("killed", false)) }},
		{"retry", func(w *world) error { return w.keeps(w.file.Retry(false)) }},
		{"written again", func(w *world) error { return w.file.Reopen() }},
		{"unlink", (*world).unlink},
		{"delivered", deliver(outcome{commit: true})},
		{"delivered, answer lost", deliver(outcome{commit: true, err: kindErr(archive.KindInterrupted)})},
		{"request lost", deliver(outcome{err: kindErr(archive.KindInterrupted)})},
		{"refused", deliver(outcome{err: kindErr(archive.KindForbidden)})},
		{"service away", deliver(outcome{err: kindErr(archive.KindUnreachable)})},
	}
}

// world is one run of a history: a spool on a disk, with one file in it, beside another one that is queued.
type world struct {
	archive *fakeArchive
	now     time.Time
	spool   *Spool
	file    *Upload
	content []byte
	// held are the contents that the file had since somebody was told that it is safe; nil before that.
	held    [][]byte
	removed bool
	// stopAt is the Point of the last operation at which everything stops, counted from 1; 0 for none. Points counts
	// those that it passes, and last says that it has begun.
	stopAt, points int
	last           bool
}

// errStopped is what happens from the point on at which everything stops.
var errStopped = errors.New("everything stops")

func (w *world) fault(Point) error {
	if !w.last {
		return nil
	}
	if w.points++; w.stopAt > 0 && w.points >= w.stopAt {
		return errStopped
	}
	return nil
}

func (w *world) open(dir, boot string) (err error) {
	w.spool, err = Open(Options{
		Dir: filepath.Join(dir, "spool"), Boot: boot, JournalSize: 256 << 10, RetryFor: time.Second, LateBy: time.Second,
		Now:   func() time.Time { return w.now },
		Sleep: func(_ context.Context, d time.Duration) error { w.now = w.now.Add(d); return nil },
		Fault: w.fault,
	})
	return err
}

func (w *world) policy() Policy {
	return Policy{RetryFor: time.Second, Attempts: 1, Queue: w.file.State().InQueue()}
}

func (w *world) write(text string, off int) error {
	if _, err := w.file.WriteAt([]byte(text), int64(off)); err != nil {
		return err
	}
	next := append(bytes.Clone(w.content[:off]), text...)
	w.become(append(next, w.content[min(len(next), len(w.content)):]...))
	return nil
}

func (w *world) truncate() error {
	if err := w.file.Truncate(2); err != nil {
		return err
	}
	w.become(bytes.Clone(w.content[:2]))
	return nil
}

func (w *world) become(content []byte) {
	w.content = content
	if w.held != nil {
		w.held = append(w.held, content)
	}
}

// keeps notes that the bytes are safe from now on.
func (w *world) keeps(err error) error {
	if err == nil {
		w.held = [][]byte{w.content}
	}
	return err
}

func (w *world) unlink() error {
	err := w.file.Remove()
	w.removed = err == nil
	return err
}

// errNever says that a history cannot happen, because the state of the file refuses an operation.
var errNever = errors.New("it cannot happen")

// begin makes the files and does what a history says. It returns the state before and after the last operation.
func (w *world) begin(dir string, history []act) (before, after State, err error) {
	if err := w.open(dir, "one"); err != nil {
		return "", "", err
	}
	record := func(name string) Record { return Record{Folder: 7, Path: "A/B", Name: name} }
	beside, err := w.spool.Create(record("beside.pdf"))
	if err == nil {
		_, err = beside.WriteAt([]byte("beside"), 0)
	}
	if err == nil {
		err = enqueue(beside)
	}
	if err == nil {
		w.file, err = w.spool.Create(record("file.pdf"))
	}
	if err == nil {
		err = w.write("1234", 0)
	}
	if err != nil {
		return "", "", err
	}
	for i, o := range history {
		before, w.last = w.file.State(), i == len(history)-1
		err := o.do(w)
		var refused *StateError
		if w.removed && !w.last || errors.As(err, &refused) || errors.Is(err, ErrIncomplete) {
			return "", "", errNever
		}
	}
	w.last = false
	return before, w.file.State(), nil
}

// judge looks at what the next run finds, has it send everything, and says what is broken.
func (w *world) judge(dir, boot string, before, after State) error {
	id := w.file.ID()
	if err := w.open(dir, boot); err != nil {
		return err
	}
	defer w.spool.free() //nolint:errcheck // it is thrown away
	found, there := w.spool.Get(id)
	stopped := w.stopAt > 0 // in the middle: nobody was told how the last operation ended
	waits := after.InQueue() && !w.removed && (!stopped || before.InQueue())
	archived := after == Confirmed && !stopped
	switch {
	case w.removed && !stopped && w.held != nil && there && before != Confirmed: // that is looked for
		return fmt.Errorf("what was removed has come back, %s", stateOf(found))
	case waits && (!there || !found.State().InQueue() && found.State() != Confirmed):
		return fmt.Errorf("what a close was told is queued is lost: it is there %v, %s", there, stateOf(found))
	case w.held != nil && !w.removed && after != Confirmed && (there || !stopped):
		if !there {
			return errors.New("what was safe is gone")
		}
		got, err := io.ReadAll(io.NewSectionReader(found, 0, found.Size()))
		if err != nil || !mixed(got, w.held) {
			return fmt.Errorf("the bytes are %.9q, %w; those that were safe: %.9q", got, err, w.held)
		}
	}
	for range 3 {
		for _, u := range w.spool.List() {
			if err := w.sendOn(u); err != nil {
				return err
			}
		}
	}
	counts := map[string]int{}
	for _, d := range w.archive.docs {
		counts[string(d.bytes)]++
	}
	for content, n := range counts {
		if n > 1 {
			return fmt.Errorf("%.9q is in the archive %d times", content, n)
		}
	}
	if counts["beside"] != 1 {
		return errors.New("the file beside it is not in the archive")
	}
	if delete(counts, "beside"); (waits || archived) && counts[string(w.content)] != 1 {
		return fmt.Errorf("%.9q is not in the archive, which has %d others", w.content, len(counts))
	}
	return nil
}

// mixed reports whether a file has what several contents have in common, the first of which was synced: a crash leaves
// anything where it was being changed.
func mixed(got []byte, of [][]byte) bool {
	shortest := slices.MinFunc(of, func(a, b []byte) int { return cmp.Compare(len(a), len(b)) })
	if len(got) < len(shortest) {
		return false
	}
	for i, b := range shortest {
		changed := slices.ContainsFunc(of, func(c []byte) bool { return c[i] != b })
		if got[i] != b && !changed {
			return false
		}
	}
	return true
}

// sendOn does what the next mount, and a person, do with an upload.
func (w *world) sendOn(u *Upload) (err error) {
	w.archive.script = nil
	w.now = w.now.Add(time.Minute)
	switch r := u.Record(); {
	case r.State == Confirmed:
		return u.Remove()
	case r.State.InQueue():
		if r.State == Recalled {
			err = u.Recommit()
		}
		if err == nil {
			_, err = DeliverWith(context.Background(), u, w.archive, nil, Policy{RetryFor: time.Second, Attempts: 1, Queue: true})
		}
	case r.State == Committed, r.State == Sending:
		_, _ = Resolve(context.Background(), u, w.archive, true) // it is lost if it is not found
	case r.State.IsFailed() && r.State != Unusable && !r.Incomplete():
		err = u.Retry(false)
	case r.State.Written() && r.State != Local:
		return fmt.Errorf("it is %s after a restart", r.State)
	}
	return err
}

func stateOf(u *Upload) State {
	if u == nil {
		return ""
	}
	return u.State()
}

// TestShortHistories runs every history of so many operations. Each ends by the end of the program, and by crashes of
// the machine that take any of what was not synced: after its last operation, and at each Point in that.
func TestShortHistories(t *testing.T) {
	fusetest.Need(t)
	dir := t.TempDir()
	var ran, never, ends int
	var walk func(history []act)
	walk = func(history []act) {
		points := 0
		for stopAt := 0; len(history) > 0 && stopAt <= points; stopAt++ {
			for seed := range *crashes + 1 {
				n, err := once(dir, history, stopAt, seed)
				if errors.Is(err, errNever) {
					never++
					return // nor can what begins so
				}
				if stopAt == 0 {
					points = n
				}
				if ends++; err != nil {
					t.Errorf("%s: %v", describe(history, stopAt, seed), err)
				}
			}
		}
		ran++
		if len(history) == *depth {
			return
		}
		for _, o := range acts() {
			walk(append(slices.Clone(history), o))
		}
	}
	walk(nil)
	t.Logf("%d histories of up to %d operations, %d ends; %d cannot happen", ran-1, *depth, ends, never)
	if ran == 1 {
		t.Error("nothing ran")
	}
}

// once runs one history on a disk of its own, and returns how many points its last operation passes. The seed 0 ends
// the program, any other crashes the machine.
func once(dir string, history []act, stopAt int, seed uint64) (points int, err error) {
	d := forgetful.New()
	m, err := d.Mount(dir)
	if err != nil {
		return 0, err
	}
	w := &world{archive: newFake(), now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), stopAt: stopAt}
	before, after, err := w.begin(dir, history)
	if w.spool != nil {
		err = errors.Join(err, w.spool.free())
	}
	boot := "one"
	if seed > 0 && err == nil {
		boot = "two"
		if err := m.Unmount(); err != nil {
			return 0, err
		}
		d.Crash(rand.New(rand.NewPCG(seed, 0)))
		if m, err = d.Mount(dir); err != nil {
			return 0, err
		}
	}
	if err == nil {
		err = w.judge(dir, boot, before, after)
	}
	return w.points, errors.Join(err, m.Unmount())
}

func describe(history []act, stopAt int, seed uint64) (s string) {
	for _, o := range history {
		s += o.name + ", "
	}
	if stopAt > 0 {
		s += fmt.Sprintf("at point %d ", stopAt)
	}
	if seed == 0 {
		return s + "the program ends"
	}
	return fmt.Sprintf("%sthe machine crashes (%d)", s, seed)
}
