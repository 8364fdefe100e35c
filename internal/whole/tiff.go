package whole

import (
	"bytes"
	"encoding/binary"
)

// tiff is a TIFF (TIFF 6.0, section 2), or a BigTIFF, whose counts and offsets are longer.
type tiff struct {
	Content
	order binary.ByteOrder
	big   bool
}

// The tags that say where the data are, and how they are compressed.
const (
	tagCompression     = 259
	tagStripOffsets    = 273
	tagStripByteCounts = 279
	tagTileOffsets     = 324
	tagTileByteCounts  = 325
)

// asTIFF returns the TIFF that begins with head; false when that begins none.
func asTIFF(c Content, head []byte) (tiff, bool) {
	switch {
	case bytes.HasPrefix(head, []byte("II*\x00")):
		return tiff{c, binary.LittleEndian, false}, true
	case bytes.HasPrefix(head, []byte("MM\x00*")):
		return tiff{c, binary.BigEndian, false}, true
	case bytes.HasPrefix(head, []byte("II+\x00\x08\x00\x00\x00")):
		return tiff{c, binary.LittleEndian, true}, true
	case bytes.HasPrefix(head, []byte("MM\x00+\x00\x08\x00\x00")):
		return tiff{c, binary.BigEndian, true}, true
	}
	return tiff{}, false
}

// number is the unsigned one that fills p.
func (t tiff) number(p []byte) uint64 {
	switch len(p) {
	case 2:
		return uint64(t.order.Uint16(p))
	case 4:
		return uint64(t.order.Uint32(p))
	}
	return t.order.Uint64(p)
}

// whole reports whether all directories, and the data that they name, begin before the end.
// The length of data counts only where they are compressed: some programs write one that is
// too large for the last strip of others.
func (t tiff) whole() (bool, error) {
	const most = 1 << 12 // directories; a scan has one for each page
	width, at := int64(4), int64(4)
	if t.big {
		width, at = 8, 8
	}
	for n := range most { // so few that a list without an end has one, too
		p, err := slice(t, at, width)
		if err != nil {
			return false, err
		}
		if int64(len(p)) < width {
			return n > 0, nil // some programs leave out the last offset, which is 0
		}
		next := t.number(p)
		if next == 0 { // the last one; without any it is not for us to say what follows
			return true, nil
		}
		end, whole, err := t.directory(next)
		if err != nil || !whole {
			return false, err
		}
		at = end
	}
	return true, nil
}

// directory reports whether the one at off is whole, and where it ends.
func (t tiff) directory(off uint64) (end int64, whole bool, err error) {
	count, entry := int64(2), int64(12)
	if t.big {
		count, entry = 8, 20
	}
	if off >= uint64(t.Size()) { //nolint:gosec // no size is negative
		return 0, false, nil
	}
	at := int64(off) //nolint:gosec // below the size
	p, err := slice(t, at, count)
	if err != nil || int64(len(p)) < count {
		return 0, false, err
	}
	n := t.number(p)
	if n > 1<<12 { // no directory: not for us to say what it is
		return t.Size(), true, nil
	}
	entries, err := slice(t, at+count, int64(n)*entry)
	if err != nil || int64(len(entries)) < int64(n)*entry {
		return 0, false, err
	}
	whole, err = t.data(entries, int(entry))
	return at + count + int64(n)*entry, whole, err
}

// data reports whether the data that the entries of a directory name are there.
func (t tiff) data(entries []byte, entry int) (bool, error) {
	values := map[uint64][]uint64{}
	for ; len(entries) >= entry; entries = entries[entry:] {
		switch tag := t.number(entries[:2]); tag {
		case tagCompression, tagStripOffsets, tagStripByteCounts, tagTileOffsets, tagTileByteCounts:
			all, whole, err := t.values(entries[:entry])
			if err != nil || !whole {
				return false, err
			}
			values[tag] = all
		}
	}
	compressed := len(values[tagCompression]) == 1 && values[tagCompression][0] != 1
	size := uint64(t.Size()) //nolint:gosec // no size is negative
	for _, tags := range [][2]uint64{{tagStripOffsets, tagStripByteCounts}, {tagTileOffsets, tagTileByteCounts}} {
		offsets, counts := values[tags[0]], values[tags[1]]
		for i, off := range offsets {
			switch {
			case len(offsets) != len(counts), counts[i] == 0: // not for us to say what it is
			case off >= size, compressed && counts[i] > size-off:
				return false, nil
			}
		}
	}
	return true, nil
}

// values are those of an entry; not whole when they lie behind the end. Those that are no
// unsigned numbers are left out.
func (t tiff) values(entry []byte) (all []uint64, whole bool, err error) {
	widths := map[uint64]uint64{3: 2, 4: 4, 16: 8} // SHORT, LONG, LONG8
	width := widths[t.number(entry[2:4])]
	inline := entry[8:]
	n := t.number(entry[4:8])
	if t.big {
		n, inline = t.number(entry[4:12]), entry[12:]
	}
	size := uint64(t.Size()) //nolint:gosec // no size is negative
	if width == 0 || n > 1<<16 {
		return nil, true, nil
	}
	p := inline
	if n*width > uint64(len(inline)) {
		off := t.number(inline)
		if off >= size || n*width > size-off {
			return nil, false, nil
		}
		if p, err = slice(t, int64(off), int64(n*width)); err != nil { //nolint:gosec // below the size
			return nil, false, err
		}
	}
	for ; n > 0; n, p = n-1, p[width:] {
		all = append(all, t.number(p[:width]))
	}
	return all, true, nil
}
