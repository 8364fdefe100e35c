package journal

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/sirupsen/logrus"
	"github.com/sirupsen/logrus/hooks/test"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const testSize = 64 << 10

// opened is a log with what it told at its start.
type opened struct {
	*Log
	bodies  []string // of the entries that are whole
	damaged []Pos
	moved   []Pos
}

func open(t testing.TB, dir, boot string, change ...func(*Options)) *opened {
	t.Helper()
	log, _ := test.NewNullLogger()
	log.SetLevel(logrus.PanicLevel)
	l := &opened{}
	o := Options{
		Dir: dir, Size: testSize, Boot: boot, Log: log,
		Replay: func(e Replayed) {
			if body, ok := e.Whole(); ok {
				l.bodies = append(l.bodies, string(body))
			}
		},
		Damaged: func(at Pos) { l.damaged = append(l.damaged, at) },
		Move:    func(before Pos) error { l.moved = append(l.moved, before); return nil },
	}
	for _, f := range change {
		f(&o)
	}
	var err error
	if l.Log, err = Open(o); err != nil {
		t.Fatal(err)
	}
	return l
}

func (l *opened) append(t testing.TB, body string) Written {
	t.Helper()
	w, err := l.Append(Entry{Key: "key", Kind: 'k', Arg: int64(len(body)), Body: []byte(body)})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func must1[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func numbered(from, to int) (all []string) {
	for n := from; n < to; n++ {
		all = append(all, fmt.Sprintf("%d %s", n, strings.Repeat("x", n*97%9000)))
	}
	return all
}

// copyOf returns a copy of the files of a log, as an end of the program leaves them.
func copyOf(t testing.TB, dir string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "log")
	must(t, os.CopyFS(to, os.DirFS(dir)))
	return to
}

func TestEntriesAreReplayedInTheirOrder(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir, "one")
	want := numbered(0, 60)
	for _, body := range want {
		w := l.append(t, body)
		got := make([]byte, len(body))
		must(t, l.ReadAt(got, w.Bytes))
		if string(got) != body {
			t.Fatalf("read %q, want %q", got, body)
		}
	}
	must(t, l.SyncAll())
	for run := range 3 { // also after a replay, and behind what that left
		l.Abandon()
		l = open(t, dir, "one")
		if !slices.Equal(l.bodies, want) || l.damaged != nil {
			t.Fatalf("run %d: %d entries, damaged at %v; want %d", run, len(l.bodies), l.damaged, len(want))
		}
		want = append(want, fmt.Sprint("run ", run))
		l.append(t, want[len(want)-1])
	}
	must(t, l.Close())
	if l := open(t, dir, "two"); !slices.Equal(l.bodies, want) {
		t.Error("Close does not make all durable")
	} else {
		must(t, l.Close())
	}
}

func TestAKilledProgramLosesNothing(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir, "one")
	want := numbered(0, 40)
	for _, body := range want {
		l.append(t, body)
	}
	image := copyOf(t, dir)
	must(t, l.Close())
	for _, boot := range []string{"one", "two"} { // nothing is missing, so nothing is in doubt
		l := open(t, copyOf(t, image), boot)
		if !slices.Equal(l.bodies, want) {
			t.Errorf("in run %s %d entries are left of %d", boot, len(l.bodies), len(want))
		}
		must(t, l.Close())
	}
}

// A crash of the machine takes any of the blocks that were not synced. What was synced is there, and of the rest the
// entries before the first that is not whole, also in later runs.
func TestACrashLeavesABeginningOfWhatWasNotSynced(t *testing.T) {
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 0))
		dir := t.TempDir()
		l := open(t, dir, "one")
		synced := numbered(0, 5+rng.IntN(20))
		for _, body := range synced {
			must(t, l.Sync(l.append(t, body).At))
		}
		stable := copyOf(t, dir)
		rest := numbered(100, 101+rng.IntN(20))
		for _, body := range rest {
			l.append(t, body)
		}
		image := copyOf(t, dir)
		l.Abandon()
		lose(t, image, stable, rng)
		l = open(t, image, "two")
		if n := len(synced); len(l.bodies) < n || !slices.Equal(l.bodies[:n], synced) || !slices.Equal(l.bodies[n:], rest[:len(l.bodies)-n]) || l.damaged != nil {
			t.Fatalf("seed %d: %d entries are left, damaged at %v; %d were synced", seed, len(l.bodies), l.damaged, n)
		}
		want := append(l.bodies, "after it")
		must(t, l.Sync(l.append(t, "after it").At))
		l.Abandon()
		if l = open(t, image, "three"); !slices.Equal(l.bodies, want) {
			t.Fatalf("seed %d: what a crash took has come back: %d entries, want %d", seed, len(l.bodies), len(want))
		}
		must(t, l.Close())
	}
}

