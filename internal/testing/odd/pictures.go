package odd

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/jpeg"
	"image/png"
	"maps"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/image/bmp"
)

// Picture is a picture of 64 x 64 white pixels with a black square of 16 x 16 at 16, 16, upright.
type Picture struct {
	Name          string
	Content       []byte
	Type          string
	Pages         int
	Width, Height float64 // of the first page, in mm
	Needs         string  // the program that reads it; empty if Go's libraries do
	Turned        bool    // clockwise by a quarter: the square is at 32, 16
}

// Tags of TIFFs.
const (
	subfile, width, height, bitsPerSample, compression, photometric = 254, 256, 257, 258, 259, 262
	fillOrder, stripOffsets, orientation, samples, rows, counts     = 266, 273, 274, 277, 278, 279
	xDots, yDots, planar, t4Options, unit, extraSamples             = 282, 283, 284, 292, 296, 338
)

// tags are the numbers of the fields of a directory.
type tags map[uint16][]uint32

// sheet is a page of a TIFF.
type sheet struct {
	data   []byte
	fields tags
}

// scan is a page in black and white of 100 dots per inch, with these fields otherwise, or without those that are nil.
func scan(data []byte, otherwise tags) sheet {
	fields := tags{
		width: {64}, height: {64}, bitsPerSample: {1}, compression: {1}, photometric: {0}, samples: {1}, rows: {64},
		counts: {uint32(len(data))}, xDots: {100, 1}, yDots: {100, 1}, unit: {2},
	}
	maps.Copy(fields, otherwise)
	return sheet{data, fields}
}

// makeTIFF makes a TIFF whose directories stand behind the data of their pages, as libtiff does.
func makeTIFF(order binary.AppendByteOrder, big bool, sheets ...sheet) []byte {
	mark := map[bool]string{true: "MM", false: "II"}[order.String() == binary.BigEndian.String()]
	out := order.AppendUint16([]byte(mark), 42)
	long, short := order.AppendUint32, func(p []byte, n uint32) []byte { return order.AppendUint16(p, uint16(n)) }
	if big {
		out = order.AppendUint16(order.AppendUint16(order.AppendUint16([]byte(mark), 43), 8), 0)
		long = func(p []byte, n uint32) []byte { return order.AppendUint64(p, uint64(n)) }
		short = long
	}
	next, size := len(out), len(long(nil, 0))
	out = long(out, 0)
	for _, s := range sheets {
		fields := tags{stripOffsets: {uint32(len(out))}}
		maps.Copy(fields, s.fields)
		maps.DeleteFunc(fields, func(_ uint16, values []uint32) bool { return values == nil })
		out = append(out, s.data...)
		copy(out[next:], long(nil, uint32(len(out))))
		out = short(out, uint32(len(fields)))
		behind, values := len(out)+len(fields)*(4+2*size)+size, []byte(nil)
		for _, tag := range slices.Sorted(maps.Keys(fields)) {
			kind, p, n := uint16(4), []byte(nil), len(fields[tag])
			for _, v := range fields[tag] {
				p = order.AppendUint32(p, v)
			}
			switch tag {
			case xDots, yDots:
				kind, n = 5, 1
			case bitsPerSample, compression, photometric, orientation, fillOrder, unit, planar, samples, extraSamples:
				kind, p = 3, nil
				for _, v := range fields[tag] {
					p = order.AppendUint16(p, uint16(v))
				}
			}
			out = long(order.AppendUint16(order.AppendUint16(out, tag), kind), uint32(n))
			if len(p) > size {
				out = long(out, uint32(behind+len(values)))
				values = append(values, p...)
			} else {
				out = append(out, append(p, make([]byte, size-len(p))...)...)
			}
		}
		next = len(out)
		out = append(long(out, 0), values...)
	}
	return out
}

