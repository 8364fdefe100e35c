package inspect

import (
	"encoding/binary"
	"io"
)

// maxFrames bounds the frames that are looked for in one TIFF.
const maxFrames = 10_000

// TIFFFrames returns the offsets of a TIFF's image file directories, one per page, in
// order (TIFF 6.0, section 2). A damaged file has those before the damage.
func TIFFFrames(r io.ReaderAt) []uint32 {
	var header [8]byte
	if _, err := r.ReadAt(header[:], 0); err != nil {
		return nil
	}
	order := TIFFOrder(header[:])
	if order == nil {
		return nil
	}
	var frames []uint32
	seen := map[uint32]bool{}
	offset := order.Uint32(header[4:])
	for offset != 0 && !seen[offset] && len(frames) < maxFrames {
		seen[offset] = true
		var count [2]byte
		if _, err := r.ReadAt(count[:], int64(offset)); err != nil {
			break
		}
		frames = append(frames, offset)
		var next [4]byte
		entries := int64(order.Uint16(count[:])) * 12
		if _, err := r.ReadAt(next[:], int64(offset)+2+entries); err != nil {
			break
		}
		offset = order.Uint32(next[:])
	}
	return frames
}

// TIFFOrder returns the byte order of a TIFF header, nil when it is none.
func TIFFOrder(header []byte) binary.ByteOrder {
	switch {
	case len(header) < 4:
		return nil
	case string(header[:4]) == "II*\x00":
		return binary.LittleEndian
	case string(header[:4]) == "MM\x00*":
		return binary.BigEndian
	}
	return nil
}