// lose gives some blocks of the files the bytes that they had when they were last synced.
func lose(t testing.TB, image, stable string, rng *rand.Rand) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(image, prefix+"*"))
	must(t, err)
	for _, path := range files {
		now, err := os.ReadFile(path)
		must(t, err)
		was, err := os.ReadFile(filepath.Join(stable, filepath.Base(path)))
		if errors.Is(err, os.ErrNotExist) {
			was = make([]byte, len(now))
		} else {
			must(t, err)
		}
		for off := 0; off < len(now); off += 512 {
			if rng.IntN(3) == 0 {
				copy(now[off:off+512], was[off:off+512])
			}
		}
		must(t, os.WriteFile(path, now, 0o600))
	}
}

// A damaged block costs the entry that it is of, and is told of unless that is the last one.
func TestADamagedBlockCostsOneEntry(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir, "one")
	all := numbered(0, 30)
	for _, body := range all {
		must(t, l.Sync(l.append(t, body).At))
	}
	must(t, l.Close())
	files, err := filepath.Glob(filepath.Join(dir, prefix+"*"))
	must(t, err)
	for _, path := range files {
		whole, err := os.ReadFile(path)
		must(t, err)
		for off := 0; off < len(whole); off += block {
			image := copyOf(t, dir)
			bad := slices.Clone(whole)
			bad[off+3] ^= 4
			must(t, os.WriteFile(filepath.Join(image, filepath.Base(path)), bad, 0o600))
			l := open(t, image, "two")
			if len(l.bodies) < len(all)-1 {
				t.Fatalf("block %d of %s: %d entries of %d are left", off/block, filepath.Base(path), len(l.bodies), len(all))
			}
			if lost := len(l.bodies) < len(all); lost && l.damaged == nil && off%block == 0 && l.bodies[len(l.bodies)-1] == all[len(all)-1] && headerAt(whole, off) {
				t.Fatalf("block %d of %s: nobody is told", off/block, filepath.Base(path))
			}
			l.Abandon()
		}
	}
}

// headerAt reports whether an entry begins at off.
func headerAt(file []byte, off int) bool {
	return off > 0 && checksum(file[off+4:off+atKey+len("key")]) == uint32(file[off])|uint32(file[off+1])<<8|uint32(file[off+2])<<16|uint32(file[off+3])<<24
}

func TestSegmentsAreUsedAgainOnceNothingNeedsThem(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir, "one")
	for range 40 {
		for _, body := range numbered(0, 20) {
			l.Release(l.append(t, body).At)
		}
		must(t, l.SyncAll())
	}
	if files, err := filepath.Glob(filepath.Join(dir, prefix+"*")); err != nil || len(files) > spares+2 {
		t.Errorf("%d files, %v", len(files), err)
	}
	must(t, l.Close())
	if files, err := os.ReadDir(dir); err != nil || len(files) != 0 {
		t.Errorf("nothing is needed, and left are %v, %v", files, err)
	}
}

// Of what is free, the files that a killed program leaves are those written last: an entry is not there without the one
// that ends it.
func TestWhatEndsAnEntryIsNotRemovedBeforeIt(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir, "one")
	var all []Written
	for _, body := range numbered(0, 400) {
		all = append(all, l.append(t, body))
	}
	for _, w := range all {
		l.Release(w.At)
	}
	must(t, l.SyncAll())
	image := copyOf(t, dir)
	must(t, l.Close())
	l = open(t, image, "one")
	if n := len(l.bodies); n == 0 || !slices.Equal(l.bodies, numbered(400-n, 400)) {
		t.Errorf("left are %d entries, and not the last ones", n)
	}
	must(t, l.Close())
}

// What replaced an entry is durable before the entry is written over.
func TestNothingIsWrittenOverBeforeWhatReplacesItIsDurable(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir, "one")
	must(t, l.Sync(l.append(t, "first").At))
	first := l.oldest()
	kept := l.append(t, "second")
	for _, body := range numbered(0, 60) {
		l.Release(l.append(t, body).At)
	}
	l.Release(first.place(block))
	if l.oldest() != first {
		t.Error("the segment is free, and nothing says so durably")
	}
	l.Release(kept.At)
	must(t, l.SyncAll())
	if l.oldest() == first {
		t.Error("the segment is not free")
	}
	must(t, l.Close())
}

// oldest returns the oldest segment that is not free.
func (l *Log) oldest() *segment {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.segments[0]
}

func (s *segment) place(off int64) Pos { return pos(s.number, off) }

// One entry that is needed for ever does not keep all that came after it.
func TestAnOldEntryIsMoved(t *testing.T) {
	dir := t.TempDir()
	var l *opened
	var old Written
	l = open(t, dir, "one", func(o *Options) {
		o.Move = func(before Pos) error {
			if old.At < before {
				was := old
				old = l.append(t, "old")
				l.Release(was.At)
			}
			return nil
		}
	})
	old = l.append(t, "old")
	for range 50 {
		for _, body := range numbered(0, 20) {
			l.Release(l.append(t, body).At)
		}
		must(t, l.Settle())
	}
	l.mu.Lock()
	n := len(l.segments)
	l.mu.Unlock()
	if n > few+2 {
		t.Errorf("%d segments are in use", n)
	}
	must(t, l.Close())
	if l := open(t, dir, "two"); !slices.Contains(l.bodies, "old") {
		t.Error("the old entry is lost")
	} else {
		must(t, l.Close())
	}
}

