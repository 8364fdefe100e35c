package spool

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestRandomWritesAgainstAModel compares every step with a slice of bytes, and in the end
// the checksum that was carried along.
func TestRandomWritesAgainstAModel(t *testing.T) {
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 1))
		s, _ := open(t, t.TempDir())
		u := create(t, s, Record{Name: "x"}, "")
		var model []byte
		for range 60 {
			switch rng.IntN(6) {
			case 0:
				size := rng.IntN(5000)
				must(t, u.Truncate(int64(size)))
				model = append(model, make([]byte, max(0, size-len(model)))...)[:size]
			case 1:
				must(t, u.Sync(false))
			case 2: // anywhere
				model = write(t, u, model, rng.IntN(4000), random(rng))
			default: // at the end, as most programs write
				model = write(t, u, model, len(model), random(rng))
			}
			wantContent(t, u, model)
			if used, files := s.Usage(); used != int64(len(model)) || files != 1 {
				t.Fatalf("seed %d: %d bytes in %d files, want %d in 1", seed, used, files, len(model))
			}
		}
		must(t, commit(u))
		if r := u.Record(); r.SHA256 != sum(string(model)) || r.Size != int64(len(model)) {
			t.Fatalf("seed %d: checksum %s of %d bytes, want %s of %d", seed, r.SHA256, r.Size, sum(string(model)), len(model))
		}
	}
}

func random(rng *rand.Rand) []byte {
	p := make([]byte, 1+rng.IntN(900))
	for i := range p {
		p[i] = byte(rng.Uint32())
	}
	return p
}

func write(t *testing.T, u *Upload, model []byte, off int, p []byte) []byte {
	t.Helper()
	if n, err := u.WriteAt(p, int64(off)); err != nil || n != len(p) {
		t.Fatalf("wrote %d of %d: %v", n, len(p), err)
	}
	if gap := off + len(p) - len(model); gap > 0 {
		model = append(model, make([]byte, gap)...)
	}
	copy(model[off:], p)
	return model
}

func wantContent(t *testing.T, u *Upload, want []byte) {
	t.Helper()
	got, err := io.ReadAll(io.NewSectionReader(u, 0, math.MaxInt64))
	if err != nil || !bytes.Equal(got, want) || u.Size() != int64(len(want)) {
		t.Fatalf("read %d bytes of size %d, %v; want %d", len(got), u.Size(), err, len(want))
	}
}

func TestConcurrentWriters(t *testing.T) {
	s, _ := open(t, t.TempDir())
	u := create(t, s, Record{Name: "x"}, "")
	must(t, u.Open())
	const block, writers = 512, 8
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := w; i < 64; i += writers {
				if _, err := u.WriteAt(bytes.Repeat([]byte{byte(i)}, block), int64(i*block)); err != nil {
					t.Error(err)
				}
				if _, err := u.ReadAt(make([]byte, block), 0); err != nil && err != io.EOF { //nolint:errorlint // io.ReaderAt returns io.EOF itself
					t.Error(err)
				}
				_, _ = u.Record(), u.Size()
			}
		})
	}
	wg.Go(func() {
		if err := u.Update(func(r *Record) { r.Keywords = []string{"a"} }); err != nil {
			t.Error(err)
		}
	})
	wg.Wait()
	must(t, u.Close())
	must(t, commit(u))
	var want []byte
	for i := range 64 {
		want = append(want, bytes.Repeat([]byte{byte(i)}, block)...)
	}
	wantContent(t, u, want)
	if u.Record().SHA256 != sum(string(want)) {
		t.Fatal("wrong checksum")
	}
}

func TestBudget(t *testing.T) {
	s, _ := open(t, t.TempDir(), func(o *Options) { o.Budget = 100 })
	u := create(t, s, Record{Name: "x"}, strings.Repeat("x", 60))
	v := create(t, s, Record{Name: "y"}, strings.Repeat("y", 30))
	steps := []struct {
		name string
		do   func() error
		used int64
		fits bool
	}{
		{"one byte too many", func() error { _, err := v.WriteAt(make([]byte, 11), 30); return err }, 90, false},
		{"a hole too large", func() error { return v.Truncate(41) }, 90, false},
		{"over what is there", func() error { _, err := u.WriteAt(make([]byte, 60), 0); return err }, 90, true},
		{"up to the last byte", func() error { _, err := v.WriteAt(make([]byte, 12), 28); return err }, 100, true},
		{"far behind the end", func() error { _, err := v.WriteAt([]byte("z"), 1<<40); return err }, 100, false},
		{"cut off", func() error { return u.Truncate(10) }, 50, true},
		{"removed", v.Remove, 10, true},
	}
	for _, step := range steps {
		err := step.do()
		if step.fits != (err == nil) || !step.fits && !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("%s: %v", step.name, err)
		}
		free, err := s.Free()
		if used, _ := s.Usage(); used != step.used || err != nil || free != uint64(100-step.used) {
			t.Fatalf("%s: used %d, free %d, %v; want %d used", step.name, used, free, err, step.used)
		}
	}
	s = reopen(t, s, func(o *Options) { o.Budget = 5 })
	if free, err := s.Free(); err != nil || free != 0 {
		t.Fatalf("over a smaller budget %d bytes are free, %v", free, err)
	}
}