// Codes of rows (ITU-T T.4 and T.6): white ones, and those with the square.
const (
	endOfLine   = "000000000001"
	white       = "11011" + "00110101"                  // 64
	crossed     = "101010" + "0000010111" + "00011011"  // 16, 16, 32
	firstInTwo  = "001" + "101010" + "0000010111" + "1" // behind a white one
	sameWhite   = "1"                                   // as the one before
	sameCrossed = "111"                                 // as the one before
	whiteAgain  = "0001" + "1"                          // behind one with the square
	endOfPage   = endOfLine + endOfLine                 // of T.6
	oneD, twoD  = endOfLine + "1", endOfLine + "0"      // of T.4 in two dimensions
)

// packed are bits, up to the end of a byte.
func packed(code string) (out []byte) {
	code += strings.Repeat("0", -len(code)&7)
	for c := range slices.Chunk([]byte(code), 8) {
		b := byte(0)
		for _, bit := range c {
			b = b<<1 | (bit - '0')
		}
		out = append(out, b)
	}
	return out
}

// coded are the rows of the picture: the first ones of each kind, and those that are the same.
func coded(firstWhite, sameWhite, firstCrossed, sameCrossed, whiteAgain string) string {
	return firstWhite + strings.Repeat(sameWhite, 15) + firstCrossed + strings.Repeat(sameCrossed, 15) + whiteAgain + strings.Repeat(sameWhite, 31)
}

func group3() []byte {
	return packed(coded(endOfLine+white, endOfLine+white, endOfLine+crossed, endOfLine+crossed, endOfLine+white))
}

func group3InTwo() []byte {
	return packed(coded(oneD+white, twoD+sameWhite, oneD+crossed, twoD+sameCrossed, oneD+white))
}

func group4() []byte {
	return packed(coded(sameWhite, sameWhite, firstInTwo, sameCrossed, whiteAgain) + endOfPage)
}

// huffman is compression 2: each row is a number of bytes.
func huffman() []byte {
	w, c := packed(white), packed(crossed)
	return slices.Concat(bytes.Repeat(w, 16), bytes.Repeat(c, 16), bytes.Repeat(w, 32))
}

// reversed has the bits of each byte in the other order.
func reversed(data []byte) []byte {
	data = bytes.Clone(data)
	for i, b := range data {
		data[i] = bits.Reverse8(b)
	}
	return data
}

// pixels has so many bytes for each pixel.
func pixels(paper, ink []byte) (out []byte) {
	for at := range 64 * 64 {
		if x, y := at%64, at/64; x >= 16 && x < 32 && y >= 16 && y < 32 {
			out = append(out, ink...)
		} else {
			out = append(out, paper...)
		}
	}
	return out
}

// raw has a bit for each pixel.
func raw() []byte {
	all := pixels([]byte("0"), []byte("1"))
	return packed(string(all))
}

func grey() *image.Gray {
	return &image.Gray{Pix: pixels([]byte{255}, []byte{0}), Stride: 64, Rect: image.Rect(0, 0, 64, 64)}
}

// photo is a JPEG with segments behind its beginning.
func photo(segments ...string) []byte {
	var b bytes.Buffer
	if err := jpeg.Encode(&b, grey(), &jpeg.Options{Quality: 95}); err != nil {
		panic(err) // in memory
	}
	return slices.Concat(b.Bytes()[:2], []byte(strings.Join(segments, "")), b.Bytes()[2:])
}

func segment(marker byte, content string) string {
	return string(binary.BigEndian.AppendUint16([]byte{0xff, marker}, uint16(len(content)+2))) + content
}

// jfif is the segment of a resolution; the unit is 1 for inches, 2 for centimetres.
func jfif(unit, x, y byte) string {
	return segment(0xe0, "JFIF\x00\x01\x02"+string([]byte{unit, 0, x, 0, y, 0, 0}))
}

func exif(fields tags) string {
	return segment(0xe1, "Exif\x00\x00"+string(makeTIFF(binary.BigEndian, false, sheet{nil, fields})))
}

// drawing is a PNG with a chunk of its resolution; the unit is 1 for metres.
func drawing(x, y uint32, unit byte) []byte {
	var b bytes.Buffer
	if err := png.Encode(&b, grey()); err != nil {
		panic(err) // in memory
	}
	p := append(binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32([]byte("pHYs"), x), y), unit)
	chunk := slices.Concat([]byte{0, 0, 0, 9}, p, binary.BigEndian.AppendUint32(nil, crc32.ChecksumIEEE(p)))
	const header = 33 // with the signature
	return slices.Concat(b.Bytes()[:header], chunk, b.Bytes()[header:])
}

