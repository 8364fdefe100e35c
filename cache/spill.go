package cache

import (
	"errors"
	"hash/crc32"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
	"weak"

	"github.com/sirupsen/logrus"
)

const (
	// spillLeast is the size from which a listing is spilled.
	spillLeast = 256
	// spillBlock is the unit of space in the file.
	spillBlock = 4 << 10
	// spillPause is how long nothing is spilled after a failed write, or on a full disk.
	spillPause = time.Minute
	// spillReserve is how many bytes of the disk stay free, for files on their way to the archive.
	spillReserve = 1 << 30
)

// Spill bounds the memory of packed listings. Of those that exceed the bound, the ones that nobody used
// lately are written to a file, and read back when they are used. Below the bound there is no file.
// Nothing is synced: the file is for this process only, unlinked, and gone when the process ends.
//
// It holds listings weakly, so nobody has to return them. A listing that cannot be written stays in
// memory. It is safe for concurrent use; nil keeps everything in memory.
type Spill struct {
	limit int64
	log   logrus.FieldLogger
	now   func() time.Time
	open  func() (spillFile, error)
	free  func() (int64, error)

	mu sync.Mutex
	// slots are the listings, in the order in which hand passes them. It spills those that were not
	// used since it passed them last (the clock algorithm).
	slots []spillSlot // +checklocks:mu
	hand  int         // +checklocks:mu
	// memory is the sum of the sizes of listings in memory, with those that nobody holds any more until
	// they lose their slots.
	memory int64     // +checklocks:mu
	file   spillFile // +checklocks:mu
	end    int64     // +checklocks:mu
	// unused are places in the file, by the number of their blocks.
	unused map[int64][]int64 // +checklocks:mu
	// off is until when nothing is spilled.
	off time.Time // +checklocks:mu
}

// spillFile is what Spill needs of a file.
type spillFile interface {
	ReadAt(b []byte, at int64) (int, error)
	WriteAt(b []byte, at int64) (int, error)
}

// spillSlot is a listing, and where its bytes are: in memory, in the file, or in both.
type spillSlot struct {
	packed weak.Pointer[spilled]
	place  int64 // in the file, for good; negative: it is not there
	size   int32
	memory bool
}

// Packed is a packed listing. It can be copied. The zero value is none.
type Packed struct {
	text    string // empty for one that can be spilled, unless it is pinned
	spilled *spilled
}

// IsZero reports whether p is none.
func (p Packed) IsZero() bool { return p.text == "" && p.spilled == nil }

// Pin returns p with its text in memory, until Unpin; false: the listing is lost.
func (p Packed) Pin() (Packed, bool) {
	text, ok := p.Text()
	return Packed{text: text, spilled: p.spilled}, ok
}

// Unpin returns p as it was before Pin.
func (p Packed) Unpin() Packed {
	if p.spilled != nil {
		p.text = ""
	}
	return p
}

// spilled is a listing in memory, or in the file of its Spill.
type spilled struct {
	spill *Spill
	// The fields below are guarded by mu of spill.
	text string // empty while it is only in the file
	sum  uint32 // CRC-32C of what is in the file
	slot int32
	used bool // since hand passed it
}

// NewSpill returns a Spill that keeps about limit bytes in memory, and the rest in a file in dir.
func NewSpill(dir string, limit int64, log logrus.FieldLogger) *Spill {
	s := &Spill{limit: limit, log: log, now: time.Now}
	s.open = func() (spillFile, error) {
		path := filepath.Join(dir, "listings.tmp")
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600) //nolint:gosec // a name of ours
		if err != nil {
			return nil, err
		}
		if err := os.Remove(path); err != nil {
			_ = f.Close() // nothing was written
			return nil, err
		}
		return f, nil
	}
	s.free = func() (int64, error) { return diskFree(dir) }
	return s
}

// Hold returns the listing with that packed form, which is not empty.
func (s *Spill) Hold(text string) Packed {
	switch {
	case s == nil || len(text) > math.MaxInt32:
		return Packed{text: text}
	case len(text) < spillLeast:
		return Packed{text: strings.Clone(text)} // it must not keep the memory of others, which are spilled
	}
	p := &spilled{spill: s, text: text, used: true}
	s.mu.Lock()
	defer s.mu.Unlock()
	p.slot = int32(len(s.slots)) //nolint:gosec // fewer than folders
	size := int32(len(text))     //nolint:gosec // checked above
	s.slots = append(s.slots, spillSlot{packed: weak.Make(p), place: -1, size: size, memory: true})
	s.memory += int64(len(text))
	s.shrinkLocked()
	return Packed{spilled: p}
}