func TestReserve(t *testing.T) {
	s, _ := open(t, t.TempDir(), func(o *Options) { o.Reserve = 1000 })
	disk := int64(1500)
	u := create(t, s, Record{Name: "x"}, "")
	s.budget.diskFree = func() (int64, error) { return disk, nil }
	if _, err := u.WriteAt(make([]byte, 501), 0); !errors.Is(err, syscall.ENOSPC) || u.Size() != 0 {
		t.Fatalf("%v, size %d", err, u.Size())
	}
	if n, err := u.WriteAt(make([]byte, 500), 0); err != nil || n != 500 {
		t.Fatal(n, err)
	}
	disk = 900
	if free, err := s.Free(); err != nil || free != 0 {
		t.Fatalf("below the reserve %d bytes are free, %v", free, err)
	}
	must(t, commit(u)) // what was accepted can be finished
	disk = 3000
	must(t, s.budget.take(1500, 0))
	if free, err := s.Free(); err != nil || free != 500 {
		t.Fatalf("with writes under way %d bytes are free, %v", free, err)
	}
}

// TestNothingBeginsInTheReserve: an upload that no byte would fit into is refused before its
// record takes of the reserve, which those before it need to be finished.
func TestNothingBeginsInTheReserve(t *testing.T) {
	s, _ := open(t, t.TempDir(), func(o *Options) { o.Reserve = 1000 })
	disk := int64(1000 + uploadSize)
	s.budget.diskFree = func() (int64, error) { return disk, nil }
	create(t, s, Record{Name: "fits"}, "")
	disk--
	if _, err := s.Create(Record{Name: "x"}); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("a file: %v", err)
	}
	if _, err := s.CreateFolder(Record{Name: "x"}, false); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("a folder: %v", err)
	}
	if found := s.List(); len(found) != 1 {
		t.Errorf("%d uploads, want that which fits", len(found))
	}
}

// TestMakeRoom: what can be fetched again gives way to what cannot.
func TestMakeRoom(t *testing.T) {
	disk, cached := int64(100), int64(300)
	s, _ := open(t, t.TempDir(), func(o *Options) {
		o.Budget = 1000
		o.MakeRoom = func(want int64) bool {
			freed := min(want, cached)
			disk, cached = disk+freed, cached-freed
			return freed > 0
		}
	})
	u := create(t, s, Record{Name: "x"}, "")
	s.budget.diskFree = func() (int64, error) { return disk, nil }
	if _, err := u.WriteAt(make([]byte, 250), 0); err != nil || cached != 150 {
		t.Fatalf("%v, %d bytes cached", err, cached)
	}
	if _, err := u.WriteAt(make([]byte, 500), 0); !errors.Is(err, syscall.ENOSPC) || u.Size() != 250 {
		t.Fatalf("%v, size %d", err, u.Size())
	}
	cached, disk = 300, 900
	if _, err := u.WriteAt(make([]byte, 800), 250); !errors.Is(err, syscall.ENOSPC) || cached != 300 {
		t.Fatalf("%v: the limit of the spool is its own, %d bytes are cached", err, cached)
	}
}

func TestReserveIsAFractionOfASmallDisk(t *testing.T) {
	s, _ := open(t, t.TempDir(), func(o *Options) { o.Reserve = math.MaxInt64 })
	var disk unix.Statfs_t
	if err := unix.Statfs(s.dir, &disk); err != nil {
		t.Fatal(err)
	}
	if got, want := uint64(s.budget.reserve), disk.Blocks*uint64(disk.Bsize)/16; got != want {
		t.Errorf("%d bytes are left free, want %d", got, want)
	}
}

func TestImpossibleOffsets(t *testing.T) {
	s, _ := open(t, t.TempDir())
	u := create(t, s, Record{Name: "x"}, "abc")
	if _, err := u.WriteAt([]byte("x"), -1); !errors.Is(err, syscall.EINVAL) {
		t.Error(err)
	}
	if _, err := u.WriteAt([]byte("xx"), math.MaxInt64-1); !errors.Is(err, syscall.EFBIG) {
		t.Error(err)
	}
	if err := u.Truncate(-1); !errors.Is(err, syscall.EINVAL) {
		t.Error(err)
	}
	wantContent(t, u, []byte("abc"))
}