// bitmap is a BMP with its resolution, in dots per metre.
func bitmap(x, y uint32) []byte {
	var b bytes.Buffer
	if err := bmp.Encode(&b, grey()); err != nil {
		panic(err) // in memory
	}
	binary.LittleEndian.PutUint32(b.Bytes()[38:], x)
	binary.LittleEndian.PutUint32(b.Bytes()[42:], y)
	return b.Bytes()
}

// webp is a WebP without loss, with Exif data behind it.
func webp(photo []byte) []byte {
	number := func(n, bits int) (code string) {
		for range bits {
			code, n = code+strconv.Itoa(n&1), n>>1
		}
		return code
	}
	const (
		subtractGreen = "1" + "01" + "0" // red and blue are as much as green, and that is all
		noCache       = "0" + "0"
		zero          = "1" + "0" + "0" + "0" // a code for one symbol
	)
	code := number(63, 14) + number(63, 14) + number(0, 4) + subtractGreen + noCache +
		"1" + "1" + "1" + number(0, 8) + number(255, 8) + zero + zero + "1" + "0" + "1" + number(255, 8) + zero + string(pixels([]byte("1"), []byte("0")))
	chunk := func(kind string, content []byte) []byte {
		content = slices.Concat([]byte(kind), binary.LittleEndian.AppendUint32(nil, uint32(len(content))), content)
		return append(content, make([]byte, len(content)%2)...)
	}
	const hasExif = 8
	return chunk("RIFF", slices.Concat([]byte("WEBP"), chunk("VP8X", []byte{hasExif, 0, 0, 0, 63, 0, 0, 63, 0, 0}),
		chunk("VP8L", append([]byte{0x2f}, reversed(packed(code))...)), chunk("EXIF", photo)))
}

