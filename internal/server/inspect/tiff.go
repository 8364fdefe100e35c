package inspect

import (
	"encoding/binary"
	"io"
)

// maxFrames bounds the frames of a TIFF.
const maxFrames = 10_000

// tiffFormat is the byte order of a TIFF, and whether its offsets have 32 bits (TIFF 6.0, section 2)
// or 64 (BigTIFF).
type tiffFormat struct {
	order binary.ByteOrder
	big   bool
}

// tiffFormatOf reads the first bytes. The order is nil if they are not those of a TIFF.
func tiffFormatOf(header []byte) tiffFormat {
	if len(header) < 4 {
		return tiffFormat{}
	}
	switch string(header[:4]) {
	case "II*\x00":
		return tiffFormat{order: binary.LittleEndian}
	case "MM\x00*":
		return tiffFormat{order: binary.BigEndian}
	case "II+\x00":
		return tiffFormat{order: binary.LittleEndian, big: true}
	case "MM\x00+":
		return tiffFormat{order: binary.BigEndian, big: true}
	}
	return tiffFormat{}
}

// sizes are the bytes of an offset, of the number of entries in a directory, and of an entry.
func (f tiffFormat) sizes() (offset, count, entry int64) {
	if f.big {
		return 8, 8, 20
	}
	return 4, 2, 12
}

// number reads a number of size bytes, -1 if it cannot be read.
func (f tiffFormat) number(r io.ReaderAt, at, size int64) int64 {
	var b [8]byte
	if n, _ := r.ReadAt(b[:size], at); int64(n) < size {
		return -1
	}
	var n uint64
	switch size {
	case 2:
		n = uint64(f.order.Uint16(b[:]))
	case 4:
		n = uint64(f.order.Uint32(b[:]))
	default:
		n = f.order.Uint64(b[:])
	}
	if n > 1<<62 {
		return -1
	}
	return int64(n)
}

// TIFFFrames returns the offsets of a TIFF's image file directories, one per page, in
// order. A damaged file has those before the damage.
func TIFFFrames(r io.ReaderAt) []int64 {
	var header [4]byte
	if _, err := r.ReadAt(header[:], 0); err != nil {
		return nil
	}
	f := tiffFormatOf(header[:])
	if f.order == nil {
		return nil
	}
	size, count, entry := f.sizes()
	var frames []int64
	seen := map[int64]bool{}
	at := f.number(r, size, size) // the header is twice as long as an offset
	for at > 0 && !seen[at] && len(frames) < maxFrames {
		seen[at] = true
		entries := f.number(r, at, count)
		if entries < 0 || entries > 1<<32 {
			break
		}
		frames = append(frames, at)
		at = f.number(r, at+count+entries*entry, size)
	}
	return frames
}

// TIFFOrientation returns the orientation of the picture of a directory, 1 to 8 (TIFF 6.0, section 8);
// 1, not turned, if it is not known.
func TIFFOrientation(r io.ReaderAt, frame int64) int {
	const tag, most = 274, 1000
	var header [4]byte
	if _, err := r.ReadAt(header[:], 0); err != nil {
		return 1
	}
	f := tiffFormatOf(header[:])
	if f.order == nil || f.big {
		return 1
	}
	for i := range min(f.number(r, frame, 2), most) {
		entry := frame + 2 + i*12
		if f.number(r, entry, 2) != tag {
			continue
		}
		if turn := f.number(r, entry+8, 2); turn >= 1 && turn <= 8 {
			return int(turn)
		}
	}
	return 1
}

// TIFFOrder returns the byte order of a TIFF with offsets of 32 bits, nil for anything else.
func TIFFOrder(header []byte) binary.ByteOrder {
	if f := tiffFormatOf(header); !f.big {
		return f.order
	}
	return nil
}
