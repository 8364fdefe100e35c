package whole

import (
	"encoding/binary"
	"errors"
)

// TIFF is a TIFF (TIFF 6.0, section 2), or a BigTIFF, whose counts and offsets are longer.
type TIFF struct {
	c     Content
	Order binary.ByteOrder
	// long, short and entry are the bytes of an offset, of the number of entries, and of an entry.
	long, short, entry uint64
	left               uint64 // bytes that may still be read: directories may share their values
}

// Tags of a directory (section 8).
const (
	TagSubfile         = 254
	TagWidth           = 256
	TagHeight          = 257
	tagBitsPerSample   = 258
	TagCompression     = 259
	tagPhotometric     = 262
	TagFillOrder       = 266
	TagStripOffsets    = 273
	TagOrientation     = 274
	tagSamplesPerPixel = 277
	tagRowsPerStrip    = 278
	TagStripByteCounts = 279
	TagXResolution     = 282
	TagYResolution     = 283
	TagResolutionUnit  = 296
	tagTileOffsets     = 324
	tagTileByteCounts  = 325
)

// AsTIFF returns the TIFF that a content begins like, nil if it begins like none.
func AsTIFF(c Content) *TIFF {
	head, err := slice(c, 0, 8)
	if err != nil || len(head) < 4 {
		return nil
	}
	t := &TIFF{c: c, Order: binary.LittleEndian, long: 4, short: 2, entry: 12, left: 256 << 20}
	if head[0] == 'M' {
		t.Order = binary.BigEndian
	}
	switch string(head[:4]) {
	case "II*\x00", "MM\x00*":
		return t
	case "II+\x00", "MM\x00+":
		t.long, t.short, t.entry = 8, 8, 20
		if len(head) == 8 && t.number(head[4:6]) == t.long && t.number(head[6:]) == 0 {
			return t
		}
	}
	return nil
}

// number is the unsigned one that fills p.
func (t *TIFF) number(p []byte) uint64 {
	switch len(p) {
	case 2:
		return uint64(t.Order.Uint16(p))
	case 4:
		return uint64(t.Order.Uint32(p))
	}
	return t.Order.Uint64(p)
}

// errStrange says that something is no TIFF, or a costly one.
var errStrange = errors.New("it is not for us to say what it is")

// read returns n bytes at off, and ErrIncomplete if they do not lie before the end.
func (t *TIFF) read(off, n uint64) ([]byte, error) {
	size := uint64(t.c.Size()) //nolint:gosec // no size is negative
	switch {
	case off > size || n > size-off:
		return nil, ErrIncomplete
	case n > t.left:
		return nil, errStrange
	}
	t.left -= n
	return slice(t.c, int64(off), int64(n)) //nolint:gosec // below the size
}

// Directory describes a picture in a TIFF.
type Directory struct {
	*TIFF
	At      uint64 // its offset
	entries []byte
}

// directory reads the one at off.
func (t *TIFF) directory(off uint64) (Directory, error) {
	p, err := t.read(off, t.short)
	if err != nil {
		return Directory{}, err
	}
	n := t.number(p)
	if n > 1<<12 {
		return Directory{}, errStrange
	}
	entries, err := t.read(off+t.short, n*t.entry)
	return Directory{t, off, entries}, err
}

// Directories calls yield with each directory, or with the error that ends the list: ErrIncomplete if
// the next one does not lie before the end of the file.
func (t *TIFF) Directories(yield func(Directory, error) bool) {
	const most = 1 << 16
	seen := map[uint64]bool{}
	for at := t.long; len(seen) < most; { // the header is twice as long as an offset
		p, err := t.read(at, t.long)
		if errors.Is(err, ErrIncomplete) && len(seen) > 0 {
			return // some programs leave out the last offset, which is 0
		}
		var d Directory
		if err == nil {
			off := t.number(p)
			if off == 0 || seen[off] {
				return
			}
			seen[off] = true
			d, err = t.directory(off)
			at = off + t.short + uint64(len(d.entries))
		}
		if !yield(d, err) || err != nil {
			return
		}
	}
}

// Pages calls yield with each directory that is a page, and no smaller picture of another one and no
// mask. A damaged file has those before the damage.
func (t *TIFF) Pages(yield func(Directory) bool) {
	const page = 2
	for d, err := range t.Directories {
		if err != nil {
			return
		}
		if kind := d.Number(TagSubfile, 0); (kind == 0 || kind&page != 0) && !yield(d) {
			return
		}
	}
}

