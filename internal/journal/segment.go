package journal

import (
	"cmp"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/archivefs/archivefs/internal/durable"
)

// block is the unit in which a segment is written, in bytes: what is written later never touches a page of what is
// durable.
const block = 4096

// magic begins a segment.
const magic = "journal1"

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func checksum(p []byte) uint32 { return crc32.Checksum(p, castagnoli) }

// Pos is a place in the log: the number of a segment, and an offset in bytes. Later entries have larger ones.
type Pos int64

const offsetBits = 36

func pos(number uint64, off int64) Pos { return Pos(number)<<offsetBits | Pos(off) } //nolint:gosec // far from 2^28 segments
func (p Pos) number() uint64           { return uint64(p >> offsetBits) }            //nolint:gosec // not negative
func (p Pos) offset() int64            { return int64(p) & (1<<offsetBits - 1) }
func padded(n int64) int64             { return (n + block - 1) / block * block }

// prefix begins the name of a segment's file, which a number follows. It says nothing of the order.
const prefix = "log."

type segment struct {
	*os.File
	size   int64
	number uint64
	salt   uint64
	before Pos // where the entries before it end that count
	boot   string

	end    int64 // of the entries
	synced int64 // up to where they are durable
	all    int   // entries
	live   int   // of them, those that their owner needs
	free   Pos   // up to where the log must be durable before it is used again, once live is 0
	err    error // of a write or a sync, after which it takes no more entries
}

// The first block: magic, number, salt, end of what counts before, length of boot, boot, CRC-32C of all of that.
const startFixed = len(magic) + 8 + 8 + 8 + 4

// begin makes an empty segment of a file.
func (s *segment) begin(number uint64, before Pos, boot string) error {
	salt := rand.Uint64() //nolint:gosec // only unlike those before
	p := append(make([]byte, 0, block), magic...)
	p = binary.LittleEndian.AppendUint64(p, number)
	p = binary.LittleEndian.AppendUint64(p, salt)
	p = binary.LittleEndian.AppendUint64(p, uint64(before))    //nolint:gosec // not negative
	p = binary.LittleEndian.AppendUint32(p, uint32(len(boot))) //nolint:gosec // some bytes
	p = append(p, boot...)
	if p = binary.LittleEndian.AppendUint32(p, checksum(p)); len(p) > block {
		return errors.New("the name of the machine's run is too long")
	}
	if _, err := s.WriteAt(p[:block], 0); err != nil {
		return err
	}
	*s = segment{File: s.File, size: s.size, number: number, salt: salt, before: before, boot: boot, end: block}
	return nil
}