// Text returns the packed form. It returns false if that cannot be read back; then the listing is lost.
func (p Packed) Text() (text string, ok bool) {
	if p.text != "" || p.spilled == nil {
		return p.text, true
	}
	return p.spilled.use()
}

// use does not hold mu of the Spill while it reads the file: a slow disk delays only those who need it.
func (p *spilled) use() (text string, ok bool) {
	s := p.spill
	s.mu.Lock()
	p.used = true
	if text := p.text; text != "" {
		s.mu.Unlock()
		return text, true
	}
	file, slot, sum := s.file, s.slots[p.slot], p.sum
	s.mu.Unlock()

	b := make([]byte, slot.size)
	_, err := file.ReadAt(b, slot.place)
	runtime.KeepAlive(p) // so that its slot is not dropped, and nothing else is written to its place
	if err == nil && crc32.Checksum(b, castagnoli) != sum {
		err = errors.New("it has changed")
	}
	if err != nil {
		s.log.Warnf("read a listing back, which is requested again: %v", err)
		return "", false
	}
	text = string(b)

	s.mu.Lock()
	defer s.mu.Unlock()
	if p.text == "" { // else another caller has read it meanwhile
		p.text, s.slots[p.slot].memory = text, true
		s.memory += int64(slot.size)
		s.shrinkLocked()
	}
	return text, true
}

// shrinkLocked spills listings beyond the bound, and some more, so that it is rarely called.
// +checklocks:s.mu
func (s *Spill) shrinkLocked() {
	if s.memory <= s.limit || s.now().Before(s.off) {
		return
	}
	for at := len(s.slots) - 1; at >= 0; at-- {
		if s.slots[at].packed.Value() == nil {
			s.dropLocked(at)
		}
	}
	if s.memory <= s.limit {
		return
	}
	free, err := s.free()
	if err == nil && free < spillReserve {
		err = syscall.ENOSPC
	}
	if err == nil && s.file == nil {
		s.file, err = s.open()
	}
	// Two rounds: the first one may only find that all were used.
	for n := 2 * len(s.slots); err == nil && n > 0 && s.memory > s.limit-s.limit/16; n-- {
		err = s.passLocked()
	}
	if err != nil {
		s.log.Warnf("listings stay in memory, beyond %d MiB: %v", s.limit>>20, err)
		s.off = s.now().Add(spillPause)
	}
}

// passLocked moves hand past one listing, which leaves memory unless it was used.
// +checklocks:s.mu
func (s *Spill) passLocked() error {
	s.hand = (s.hand + 1) % len(s.slots)
	slot := &s.slots[s.hand]
	p := slot.packed.Value()
	switch {
	case p == nil || !slot.memory:
		return nil
	case p.used:
		p.used = false
		return nil
	case slot.place < 0:
		place := s.placeLocked(slot.size)
		if _, err := s.file.WriteAt([]byte(p.text), place); err != nil {
			s.unuseLocked(place, slot.size)
			return err
		}
		slot.place, p.sum = place, crc32.Checksum([]byte(p.text), castagnoli)
	}
	p.text, slot.memory = "", false
	s.memory -= int64(slot.size)
	return nil
}

// placeLocked returns an unused place for a listing of that size.
// +checklocks:s.mu
func (s *Spill) placeLocked(size int32) (place int64) {
	n := blocksOf(size)
	if places := s.unused[n]; len(places) > 0 {
		place, s.unused[n] = places[len(places)-1], places[:len(places)-1]
		return place
	}
	place = s.end
	s.end += n * spillBlock
	return place
}

// unuseLocked takes a place back.
// +checklocks:s.mu
func (s *Spill) unuseLocked(place int64, size int32) {
	if s.unused == nil {
		s.unused = map[int64][]int64{}
	}
	n := blocksOf(size)
	s.unused[n] = append(s.unused[n], place)
}

// blocksOf returns how many blocks a listing of that size takes.
func blocksOf(size int32) int64 { return (int64(size) + spillBlock - 1) / spillBlock }

// dropLocked removes the slot of a listing that nobody holds any more. The last one moves there.
// +checklocks:s.mu
func (s *Spill) dropLocked(at int) {
	slot, last := s.slots[at], len(s.slots)-1
	if slot.memory {
		s.memory -= int64(slot.size)
	}
	if slot.place >= 0 {
		s.unuseLocked(slot.place, slot.size)
	}
	s.slots[at] = s.slots[last]
	s.slots = s.slots[:last]
	if at == last {
		return
	}
	if p := s.slots[at].packed.Value(); p != nil {
		p.slot = int32(at) //nolint:gosec // as in Hold
	}
}