// Field returns where the unsigned numbers of a tag stand, how many bytes each has, and how many there
// are: none if it has other values, or more than any picture needs. A fraction is two.
func (d Directory) Field(tag uint64) (at, width, n uint64) {
	for e := d.entries; uint64(len(e)) >= d.entry; e = e[d.entry:] {
		if d.number(e[:2]) != tag {
			continue
		}
		value := e[4+d.long:]
		n = d.number(e[4 : 4+d.long])
		switch d.number(e[2:4]) {
		case 3: // SHORT
			width = 2
		case 4: // LONG
			width = 4
		case 5: // RATIONAL
			width, n = 4, 2*n
		case 16: // LONG8
			width = 8
		}
		if width == 0 || n > 1<<16 {
			return 0, 0, 0
		}
		at = d.At + d.short + uint64(len(d.entries)-len(value)) //nolint:gosec // not negative
		if n*width > d.long {
			at = d.number(value[:d.long])
		}
		return at, width, n
	}
	return 0, 0, 0
}

// Numbers returns the unsigned numbers of a tag, and ErrIncomplete if they lie behind the end.
func (d Directory) Numbers(tag uint64) (all []uint64, err error) {
	at, width, n := d.Field(tag)
	if n == 0 {
		return nil, nil
	}
	p, err := d.read(at, n*width)
	for ; len(p) > 0; p = p[width:] {
		all = append(all, d.number(p[:width]))
	}
	return all, err
}

// Number returns the first number of a tag, and otherwise if it has none.
func (d Directory) Number(tag, otherwise uint64) uint64 {
	if all, err := d.Numbers(tag); err == nil && len(all) > 0 {
		return all[0]
	}
	return otherwise
}

// whole reports whether all directories, and the data that they name, begin before the end.
func (t *TIFF) whole() (bool, error) {
	var last uint64 // of the directories in the file: what is in front of it is there
	err := t.each(func(d Directory) error {
		last = max(last, d.At)
		return nil
	})
	if err == nil {
		err = t.each(func(d Directory) error { return d.data(last) })
	}
	switch {
	case errors.Is(err, ErrIncomplete):
		return false, nil
	case errors.Is(err, errStrange):
		return true, nil
	}
	return true, err
}

func (t *TIFF) each(work func(Directory) error) error {
	for d, err := range t.Directories {
		if err == nil {
			err = work(d)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// need returns how many bytes of data that are not compressed strip i has at least: what the picture needs.
func (d Directory) need(i int) uint64 {
	const most, subsampled = 1 << 20, 6 // YCbCr
	height, bits, samples := d.Number(TagHeight, 0), d.Number(tagBitsPerSample, 1), d.Number(tagSamplesPerPixel, 1)
	rows, row := min(d.Number(tagRowsPerStrip, height), height), (min(d.Number(TagWidth, 0), most)*min(bits, 64)*min(samples, 64)+7)/8
	if rows == 0 || height > most || d.Number(tagPhotometric, 0) == subsampled {
		return 1
	}
	before := uint64(i) % ((height + rows - 1) / rows) * rows //nolint:gosec // an index; each plane has such strips
	return max(1, min(rows, height-before)*row)
}

// data returns ErrIncomplete if the data that a directory names are not there. The length of data counts
// only behind the last directory, and where they are not compressed, only as far as the picture needs it: some
// programs write one that is too large for the last strip, or none.
func (d Directory) data(last uint64) error {
	size := uint64(d.c.Size()) //nolint:gosec // no size is negative
	for _, tags := range [][2]uint64{{TagStripOffsets, TagStripByteCounts}, {tagTileOffsets, tagTileByteCounts}} {
		offsets, err := d.Numbers(tags[0])
		counts, failed := d.Numbers(tags[1])
		if err = errors.Join(err, failed); err != nil {
			return err
		}
		compressed, strips := d.Number(TagCompression, 1) != 1, tags[0] == TagStripOffsets
		for i, off := range offsets {
			count := uint64(1)
			if len(counts) == len(offsets) {
				count = counts[i]
			}
			if off > size || count > 0 && off == size || off > last && count > size-off && (compressed || strips && d.need(i) > size-off) {
				return ErrIncomplete
			}
		}
	}
	return nil
}