// openSegment opens a segment and reads its first block.
func openSegment(path string, flag int) (*segment, error) {
	f, err := durable.OpenFile(path, flag, 0)
	if err != nil {
		return nil, err
	}
	s := &segment{File: f}
	info, err := f.Stat()
	if err == nil {
		s.size = info.Size()
		err = s.readStart()
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return s, nil
}

// readStart reads the first block. A segment that has none, because that was being written or is damaged, is the one
// to which the latest of its entries belong; without any its number is 0.
func (s *segment) readStart() error {
	p := make([]byte, block)
	if _, err := s.ReadAt(p, 0); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	end := startFixed + int(binary.LittleEndian.Uint32(p[startFixed-4:]))
	if string(p[:len(magic)]) == magic && end <= block-4 && end >= startFixed && checksum(p[:end]) == binary.LittleEndian.Uint32(p[end:]) {
		s.number = binary.LittleEndian.Uint64(p[len(magic):])
		s.salt = binary.LittleEndian.Uint64(p[len(magic)+8:])
		s.before = Pos(binary.LittleEndian.Uint64(p[len(magic)+16:])) //nolint:gosec // as it was
		s.boot = string(p[startFixed:end])
		return nil
	}
	for off := int64(block); off < s.size; off += block {
		if f, ok := s.header(p, off); ok && f.at.number() > s.number {
			s.number, s.salt = f.at.number(), binary.LittleEndian.Uint64(p[atSalt:])
		}
	}
	return nil
}

// An entry begins with a header: CRC-32C of the rest of the header and the key, CRC-32C of the body, salt, place, up to
// where everything was durable, length of the body, a number of the owner's, kind, flags, length of the key, and the key.
const (
	atBody, atSalt, atPlace, atDurable, atLen, atArg, atKind, atFlags, atKeyLen, atKey = 4, 8, 16, 24, 32, 40, 48, 49, 50, 52

	flagDurable = 1
)

// encode sets *p to the blocks of an entry at off.
func (s *segment) encode(p *[]byte, e Entry, off int64, durable Pos) {
	key := atKey + len(e.Key)
	n := int(padded(int64(key + len(e.Body))))
	b := slices.Grow((*p)[:0], n)[:n]
	*p = b
	binary.LittleEndian.PutUint32(b[atBody:], checksum(e.Body))
	binary.LittleEndian.PutUint64(b[atSalt:], s.salt)
	binary.LittleEndian.PutUint64(b[atPlace:], uint64(pos(s.number, off))) //nolint:gosec // not negative
	binary.LittleEndian.PutUint64(b[atDurable:], uint64(durable))          //nolint:gosec // not negative
	binary.LittleEndian.PutUint64(b[atLen:], uint64(len(e.Body)))
	binary.LittleEndian.PutUint64(b[atArg:], uint64(e.Arg)) //nolint:gosec // as it is
	b[atKind], b[atFlags] = e.Kind, 0
	if e.Durable {
		b[atFlags] = flagDurable
	}
	binary.LittleEndian.PutUint16(b[atKeyLen:], uint16(len(e.Key))) //nolint:gosec // a short name
	copy(b[atKey:], e.Key)
	copy(b[key:], e.Body)
	clear(b[key+len(e.Body):])
	binary.LittleEndian.PutUint32(b, checksum(b[4:key]))
}

// found is an entry of a segment whose header is whole.
type found struct {
	Entry   // without the body
	at      Pos
	body    Pos
	size    int64 // of the body, in bytes
	sum     uint32
	durable Pos
}

// next is the place behind the entry, in its segment.
func (f *found) next() int64 { return padded(f.body.offset() + f.size) }

// header reads the header at off, whatever segment it is of.
func (s *segment) header(buf []byte, off int64) (found, bool) {
	n, err := s.ReadAt(buf[:min(block, s.size-off)], off)
	if err != nil || n < atKey {
		return found{}, false
	}
	key := atKey + int(binary.LittleEndian.Uint16(buf[atKeyLen:]))
	size := int64(binary.LittleEndian.Uint64(buf[atLen:])) //nolint:gosec // a negative one is refused
	at := Pos(binary.LittleEndian.Uint64(buf[atPlace:]))   //nolint:gosec // a negative one is refused
	if key > n || at < 0 || at.offset() != off || checksum(buf[4:key]) != binary.LittleEndian.Uint32(buf) || size < 0 || size > s.size-off-int64(key) {
		return found{}, false
	}
	return found{
		Entry: Entry{
			Key: string(buf[atKey:key]), Kind: buf[atKind], Durable: buf[atFlags]&flagDurable != 0,
			Arg: int64(binary.LittleEndian.Uint64(buf[atArg:])), //nolint:gosec // as it was
		},
		at: at, body: at + Pos(key), size: size, sum: binary.LittleEndian.Uint32(buf[atBody:]),
		durable: Pos(binary.LittleEndian.Uint64(buf[atDurable:])), //nolint:gosec // as it was
	}, true
}

// entries reads the headers of all entries. Between them may be blocks that begin none.
func (s *segment) entries() (all []found) {
	buf := make([]byte, block)
	for off := int64(block); off < s.size; {
		f, ok := s.header(buf, off)
		if !ok || f.at.number() != s.number || binary.LittleEndian.Uint64(buf[atSalt:]) != s.salt {
			off += block
			continue
		}
		all = append(all, f)
		off = f.next()
	}
	return all
}

// whole reports whether the body of an entry is what was written, and returns it.
func (s *segment) whole(f *found) (body []byte, ok bool) {
	body = make([]byte, f.size)
	_, err := s.ReadAt(body, f.body.offset())
	return body, err == nil && checksum(body) == f.sum
}

// openSegments opens the segments of a directory, in the order in which they were written.
func openSegments(dir string, flag int) (all []*segment, err error) {
	names, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, e := range names {
		if !strings.HasPrefix(e.Name(), prefix) {
			continue
		}
		s, err := openSegment(filepath.Join(dir, e.Name()), flag)
		if errors.Is(err, fs.ErrNotExist) { // freed meanwhile
			continue
		}
		if err != nil {
			closeAll(all)
			return nil, err
		}
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b *segment) int { return cmp.Compare(a.number, b.number) })
	return all, nil
}

func closeAll(all []*segment) {
	for _, s := range all {
		_ = s.Close()
	}
}