func TestIdleUploadsHoldNoDescriptor(t *testing.T) {
	s, _ := open(t, t.TempDir())
	u := committed(t, s, Record{Name: "x"}, "abc")
	if isOpen(u) {
		t.Fatal("the data is open though nobody has opened it")
	}
	must(t, u.Open())
	must(t, u.Open())
	must(t, u.Close())
	if !isOpen(u) {
		t.Fatal("closed under somebody who has it open")
	}
	must(t, u.Close())
	if isOpen(u) {
		t.Fatal("open after the last close")
	}
	if err := u.Close(); !errors.Is(err, os.ErrClosed) {
		t.Fatalf("one close too many: %v", err)
	}
}

// What a program is told of a removal must be true: an error means that the upload is still there.
func TestRemovalWithFaults(t *testing.T) {
	for point, there := range map[Point]bool{PointRemove: true, PointRemoved: false} {
		t.Run(string(point), func(t *testing.T) {
			faulty := func(p Point) error {
				if p == point {
					return syscall.EIO
				}
				return nil
			}
			s, _ := open(t, t.TempDir(), func(o *Options) { o.Fault = faulty })
			u := committed(t, s, lateBill(), "abc")
			if err := u.Remove(); (err != nil) != there {
				t.Errorf("answered %v", err)
			}
			if _, ok := s.Get(u.ID()); ok != there {
				t.Errorf("there: %v", ok)
			}
			if _, ok := reopen(t, s).Get(u.ID()); ok != there {
				t.Errorf("there after a restart: %v", ok)
			}
		})
	}
}

func TestRemovedWhileOpen(t *testing.T) {
	s, _ := open(t, t.TempDir())
	u := create(t, s, Record{Name: "x"}, "abc")
	must(t, u.Open())
	must(t, u.Remove())
	must(t, u.Remove())
	if _, err := u.WriteAt([]byte("def"), 3); err != nil {
		t.Fatalf("write to a removed file that is open: %v", err)
	}
	wantContent(t, u, []byte("abcdef"))
	must(t, u.Sync(false))
	if used, files := s.Usage(); used != 6 || files != 0 {
		t.Fatalf("%d bytes in %d files while it is open", used, files)
	}
	for name, op := range map[string]func(*Upload) error{
		"commit": commit, "keep": keep, "reopen": (*Upload).Reopen,
	} {
		if err := op(u); !errors.Is(err, ErrRemoved) {
			t.Errorf("%s: %v", name, err)
		}
	}
	must(t, u.Update(func(r *Record) { r.Keywords = []string{"a"} }))
	if r := u.Record(); len(r.Keywords) != 1 || r.ID != u.ID() {
		t.Fatalf("changed to %+v", r)
	}
	must(t, u.Close())
	if used, _ := s.Usage(); used != 0 {
		t.Fatalf("%d bytes after the last close", used)
	}
	if err := u.Open(); !errors.Is(err, ErrRemoved) {
		t.Fatalf("opened again: %v", err)
	}
	must(t, s.Close())
	entries, err := os.ReadDir(s.dir)
	if err != nil || len(entries) != 0 {
		t.Fatalf("left behind: %v, %v", entries, err)
	}
}

func TestFailedWriteIsAccountedAsItHappened(t *testing.T) {
	s, _ := open(t, t.TempDir())
	u := create(t, s, Record{Name: "x"}, "abc")
	u.content.mu.Lock()
	must(t, u.content.moveToFile())
	u.content.mu.Unlock()
	f, err := os.Open(u.DataPath()) // a descriptor that cannot be written through
	if err != nil {
		t.Fatal(err)
	}
	u.content.files.Lock()
	must(t, u.content.file.Close())
	u.content.file, u.content.refs = f, 1
	u.content.files.Unlock()
	if n, err := u.WriteAt([]byte("defg"), 3); n != 0 || !errors.Is(err, syscall.EBADF) {
		t.Fatalf("wrote %d, %v", n, err)
	}
	must(t, u.Close())
	s.budget.mu.Lock()
	used, flying := s.budget.used, s.budget.flying
	s.budget.mu.Unlock()
	if used != 3 || u.Size() != 3 || flying != 0 {
		t.Fatalf("used %d, size %d, flying %d", used, u.Size(), flying)
	}
	must(t, commit(u))
	if u.Record().SHA256 != sum("abc") {
		t.Fatal("wrong checksum")
	}
}

