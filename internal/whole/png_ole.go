package whole

import (
	"bytes"
	"encoding/binary"
)

// wholePNG reports whether the chunks of a PNG follow each other up to its end, IEND (ISO/IEC 15948, 5.3 and 11.2.5).
func wholePNG(c Content) (bool, error) {
	const most = 1 << 16 // chunks; programs write 8 KiB and more of the picture into each
	off := int64(len(pngHead))
	for range most {
		chunk, err := slice(c, off, 8)
		if err != nil || len(chunk) < 8 {
			return false, err
		}
		length := int64(binary.BigEndian.Uint32(chunk))
		if length > 1<<31-1 { // no chunk: not for us to say what it is
			return true, nil
		}
		off += 12 + length // with the check sum
		if bytes.Equal(chunk[4:], []byte("IEND")) {
			return true, nil // readers do not miss a part of its check sum
		}
	}
	return true, nil
}

const (
	pngHead = "\x89PNG\r\n\x1a\n"
	oleHead = "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
)

// wholeOLE reports whether the sectors that the header of a compound file names, of which .doc, .xls and .msg are some,
// begin before the end ([MS-CFB], 2.2): the directory and the tables of sectors.
func wholeOLE(c Content) (bool, error) {
	head, err := slice(c, 0, 512)
	if err != nil || len(head) < 512 {
		return false, err
	}
	const last = 0xfffffffa // MAXREGSECT
	shift := binary.LittleEndian.Uint16(head[30:])
	if shift != 9 && shift != 12 { // no version that we know
		return true, nil
	}
	number := func(at uint32) uint32 { return binary.LittleEndian.Uint32(head[at:]) }
	sectors := []uint32{number(48)} // of the directory
	if number(64) > 0 {
		sectors = append(sectors, number(60)) // of the table of short streams
	}
	if number(72) > 0 {
		sectors = append(sectors, number(68)) // of the rest of the list of tables
	}
	for i := range min(number(44), 109) {
		sectors = append(sectors, number(76+4*i))
	}
	for _, s := range sectors {
		if s <= last && (int64(s)+1)<<shift >= c.Size() {
			return false, nil
		}
	}
	return true, nil
}
