package cache

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/archivefs/archivefs/archive"
)

var errDisk = errors.New("the disk is broken")

// fakeDisk is a spillFile in memory.
type fakeDisk struct {
	mu            sync.Mutex
	bytes         []byte
	opened        int
	writes, reads int
	full, broken  bool
	// stall is called at the start of a read, if it is set.
	stall func()
}

func (d *fakeDisk) WriteAt(b []byte, at int64) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.writes++
	if d.full {
		return 0, syscall.ENOSPC
	}
	if need := int(at) + len(b); need > len(d.bytes) {
		d.bytes = append(d.bytes, make([]byte, need-len(d.bytes))...)
	}
	return copy(d.bytes[at:], b), nil
}

func (d *fakeDisk) ReadAt(b []byte, at int64) (int, error) {
	if d.stall != nil {
		d.stall()
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.reads++
	if d.broken {
		return 0, errDisk
	}
	return copy(b, d.bytes[at:]), nil
}

// spillTo returns a Spill of limit bytes that writes to d.
func spillTo(t *testing.T, limit int64, d *fakeDisk) *Spill {
	log := logrus.New()
	log.SetOutput(t.Output())
	s := NewSpill(t.TempDir(), limit, log)
	s.open = func() (spillFile, error) { d.opened++; return d, nil }
	s.free = func() (int64, error) { return spillReserve, nil }
	return s
}

// text is the packed form of that number, with a size of its own.
func text(i int) string { return fmt.Sprint(i) + strings.Repeat("x", 1000+i%50) }

func hold(s *Spill, n int) []Packed {
	all := make([]Packed, n)
	for i := range all {
		all[i] = s.Hold(text(i))
	}
	return all
}

func wantTexts(t *testing.T, all []Packed) {
	t.Helper()
	for i, p := range all {
		if got, ok := p.Text(); !ok || got != text(i) {
			t.Fatalf("listing %d is %.20q, %t", i, got, ok)
		}
	}
}

// Below the bound nothing is written. Above it memory stays bounded, listings are the same, and are
// written once.
func TestSpillIsBounded(t *testing.T) {
	const limit = 100 << 10
	disk := &fakeDisk{}
	s := spillTo(t, limit, disk)
	few := hold(s, 90)
	wantTexts(t, few)
	if disk.opened > 0 {
		t.Error("a file was opened below the bound")
	}
	all := hold(s, 1000)
	for range 3 {
		wantTexts(t, all)
		inMemory := 0
		for _, p := range append(all, few...) {
			inMemory += len(p.spilled.text)
		}
		if inMemory > limit {
			t.Errorf("%d bytes are in memory", inMemory)
		}
	}
	wantTexts(t, few)
	if n := len(all) + len(few); disk.writes > n || disk.reads < n || disk.opened != 1 {
		t.Errorf("%d listings were written %d times to %d files and read %d times", n, disk.writes, disk.opened, disk.reads)
	}
}

// What is used all the time stays in memory.
func TestSpillKeepsWhatIsUsed(t *testing.T) {
	disk := &fakeDisk{}
	s := spillTo(t, 100<<10, disk)
	used := s.Hold(text(0))
	var all []Packed
	for range 1000 {
		all = append(all, s.Hold(text(1)))
		_, _ = used.Text()
	}
	if disk.reads > 0 || disk.writes == 0 {
		t.Errorf("%d reads, %d writes", disk.reads, disk.writes)
	}
	runtime.KeepAlive(all)
}

// Listings that nobody holds any more do not count, and their places in the file are used again.
func TestSpillReusesPlaces(t *testing.T) {
	disk := &fakeDisk{}
	s := spillTo(t, 100<<10, disk)
	hold(s, 1000)
	size := len(disk.bytes)
	for range 10 {
		runtime.GC()
		wantTexts(t, hold(s, 1000))
	}
	if len(disk.bytes) > 2*size {
		t.Errorf("the file has %d bytes, after the first listings %d", len(disk.bytes), size)
	}
	runtime.GC()
	writes := disk.writes
	few := hold(s, 50)
	if disk.writes > writes {
		t.Error("something was written for listings that nobody holds")
	}
	wantTexts(t, few)
}

// What cannot be written stays in memory; after a while it is tried again.
func TestSpillOnAFullDisk(t *testing.T) {
	for name, full := range map[string]func(s *Spill, d *fakeDisk, full bool){
		"a failing write": func(_ *Spill, d *fakeDisk, full bool) { d.full = full },
		"no room for others": func(s *Spill, _ *fakeDisk, full bool) {
			s.free = func() (int64, error) {
				if full {
					return spillReserve - 1, nil
				}
				return spillReserve, nil
			}
		},
		"no file": func(s *Spill, d *fakeDisk, full bool) {
			s.open = func() (spillFile, error) {
				if full {
					return nil, errDisk
				}
				return d, nil
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			disk := &fakeDisk{}
			s := spillTo(t, 100<<10, disk)
			now := time.Now()
			s.now = func() time.Time { return now }
			full(s, disk, true)
			all := hold(s, 1000)
			wantTexts(t, all)
			if disk.reads > 0 || disk.writes > 1 {
				t.Errorf("%d reads and %d writes", disk.reads, disk.writes)
			}
			full(s, disk, false)
			now = now.Add(spillPause)
			all = append(all, s.Hold(text(len(all))))
			s.mu.Lock()
			if s.memory > s.limit {
				t.Errorf("%d bytes are in memory", s.memory)
			}
			s.mu.Unlock()
			wantTexts(t, all)
		})
	}
}

// What cannot be read back, or was changed, is lost, and Listings fetch it again: never is there a wrong
// answer.
func TestSpillOnABrokenDisk(t *testing.T) {
	for name, harm := range map[string]func(*fakeDisk){
		"broken":  func(d *fakeDisk) { d.broken = true },
		"changed": func(d *fakeDisk) { clear(d.bytes) },
	} {
		t.Run(name, func(t *testing.T) {
			disk := &fakeDisk{}
			s := spillTo(t, 1, disk)
			l := NewListings[archive.ID, []archive.Document](100, time.Hour, time.Now)
			l.Pack(PackedDocuments().Within(s))
			fetches := 0
			get := func(id archive.ID) (Entry[[]archive.Document], []archive.Document) {
				want := []archive.Document{{ID: id, Name: strings.Repeat("lang ", 100)}}
				got, err := l.Get(t.Context(), id, func(context.Context) ([]archive.Document, error) { fetches++; return want, nil })
				if err != nil {
					t.Fatal(err)
				}
				return got, want
			}
			for range 2 {
				for id := range archive.ID(10) {
					if got, want := get(id); !reflect.DeepEqual(got.Value, want) {
						t.Errorf("got %+v", got)
					}
				}
			}
			ahead := l.Ahead()
			ahead.OfferPacked(20, documentsForm.pack([]archive.Document{{ID: 20, Name: strings.Repeat("lang ", 100)}}))
			get(1) // so that 20 is spilled
			ahead.End()
			if fetches != 10 {
				t.Fatalf("%d fetches", fetches)
			}
			harm(disk)
			for _, id := range []archive.ID{0, 1, 2, 3, 4, 20} {
				if got, want := get(id); !reflect.DeepEqual(got.Value, want) {
					t.Errorf("got %+v", got)
				}
			}
			if fetches != 16 {
				t.Errorf("%d fetches of 6 lost answers", fetches-10)
			}
			if _, ok := l.Peek(5); ok {
				t.Error("Peek has a lost answer")
			}
			l.Update(6, func(docs []archive.Document) []archive.Document {
				t.Errorf("a lost answer is changed: %v", docs)
				return docs
			})
			l.Save()
		})
	}
}

// The file of a Spill has no name.
// Nobody else uses it, so nothing is locked.
// +checklocksignore
func TestSpillLeavesNoFile(t *testing.T) {
	dir := t.TempDir()
	s := NewSpill(dir, 1, logrus.New())
	s.free = func() (int64, error) { return spillReserve, nil }
	all := hold(s, 100)
	if s.file == nil {
		t.Fatal("nothing was written")
	}
	wantTexts(t, all)
	if left, err := filepath.Glob(filepath.Join(dir, "*")); err != nil || len(left) > 0 {
		t.Errorf("%q, %v is left", left, err)
	}
	_ = s.file.(*os.File).Close()
}

// Many goroutines use listings while others come and go.
func TestSpillIsSafe(t *testing.T) {
	disk := &fakeDisk{}
	s := spillTo(t, 50<<10, disk)
	all := hold(s, 200)
	var work sync.WaitGroup
	for range 4 {
		work.Go(func() {
			for round := range 5 {
				wantSame(t, all)
				wantSame(t, hold(s, 20*round))
				runtime.GC()
			}
		})
	}
	work.Wait()
	wantSound(t, s)
}

// While a listing is read, others are used, come, go, and take the places of those that are gone. The slot
// of the first one moves, and two callers read it.
func TestSpillReadsOneAndServesOthers(t *testing.T) {
	disk, release := &fakeDisk{}, make(chan struct{})
	s := spillTo(t, 1, disk)
	gone := hold(s, 300)
	read := s.Hold(text(77))
	slot := read.spilled.slot
	var reads atomic.Int32
	disk.stall = func() {
		if reads.Add(1) <= 2 {
			<-release
		}
	}
	var work sync.WaitGroup
	for range 2 {
		work.Go(func() {
			if got, ok := read.Text(); !ok || got != text(77) {
				t.Errorf("got %.20q, %t", got, ok)
			}
		})
	}
	for reads.Load() < 2 {
		runtime.Gosched()
	}

	runtime.KeepAlive(gone)
	runtime.GC()
	size := len(disk.bytes)
	come := hold(s, 200)
	wantTexts(t, come)
	if len(disk.bytes) > size {
		t.Error("no place was used again")
	}
	wantSound(t, s)
	s.mu.Lock()
	if read.spilled.slot == slot {
		t.Error("the slot has not moved")
	}
	s.limit = 1 << 20 // what is read stays in memory
	s.mu.Unlock()

	close(release)
	work.Wait()
	wantSound(t, s)
	wantTexts(t, come)
}

// The caller of a read is the only one who holds the listing.
func TestSpillKeepsThePlaceOfAReading(t *testing.T) {
	disk, reading, release := &fakeDisk{}, make(chan struct{}), make(chan struct{})
	s := spillTo(t, 1, disk)
	var once sync.Once
	disk.stall = func() {
		once.Do(func() {
			close(reading)
			<-release
		})
	}
	var work sync.WaitGroup
	read := func(p Packed) {
		work.Go(func() {
			if got, ok := p.Text(); !ok || got != text(77) {
				t.Errorf("got %.20q, %t", got, ok)
			}
		})
	}
	read(s.Hold(text(77)))
	<-reading
	for range 3 {
		runtime.GC()
		hold(s, 100)
	}
	close(release)
	work.Wait()
	wantSound(t, s)
}

// wantSound fails the test unless slots, listings and places agree.
func wantSound(t *testing.T, s *Spill) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	type extent struct{ place, blocks int64 }
	var extents []extent
	memory := int64(0)
	for i, slot := range s.slots {
		if slot.memory {
			memory += int64(slot.size)
		}
		if slot.place >= 0 {
			extents = append(extents, extent{slot.place, blocksOf(slot.size)})
		}
		if p := slot.packed.Value(); p != nil && (int(p.slot) != i || slot.memory != (p.text != "")) {
			t.Errorf("slot %d, in memory: %t, has a listing of slot %d with %d bytes", i, slot.memory, p.slot, len(p.text))
		}
	}
	if memory != s.memory {
		t.Errorf("%d bytes are in memory, and %d are counted", memory, s.memory)
	}
	for blocks, places := range s.unused {
		for _, place := range places {
			extents = append(extents, extent{place, blocks})
		}
	}
	slices.SortFunc(extents, func(a, b extent) int { return cmp.Compare(a.place, b.place) })
	end := int64(0)
	for _, e := range extents {
		if e.place != end {
			t.Errorf("a place begins at %d, the one before it ends at %d", e.place, end)
		}
		end = e.place + e.blocks*spillBlock
	}
	if end != s.end {
		t.Errorf("the last place ends at %d, and the file at %d", end, s.end)
	}
}

// wantSame is wantTexts for any goroutine.
func wantSame(t *testing.T, all []Packed) {
	for i, p := range all {
		if got, ok := p.Text(); !ok || got != text(i) {
			t.Errorf("listing %d is %.20q, %t", i, got, ok)
		}
	}
}
