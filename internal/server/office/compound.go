package office

import (
	"bytes"
	"encoding/binary"
	"io"

	"golang.org/x/text/encoding/unicode"
)

const (
	entrySize = 128        // bytes of an entry of a directory (2.6.1)
	regular   = 0xfffffffa // the first number that is not one of a sector, nor of an entry
	mini      = 64         // bytes of a sector of a short stream
	isShort   = 4096       // bytes from which on a stream is not short
)

// compound is a compound file ([MS-CFB]), as older office programs write them: a tree of storages and streams.
// What cannot be read of it is zero, or missing.
type compound struct {
	r         limited
	head      []byte
	bits      uint16 // of the size of a sector in bytes
	directory []byte
	seen      map[uint32]bool // entries: each is in one storage
	err       error           // of reading
	short     []byte          // the bytes of short streams, and the sector behind each of their sectors
	behind    []byte
}

// openCompound reads the directory of a compound file, as far as it can be read. At most so many bytes are read of
// the file.
func openCompound(r io.ReaderAt, most int64) *compound {
	c := &compound{r: limited{r, most}, seen: map[uint32]bool{}}
	c.head = c.read(0, 512)
	c.bits = min(max(9, binary.LittleEndian.Uint16(c.head[30:])), 12)
	c.directory = c.chain(uint32At(c.head, 48), maxDirectory)
	return c
}

// entry is the one with a number, nil if there is none. The root has number 0.
func (c *compound) entry(n uint32) []byte {
	if int64(n) >= int64(len(c.directory)/entrySize) {
		return nil
	}
	return c.directory[int(n)*entrySize:][:entrySize]
}

// in returns the entries in a storage by their names, the first time.
func (c *compound) in(storage []byte) map[string][]byte {
	const left, right, child = 68, 72, 76
	all := map[string][]byte{}
	if storage == nil {
		return all
	}
	for todo := []uint32{uint32At(storage, child)}; len(todo) > 0; todo = todo[1:] {
		n := todo[0]
		e := c.entry(n)
		if c.seen[n] || e == nil {
			continue
		}
		c.seen[n] = true
		todo = append(todo, uint32At(e, left), uint32At(e, right))
		length := min(max(2, binary.LittleEndian.Uint16(e[64:])), 64) - 2 // of the name, with a NUL behind it
		name, _ := unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM).NewDecoder().Bytes(e[:length])
		all[string(name)] = e
	}
	return all
}

// stream returns the bytes of a stream, at most MaxText.
func (c *compound) stream(e []byte) (out []byte) {
	if e == nil {
		return nil
	}
	start, size := uint32At(e, 116), int(min(uint32At(e, 120), MaxText))
	if size >= isShort {
		out = c.chain(start, size)
		return out[:min(len(out), size)]
	}
	if root := c.entry(0); c.short == nil && root != nil {
		c.short = c.chain(uint32At(root, 116), int(min(uint32At(root, 120), MaxText)))
		c.behind = c.chain(uint32At(c.head, 60), MaxText/mini*4)
	}
	for n := int64(start); len(out) < size && (n+1)*mini <= int64(len(c.short)) && (n+1)*4 <= int64(len(c.behind)); {
		out = append(out, c.short[n*mini:][:mini]...)
		n = int64(uint32At(c.behind[n*4:], 0))
	}
	return out[:min(len(out), size)]
}

// chain returns the sectors from one on, up to so many bytes.
func (c *compound) chain(n uint32, size int) []byte {
	var out bytes.Buffer
	for ; n < regular && out.Len() < size; n = c.next(n) {
		sector := c.sector(n)
		if c.err != nil {
			break
		}
		out.Write(sector)
	}
	return out.Bytes()
}

// next is the sector behind another (2.3). Tables have its number; the header, and sectors that follow each
// other, have those of the tables (2.5).
func (c *compound) next(n uint32) uint32 {
	const inHead = 109
	each := uint32(1) << c.bits / 4
	table, list, at := n/each, c.head, uint32(76)
	if table >= inHead {
		table, at = table-inHead, 0
		for list = c.sector(uint32At(c.head, 68)); table >= each-1 && c.err == nil; table -= each - 1 {
			list = c.sector(uint32At(list, 4*(each-1)))
		}
	}
	if c.err != nil {
		return regular
	}
	return uint32At(c.sector(uint32At(list, at+4*table)), 4*(n%each))
}

func (c *compound) sector(n uint32) []byte { return c.read((int64(n)+1)<<c.bits, 1<<c.bits) }

func (c *compound) read(at int64, length int) []byte {
	b := make([]byte, length)
	if n, err := c.r.ReadAt(b, at); n == 0 {
		c.err = err
	}
	return b
}

func uint32At(b []byte, at uint32) uint32 { return binary.LittleEndian.Uint32(b[at:]) }