// Pictures are all of them.
func Pictures() (all []Picture) {
	const inch, usual = 25.4, 210
	little, large := binary.LittleEndian, binary.BigEndian
	add := func(name, format string, content []byte, pages int, width, height float64) *Picture {
		all = append(all, Picture{Name: name, Content: content, Type: "image/" + format, Pages: pages, Width: width, Height: height})
		return &all[len(all)-1]
	}
	tiff := func(name string, sheets ...sheet) *Picture {
		return add(name, "tiff", makeTIFF(little, false, sheets...), len(sheets), 64*inch/100, 64*inch/100)
	}
	rare := func(name string, sheets ...sheet) { tiff(name, sheets...).Needs = "tiff2pdf" }
	tiff("bits", scan(raw(), nil))
	tiff("T.4", scan(group3(), tags{compression: {3}}))
	tiff("T.6", scan(group4(), tags{compression: {4}}))
	tiff("T.6, reversed", scan(reversed(group4()), tags{compression: {4}, fillOrder: {2}}))
	tiff("T.6 of length 0", scan(group4(), tags{compression: {4}, counts: {0}}))
	tiff("T.6 longer than the file", scan(group4(), tags{compression: {4}, counts: {9999}}))
	tiff("T.6 longer than the file, and a page behind it", scan(group4(), tags{compression: {4}, counts: {9999}}), scan(raw(), nil))
	tiff("bits longer than the file", scan(raw(), tags{counts: {5120}}))
	tiff("dots in centimetres", scan(raw(), tags{xDots: {3937, 100}, yDots: {3937, 100}, unit: {3}}))
	rare("T.4 in two dimensions", scan(group3InTwo(), tags{compression: {3}, t4Options: {1}}))
	rare("compression 2", scan(huffman(), tags{compression: {2}}))
	rare("bits, reversed", scan(reversed(raw()), tags{fillOrder: {2}}))
	rare("one number of bits for three samples", scan(pixels([]byte{255, 255, 255}, []byte{0, 0, 0}), tags{bitsPerSample: {8}, samples: {3}, photometric: {2}}))
	rare("no table of strips", scan(raw(), tags{rows: nil, counts: nil}))
	rare("no lengths", scan(raw(), tags{counts: nil}))
	rare("inks", scan(pixels(make([]byte, 4), []byte{255, 255, 255, 255}), tags{bitsPerSample: {8, 8, 8, 8}, samples: {4}, photometric: {5}}))
	rare("a JPEG", scan(photo(), tags{bitsPerSample: {8}, compression: {7}, photometric: {1}}))
	rare("a rare page behind another one", scan(raw(), nil), scan(group3InTwo(), tags{compression: {3}, t4Options: {1}}))
	rare("no table of strips, and no resolution", scan(raw(), tags{rows: nil, counts: nil, xDots: nil, yDots: nil}))
	all[len(all)-1].Width, all[len(all)-1].Height = usual, usual

	add("large end first", "tiff", makeTIFF(large, false, scan(raw(), nil)), 1, 64*inch/100, 64*inch/100)
	add("BigTIFF", "tiff", makeTIFF(large, true, scan(raw(), nil), scan(raw(), nil)), 2, 64*inch/100, 64*inch/100).Needs = "tiff2pdf"
	add("a small picture between pages", "tiff", makeTIFF(little, false, scan(raw(), nil), scan(raw(), tags{subfile: {1}}), scan(raw(), tags{subfile: {2}})), 2, 64*inch/100, 64*inch/100)
	loop := makeTIFF(little, false, scan(raw(), nil), scan(raw(), nil))
	copy(loop[len(loop)-16-4:], loop[4:8]) // two fractions stand behind it
	add("a list that begins anew", "tiff", loop, 2, 64*inch/100, 64*inch/100)
	add("a facsimile", "tiff", makeTIFF(little, false, scan(raw(), tags{xDots: {204, 1}, yDots: {98, 1}})), 1, 64*inch/204, 64*inch/98)
	add("a turned facsimile", "tiff", makeTIFF(little, false, scan(raw(), tags{xDots: {204, 1}, yDots: {98, 1}, orientation: {6}})), 1, 64*inch/98, 64*inch/204).Turned = true
	add("a rare facsimile, turned", "tiff", makeTIFF(little, false, scan(raw(), tags{xDots: {204, 1}, yDots: {98, 1}, orientation: {6}, counts: nil})), 1, 64*inch/98, 64*inch/204)
	all[len(all)-1].Needs, all[len(all)-1].Turned = "tiff2pdf", true
	add("no unit, turned", "tiff", makeTIFF(little, false, scan(raw(), tags{xDots: {2, 1}, yDots: {1, 1}, unit: {1}, orientation: {6}})), 1, usual, usual/2.).Turned = true
	add("no unit, rare, turned", "tiff", makeTIFF(little, false, scan(raw(), tags{xDots: {2, 1}, yDots: {1, 1}, unit: {1}, orientation: {6}, counts: nil})), 1, usual, usual/2.)
	all[len(all)-1].Needs, all[len(all)-1].Turned = "tiff2pdf", true

	add("JPEG", "jpeg", photo(jfif(1, 200, 200)), 1, 64*inch/200, 64*inch/200)
	add("JPEG, centimetres", "jpeg", photo(jfif(2, 80, 40)), 1, 64*inch/203.2, 64*inch/101.6)
	add("JPEG for screens", "jpeg", photo(jfif(1, 72, 72)), 1, usual, usual)
	add("JPEG of a ratio", "jpeg", photo(jfif(0, 1, 2)), 1, usual, usual/2.)
	add("JPEG of nonsense", "jpeg", photo(jfif(1, 0, 200)), 1, usual, usual)
	turn := tags{xDots: {300, 1}, yDots: {150, 1}, unit: {2}, orientation: {6}}
	add("JPEG, turned", "jpeg", photo(exif(turn)), 1, 64*inch/150, 64*inch/300).Turned = true
	add("JPEG, two resolutions", "jpeg", photo(jfif(1, 200, 200), exif(tags{xDots: {72, 1}, yDots: {72, 1}, unit: {2}})), 1, 64*inch/200, 64*inch/200)
	whole := photo(jfif(1, 200, 200))
	add("JPEG without its end mark", "jpeg", whole[:len(whole)-2], 1, 64*inch/200, 64*inch/200)
	add("JPEG without its end mark, others behind it", "jpeg", append(whole[:len(whole)-2:len(whole)-2], strings.Repeat("HTTP/1.1 200 OK\r\n", 6000)...), 1, 64*inch/200, 64*inch/200)
	add("PNG", "png", drawing(3937, 3937, 1), 1, 16.256, 16.256)
	add("PNG of a ratio", "png", drawing(1, 2, 0), 1, usual, usual/2.)
	add("BMP", "bmp", bitmap(7874, 3937), 1, 64*inch/200, 64*inch/100)
	add("BMP for screens", "bmp", bitmap(2835, 2835), 1, usual, usual)
	add("BMP of a negative resolution", "bmp", bitmap(1<<31, 1<<31), 1, usual, usual)
	add("BMP of no resolution", "bmp", bitmap(0, 0), 1, usual, usual)
	add("WebP", "webp", webp(makeTIFF(little, false, sheet{nil, tags{xDots: {200, 1}, yDots: {200, 1}, unit: {2}}})), 1, 64*inch/200, 64*inch/200)
	add("WebP, turned", "webp", webp([]byte(exif(turn)[4:])), 1, 64*inch/150, 64*inch/300).Turned = true
	add("WebP of no resolution", "webp", webp(nil), 1, usual, usual)
	decoded, err := base64.StdEncoding.DecodeString(heic)
	if err != nil {
		panic(err)
	}
	add("HEIC", "heic", decoded, 1, usual, usual).Needs = "heif-convert"
	return all
}

