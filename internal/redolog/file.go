package redolog

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"

	"github.com/archivefs/archivefs/internal/durable"
)

// names are those of the files.
var names = [2]string{"redo.0", "redo.1"}

// block is the unit in which a file is written, in bytes: what is written later never touches a page
// of what is durable.
const block = 4096

// magic begins a file.
const magic = "redolog1"

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Entry describes one change.
type Entry struct {
	Key  string // of what was changed; not empty
	Meta []byte
	Body *io.SectionReader // nil for none
}

// file is one file of a log.
type file struct {
	*os.File
	size       int64
	generation uint64
	salt       uint64
	boot       string

	end     int64 // of the entries; 0 before begin
	durable int64 // how far it is synced
	syncing bool
	err     error // of a write or a sync, after which it takes no more entries
	keys    map[string]bool
}

// openFile opens a file and reads its first block. A file that has none is empty.
func openFile(path string, flag int) (*file, error) {
	opened, err := os.OpenFile(path, flag, 0) //nolint:gosec // the owner names the directory
	if err != nil {
		return nil, err
	}
	f := &file{File: opened}
	info, err := f.Stat()
	if err == nil {
		f.size, err = info.Size(), f.readStart()
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// makeFile makes a file of so many bytes, written and durable.
func makeFile(path string, size int64) (*file, error) {
	temp, err := durable.CreateTemp(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	if err = writeZeros(temp, size); err == nil {
		err = durable.Publish(temp, path)
	}
	if err != nil {
		return nil, durable.Discard(temp, err)
	}
	return &file{File: temp, size: size}, nil
}

// The first block: magic, generation, salt, length of boot, boot, CRC-32C of all of that.
const startFixed = len(magic) + 8 + 8 + 4

// begin empties the file for a new generation. It is durable with the first entry, or with a sync.
func (f *file) begin(generation uint64, boot string) error {
	salt := rand.Uint64() //nolint:gosec // only unlike those before
	p := make([]byte, 0, block)
	p = append(p, magic...)
	p = binary.LittleEndian.AppendUint64(p, generation)
	p = binary.LittleEndian.AppendUint64(p, salt)
	p = binary.LittleEndian.AppendUint32(p, uint32(len(boot))) //nolint:gosec // some bytes
	p = append(p, boot...)
	p = binary.LittleEndian.AppendUint32(p, crc32.Checksum(p, castagnoli))
	if len(p) > block {
		return errors.New("the name of the machine's run is too long")
	}
	if _, err := f.WriteAt(p[:block], 0); err != nil {
		return err
	}
	f.generation, f.salt, f.boot = generation, salt, boot
	f.end, f.durable, f.err, f.keys = block, 0, nil, map[string]bool{}
	return nil
}

// zero overwrites all entries, durably.
func (f *file) zero() error {
	if err := writeZeros(io.NewOffsetWriter(f, block), f.size-block); err != nil {
		return err
	}
	return durable.SyncData(f.File)
}

func writeZeros(w io.Writer, n int64) (err error) {
	zeros := make([]byte, min(n, 64<<10))
	for ; n > 0 && err == nil; n -= int64(len(zeros)) {
		_, err = w.Write(zeros[:min(n, int64(len(zeros)))])
	}
	return err
}

// readStart reads the first block.
func (f *file) readStart() error {
	p := make([]byte, block)
	if n, err := f.ReadAt(p, 0); n < block {
		if errors.Is(err, io.EOF) {
			err = nil
		}
		return err
	}
	if string(p[:len(magic)]) != magic {
		return nil
	}
	end := startFixed + int(binary.LittleEndian.Uint32(p[startFixed-4:]))
	if end > block-4 || end < startFixed || crc32.Checksum(p[:end], castagnoli) != binary.LittleEndian.Uint32(p[end:]) {
		return nil
	}
	f.generation = binary.LittleEndian.Uint64(p[len(magic):])
	f.salt = binary.LittleEndian.Uint64(p[len(magic)+8:])
	f.boot = string(p[startFixed:end])
	return nil
}

// takes reports whether an entry of n bytes can be appended.
func (f *file) takes(n int64) bool { return f.err == nil && f.end+n <= f.size }

// An entry begins with fixed bytes: CRC-32C of the rest but the salt, lengths of key, meta and body,
// whether there is a body, the salt.
const (
	atSalt = 24
	atKey  = 32

	hasBody = 1
)

// encode sets p to the blocks of an entry, without the salt.
func encode(p *[]byte, e Entry) error {
	var body int64
	var flags uint32
	if e.Body != nil {
		body, flags = e.Body.Size(), hasBody
	}
	length := atKey + int64(len(e.Key)) + int64(len(e.Meta)) + body
	padded := (length + block - 1) / block * block
	b := slices.Grow((*p)[:0], int(padded))[:padded]
	*p = b
	binary.LittleEndian.PutUint32(b[4:], uint32(len(e.Key)))  //nolint:gosec // a name
	binary.LittleEndian.PutUint32(b[8:], uint32(len(e.Meta))) //nolint:gosec // a record
	binary.LittleEndian.PutUint32(b[12:], flags)
	binary.LittleEndian.PutUint64(b[16:], uint64(body))
	at := atKey + copy(b[atKey:], e.Key)
	at += copy(b[at:], e.Meta)
	if body > 0 {
		if n, err := e.Body.ReadAt(b[at:length], 0); int64(n) < body {
			return fmt.Errorf("read %s: %w", e.Key, err)
		}
	}
	clear(b[length:])
	binary.LittleEndian.PutUint32(b, sum(b[:length]))
	return nil
}

// sum is the checksum of an entry.
func sum(entry []byte) uint32 {
	return crc32.Update(crc32.Checksum(entry[4:atSalt], castagnoli), castagnoli, entry[atKey:])
}

// append writes an entry that was encoded.
func (f *file) append(key string, p []byte) error {
	binary.LittleEndian.PutUint64(p[atSalt:], f.salt)
	if _, err := f.WriteAt(p, f.end); err != nil {
		f.err = err
		return err
	}
	f.end += int64(len(p))
	f.keys[key] = true
	return nil
}

// sorted returns the keys of the entries.
func (f *file) sorted() []string { return slices.Sorted(maps.Keys(f.keys)) }

// entries reads all entries up to the first block that begins none.
func (f *file) entries() (all []Entry) {
	fixed := make([]byte, atKey)
	for at := int64(block); f.generation > 0 && at < f.size; {
		if _, err := f.ReadAt(fixed, at); err != nil || binary.LittleEndian.Uint64(fixed[atSalt:]) != f.salt {
			return all
		}
		key, meta := int64(binary.LittleEndian.Uint32(fixed[4:])), int64(binary.LittleEndian.Uint32(fixed[8:]))
		body := int64(binary.LittleEndian.Uint64(fixed[16:])) //nolint:gosec // a negative one is refused
		length := atKey + key + meta + body
		if body < 0 || body > f.size || at+length > f.size {
			return all
		}
		p := make([]byte, length)
		if _, err := f.ReadAt(p, at); err != nil || sum(p) != binary.LittleEndian.Uint32(p) {
			return all
		}
		e := Entry{Key: string(p[atKey : atKey+key]), Meta: bytes.Clone(p[atKey+key : atKey+key+meta])}
		if binary.LittleEndian.Uint32(fixed[12:])&hasBody != 0 {
			e.Body = io.NewSectionReader(f, at+atKey+key+meta, body)
		}
		all = append(all, e)
		at += (length + block - 1) / block * block
	}
	return all
}
