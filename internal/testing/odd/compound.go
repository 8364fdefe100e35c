package odd

import (
	"bytes"
	"encoding/binary"
	"path"
	"slices"
	"strings"
	"unicode/utf16"
)

const (
	sectorSize = 512
	miniSize   = 64
	miniBelow  = 4096 // streams that are smaller are in the mini stream, in sectors of 64 bytes
	endOfChain = 0xfffffffe
	noSector   = 0xffffffff
	fatSector  = 0xfffffffd
)

// Compound makes a compound file ([MS-CFB], version 3) of streams, as Outlook, Word and Excel write them, of 6 MB at
// most. In names "/" stands between a storage and what it holds; a name that ends in "/" is an empty storage. The
// content with the name "" is no stream but the class id of the root, of 16 bytes.
func Compound(streams map[string][]byte) []byte {
	c := &compound{streams: streams, below: map[string][]string{}}
	for name := range streams {
		for strings.Trim(name, "/") != "" {
			name = strings.TrimSuffix(name, "/")
			in := strings.TrimPrefix(path.Dir(name), ".")
			if !slices.Contains(c.below[in], name) {
				c.below[in] = append(c.below[in], name)
			}
			name = in
		}
	}
	c.entry("Root Entry", 5, streams[""])
	c.set(0, offChild, c.tree(""))
	start := c.chain(c.mini, sectorSize, &c.sectors, &c.fat)
	c.set(0, offStart, start)
	c.set(0, offSize, len(c.mini))
	return c.file()
}

// compound is a compound file that is being made.
type compound struct {
	streams                  map[string][]byte
	below                    map[string][]string // names in each storage
	sectors, mini, directory []byte
	fat, miniFAT             []int
}

// Places in an entry of the directory (2.6.1).
const (
	offLeft, offRight, offChild = 68, 72, 76
	offStart, offSize           = 116, 120
)

// entry adds an entry to the directory and returns its number.
func (c *compound) entry(name string, kind byte, class []byte) int {
	e := make([]byte, 128)
	units := append(utf16.Encode([]rune(name)), 0)
	for i, u := range units {
		binary.LittleEndian.PutUint16(e[2*i:], u)
	}
	e[64] = byte(2 * len(units)) //nolint:gosec // at most 64
	e[66], e[67] = kind, 1       // black
	copy(e[80:96], class)
	c.directory = append(c.directory, e...)
	number := len(c.directory)/128 - 1
	for _, at := range []int{offLeft, offRight, offChild} {
		c.set(number, at, noSector)
	}
	return number
}

func (c *compound) set(entry, at, value int) {
	binary.LittleEndian.PutUint32(c.directory[128*entry+at:], uint32(value)) //nolint:gosec // the file is small
}

// tree adds what a storage holds, and returns the entry at the top of its tree, which is as flat as can be.
func (c *compound) tree(storage string) int {
	names := c.below[storage]
	slices.SortFunc(names, func(a, b string) int { // 2.6.4: the shorter first
		if by := len(path.Base(a)) - len(path.Base(b)); by != 0 {
			return by
		}
		return strings.Compare(strings.ToUpper(a), strings.ToUpper(b))
	})
	return c.half(names)
}

func (c *compound) half(names []string) int {
	if len(names) == 0 {
		return noSector
	}
	middle := len(names) / 2
	name := names[middle]
	content, isStream := c.streams[name]
	var e int
	if isStream {
		e = c.entry(path.Base(name), 2, nil)
		c.set(e, offStart, c.stream(content))
		c.set(e, offSize, len(content))
	} else {
		e = c.entry(path.Base(name), 1, nil)
		c.set(e, offChild, c.tree(name))
	}
	c.set(e, offLeft, c.half(names[:middle]))
	c.set(e, offRight, c.half(names[middle+1:]))
	return e
}

func (c *compound) stream(content []byte) int {
	if len(content) < miniBelow {
		return c.chain(content, miniSize, &c.mini, &c.miniFAT)
	}
	return c.chain(content, sectorSize, &c.sectors, &c.fat)
}

// chain adds content in sectors of that size and returns the first.
func (c *compound) chain(content []byte, size int, sectors *[]byte, fat *[]int) int {
	if len(content) == 0 {
		return endOfChain
	}
	first := len(*fat)
	*sectors = append(*sectors, content...)
	*sectors = append(*sectors, make([]byte, -len(*sectors)&(size-1))...)
	for len(*fat) < len(*sectors)/size-1 {
		*fat = append(*fat, len(*fat)+1)
	}
	*fat = append(*fat, endOfChain)
	return first
}

// numbers are the bytes of a table, filled up to whole sectors.
func numbers(table []int) (b []byte) {
	for _, n := range table {
		b = binary.LittleEndian.AppendUint32(b, uint32(n)) //nolint:gosec // of 32 bits
	}
	return append(b, bytes.Repeat([]byte{0xff}, -len(b)&(sectorSize-1))...)
}

// file puts the header (2.2), sectors and tables together.
func (c *compound) file() []byte {
	directory := c.chain(c.directory, sectorSize, &c.sectors, &c.fat)
	miniFAT := c.chain(numbers(c.miniFAT), sectorSize, &c.sectors, &c.fat)
	first, sectors := len(c.fat), 0
	for sectors*sectorSize/4 < len(c.fat) {
		c.fat = append(c.fat, fatSector)
		sectors++
	}
	h := append([]byte("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"), make([]byte, 16)...)
	h = append(h, "\x3e\x00\x03\x00\xfe\xff\x09\x00\x06\x00"...)
	h = append(h, make([]byte, 10)...)
	fields := []int{sectors, directory, 0, miniBelow, miniFAT, len(numbers(c.miniFAT)) / sectorSize, endOfChain, 0}
	for i := range sectors {
		fields = append(fields, first+i)
	}
	if len(fields) > 8+109 {
		panic("odd: the compound file is too large for the table in its header")
	}
	h = append(h, numbers(fields)...)[:sectorSize]
	return slices.Concat(h, c.sectors, numbers(c.fat))
}