// Once a log is closed its directory may belong to another process: nothing is emptied, and what is appended is refused.
func TestNothingIsWrittenAfterTheEnd(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir, "one")
	kept := l.append(t, "kept")
	for range few - 1 {
		for _, body := range numbered(0, 5) {
			l.Release(l.append(t, body).At)
		}
		l.append(t, strings.Repeat("x", testSize*3/4)) // leaves no room
	}
	for range 3 {
		l.append(t, strings.Repeat("x", testSize*3/4)) // leaves no room
	}
	must(t, l.Settle())
	l.mu.Lock()
	l.stuck, l.active = false, false
	l.mu.Unlock()
	l.moved = nil
	must(t, l.Close())
	l.work.Wait()
	if len(l.moved) != 0 {
		t.Errorf("the end of the log had segments emptied before %v", l.moved)
	}
	names := func() string { return fmt.Sprint(must1(os.ReadDir(dir))) }
	before := names()
	if w, err := l.Append(Entry{Key: "key", Body: []byte("late")}); !errors.Is(err, os.ErrClosed) {
		t.Errorf("appended at %v: %v", w, err)
	}
	l.Release(kept.At)
	if after := names(); after != before {
		t.Errorf("the files were %s, and are %s", before, after)
	}
}

func TestScrubLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	var l *opened
	var all []Written
	l = open(t, dir, "", func(o *Options) {
		o.Move = func(before Pos) error {
			for _, w := range all {
				l.Release(w.At)
			}
			all = nil
			return nil
		}
	})
	for _, body := range numbered(0, 60) {
		all = append(all, l.append(t, body))
	}
	must(t, l.Scrub())
	if files, err := os.ReadDir(dir); err != nil || len(files) != 0 {
		t.Errorf("left are %v, %v", files, err)
	}
	must(t, l.Sync(l.append(t, "goes on").At))
	must(t, l.Close())
}

// After a sync that failed nothing counts as durable that it was for, and other entries go elsewhere.
func TestASyncThatFails(t *testing.T) {
	l := open(t, t.TempDir(), "one")
	must(t, l.Sync(l.append(t, "before").At))
	lost := l.append(t, "lost")
	first := l.oldest()
	failing := first.File
	first.File = get(os.Open(failing.Name()))(t)
	must(t, first.Close())
	if err := l.Sync(lost.At); err == nil {
		t.Error("it is durable")
	}
	if !l.Lost(lost.At) {
		t.Error("it is not lost")
	}
	if err := l.Sync(lost.At); err == nil {
		t.Error("it is durable by another sync")
	}
	first.File = failing
	must(t, l.Sync(l.append(t, "after").At))
	l.Abandon()
}

// What is needed and was moved into a segment whose sync fails stays where it was, until it is moved again.
func TestASyncThatFailsAfterAMove(t *testing.T) {
	dir := t.TempDir()
	var l *opened
	var needed Written
	moves := 0
	l = open(t, dir, "one", func(o *Options) {
		o.Move = func(before Pos) error {
			if needed.At >= before {
				return nil
			}
			moves++
			old := needed
			w, err := l.Append(Entry{Key: "key", Kind: 'k', Body: []byte("needed")})
			if err == nil {
				needed = w
				l.Release(old.At)
			}
			return err
		}
	})
	needed = l.append(t, "needed")
	must(t, l.SyncAll())
	l.mu.Lock()
	l.active = false // what follows goes into another segment
	l.mu.Unlock()
	must(t, l.o.Move(pos(2, 0)))
	l.mu.Lock()
	second := l.segments[1]
	l.mu.Unlock()
	failing := second.File
	second.File = get(os.Open(failing.Name()))(t)
	must(t, second.Close())
	if err := l.SyncAll(); err == nil {
		t.Fatal("what was moved is durable")
	}
	second.File = failing
	for range 3 { // the files of what nothing needs are used again
		w := l.append(t, strings.Repeat("x", testSize/2))
		must(t, l.Sync(w.At))
		l.Release(w.At)
	}
	l.work.Wait()
	l.Abandon()
	if l = open(t, dir, "one"); !slices.Contains(l.bodies, "needed") || moves < 2 {
		t.Errorf("it is lost, after %d moves", moves)
	}
	l.Abandon()
}

func get[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		must(t, err)
		return v
	}
}

func TestManyAppendAtOnce(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir, "one")
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			for n := range 50 {
				body := fmt.Sprintf("%d of %d", n, w)
				at, err := l.Append(Entry{Key: "k", Kind: 'k', Body: []byte(body)})
				if err == nil {
					err = l.Sync(at.At)
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	must(t, l.Close())
	l = open(t, dir, "two")
	slices.Sort(l.bodies)
	if n := len(slices.Compact(l.bodies)); n != 400 {
		t.Errorf("%d entries, want 400", n)
	}
	must(t, l.Close())
}