// heic is a picture that heif-enc (libheif 1.15.1) made. Its Exif says that it is turned, which counts in a JPEG alone: a
// phone says it in a box of the file, too (ISO/IEC 23008-12, A.2.4).
const heic = "" +
	"AAAAHGZ0eXBoZWljAAAAAG1pZjFoZWljbWlhZgAAAXttZXRhAAAAAAAAACFoZGxyAAAAAAAAAABwaWN0AAAAAAAAAAAAAAAAAAAAAA5waXRtAAAAAAABAAAA" +
	"NGlsb2MAAAAAREAAAgABAAAAAAGfAAEAAAAAAAAAdwACAAAAAAIWAAEAAAAAAAAAXgAAADhpaW5mAAAAAAACAAAAFWluZmUCAAAAAAEAAGh2YzEAAAAAFWlu" +
	"ZmUCAAABAAIAAEV4aWYAAAAAumlwcnAAAACcaXBjbwAAAHJodmNDAQQIAAAAAAAAAAAAHvAA/Pz4+AAADwMgAAEAF0ABDAH//wQIAAADAJ/4AAADAAAeugJA" +
	"IQABACZCAQEECAAAAwCf+AAAAwAAHsCCBBZbqSSmubAgAAADACAAAAMAISIAAQAHRAHBcrAiQAAAABRpc3BlAAAAAAAAAEAAAABAAAAADnBpeGkAAAAAAQgA" +
	"AAAWaXBtYQAAAAAAAAABAAEDgQKDAAAAGmlyZWYAAAAAAAAADmNkc2MAAgABAAEAAADdbWRhdAAAAHMoAa4J8OxryrG0/e71Ki/+6r5FOJ7x7wVSS5sXLq/Y" +
	"a63PD6F2DY/rkaKTeeMGzH3OD/LNhL2O+p5/IqchxPIamVofnuXxIht1rcwzOkk+GFezXowDUebfR91ky0fgBVH0wprD+Rzi+r+8vNwQgv+/gppwAAAAAE1N" +
	"ACoAAAAIAAUBEQAEAAAAAQAAAAgBEgADAAAAAQAGAAABGgAFAAAAAQAAAEoBGwAFAAAAAQAAAFIBKAADAAAAAQACAAAAAAAAAAABLAAAAAEAAACWAAAAAQ=="