func BenchmarkWriteAt(b *testing.B) {
	for _, size := range []int{4 << 10, 1 << 20} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			s, _ := open(b, b.TempDir())
			u := create(b, s, Record{Name: "x"}, "")
			must(b, u.Open())
			defer u.Close() //nolint:errcheck // the benchmark is over
			p := make([]byte, size)
			b.SetBytes(int64(size))
			for i := range b.N {
				if _, err := u.WriteAt(p, int64(i%256*size)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// A length that was set before the bytes were written is a promise; one that was set behind them is the
// end of a file with holes.
func TestCommitOfALengthThatWasAnnounced(t *testing.T) {
	const most = 1 << 20
	for name, test := range map[string]struct {
		steps     func(u *Upload) error
		unwritten int64
	}{
		"announced and half written":       {func(u *Upload) error { return errors.Join(u.Truncate(most), put(u, 0, most/2)) }, most / 2},
		"announced and written":            {func(u *Upload) error { return errors.Join(u.Truncate(most), put(u, 0, most)) }, 0},
		"announced alone":                  {func(u *Upload) error { return u.Truncate(most) }, most},
		"written from its end":             {func(u *Upload) error { return errors.Join(u.Truncate(most), put(u, most-4, 4), put(u, 0, 4)) }, 0},
		"announced and given up":           {func(u *Upload) error { return errors.Join(u.Truncate(most), put(u, 0, 9), u.Truncate(9)) }, 0},
		"emptied and written anew":         {func(u *Upload) error { return errors.Join(u.Truncate(most), u.Truncate(0), put(u, 0, 9)) }, 0},
		"a hole at the end":                {func(u *Upload) error { return errors.Join(put(u, 0, 9), u.Truncate(most)) }, 0},
		"a hole at the end, a new head":    {func(u *Upload) error { return errors.Join(put(u, 0, 9), u.Truncate(most), put(u, 0, 4)) }, 0},
		"a head, announced, half written":  {func(u *Upload) error { return errors.Join(put(u, 0, 9), u.Truncate(most), put(u, 9, 4)) }, most - 13},
		"announced twice, the second kept": {func(u *Upload) error { return errors.Join(u.Truncate(9), put(u, 0, 9), u.Truncate(20), put(u, 9, 11)) }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := open(t, t.TempDir())
			u := create(t, s, Record{Name: "x"}, "")
			must(t, test.steps(u))
			want := ""
			if test.unwritten > 0 {
				want = fmt.Sprintf("announced %d bytes, the last %d were never written", u.Size(), test.unwritten)
			}
			if err := commit(u); (want == "") != (err == nil) || err != nil && err.Error() != want {
				t.Fatalf("got %v, want %q", err, want)
			}
		})
	}
}

// What was announced is known to the next run, and a person may send what there is of it.
func TestAnnouncedLengthAcrossRuns(t *testing.T) {
	s, _ := open(t, t.TempDir())
	u := create(t, s, Record{Name: "x"}, "")
	must(t, errors.Join(u.Truncate(100), put(u, 0, 40), keep(u)))
	s = reopen(t, s)
	u = again(t, s, u)
	if err := commit(u); err == nil || !strings.Contains(err.Error(), "the last 60 ") {
		t.Fatalf("kept and taken up again: %v", err)
	}
	must(t, put(u, 40, 10))
	must(t, u.Commit(true, func(r *Record) { r.Rest = 1 }))
	r := u.Record()
	if err := r.Lacks(); err == nil || !strings.Contains(err.Error(), "the last 50 ") {
		t.Fatalf("while it settles: %v", err)
	}
	must(t, u.Fail("half", true))
	if err := u.Retry(false); !errors.Is(err, ErrIncomplete) {
		t.Fatalf("retried: %v", err)
	}
	must(t, u.Retry(true))
	must(t, errors.Join(u.Recall(), u.Recommit()))
}

// The mark of rsync holds until the bytes change.
func TestCommitOfWhatWasStopped(t *testing.T) {
	s, _ := open(t, t.TempDir())
	u := create(t, s, Record{Name: "x"}, "half")
	must(t, errors.Join(u.Update(func(r *Record) { r.Stopped = true }), keep(u)))
	s = reopen(t, s)
	u = again(t, s, u)
	if err := commit(u); !errors.Is(err, ErrStopped) {
		t.Fatalf("got %v, want that it was stopped", err)
	}
	must(t, put(u, 4, 4))
	must(t, commit(u))
}

// put writes n bytes at off.
func put(u *Upload, off int64, n int) error {
	_, err := u.WriteAt(make([]byte, n), off)
	return err
}
