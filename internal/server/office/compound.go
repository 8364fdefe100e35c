package office

import (
	"encoding/binary"
	"io"

	"golang.org/x/text/encoding/unicode"
)

// compound is a compound file ([MS-CFB]), as older office programs write them.
type compound struct {
	r    limited
	head []byte
	bits uint16 // of the size of a sector in bytes
	err  error  // of reading; what cannot be read is zero
}

// streams returns the names in the root of a compound file, as far as its directory can be read.
func streams(r io.ReaderAt) (names []string) {
	const regular, entry, left, right, child = 0xfffffffa, 128, 68, 72, 76 // 2.1 and 2.6.1
	c := &compound{r: limited{r, 4 * maxDirectory}}
	c.head = c.read(0, 512)
	c.bits = min(max(9, binary.LittleEndian.Uint16(c.head[30:])), 12)
	var directory []byte
	for n := uint32At(c.head, 48); n < regular && c.err == nil && len(directory) < maxDirectory; n = c.next(n) {
		directory = append(directory, c.sector(n)...)
	}
	seen := map[uint32]bool{}
	for todo := []uint32{0}; len(todo) > 0; todo = todo[1:] {
		n := todo[0]
		if seen[n] || int64(n) >= int64(len(directory)/entry) {
			continue
		}
		seen[n] = true
		e := directory[int(n)*entry:][:entry]
		if n == 0 {
			todo = append(todo, uint32At(e, child))
			continue
		}
		todo = append(todo, uint32At(e, left), uint32At(e, right))
		length := min(max(2, binary.LittleEndian.Uint16(e[64:])), 64) - 2 // of the name, with a NUL behind it
		name, _ := unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM).NewDecoder().Bytes(e[:length])
		names = append(names, string(name))
	}
	return names
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
		return 0
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
