package whole

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"slices"
	"testing"

	xtiff "golang.org/x/image/tiff"

	"github.com/archivefs/archivefs/internal/testing/odd"
)

// makeTIFF is a scan of some pages, in each the directory before the data or behind them.
func makeTIFF(order binary.AppendByteOrder, big, directoryFirst bool, pages int) []byte {
	const strips, length = 5, 100
	number := order.AppendUint32
	width, long := 4, uint16(4)
	if big {
		number = func(p []byte, n uint32) []byte { return order.AppendUint64(p, uint64(n)) }
		width, long = 8, 16
	}
	mark := []byte("II")
	if order.String() == binary.BigEndian.String() {
		mark = []byte("MM")
	}
	out := order.AppendUint16(mark, 42)
	if big {
		out = order.AppendUint16(order.AppendUint16(order.AppendUint16(mark, 43), 8), 0)
	}
	next := len(out)
	out = number(out, 0)
	point := func(at, to int) { copy(out[at:], number(nil, uint32(to))) }
	data := func() int {
		at := len(out)
		out = append(out, bytes.Repeat([]byte{0x55}, strips*length)...)
		return at
	}
	for range pages {
		at := 0
		if !directoryFirst {
			at = data()
		}
		directory := len(out)
		point(next, directory)
		count, entry := 2, 12
		if big {
			count, entry = 8, 20
		}
		tables := directory + count + 3*entry + width
		if directoryFirst {
			at = tables + 2*strips*width
		}
		if big {
			out = order.AppendUint64(out, 3)
		} else {
			out = order.AppendUint16(out, 3)
		}
		add := func(tag, kind uint16, n, value uint32) {
			out = number(order.AppendUint16(order.AppendUint16(out, tag), kind), n)
			if kind == 3 {
				out = append(order.AppendUint16(out, uint16(value)), make([]byte, width-2)...)
			} else {
				out = number(out, value)
			}
		}
		add(TagCompression, 3, 1, 4)
		add(TagStripOffsets, long, strips, uint32(tables))
		add(TagStripByteCounts, long, strips, uint32(tables+strips*width))
		next = len(out)
		out = number(out, 0)
		for i := range strips {
			out = number(out, uint32(at+i*length))
		}
		for range strips {
			out = number(out, length)
		}
		if directoryFirst {
			data()
		}
	}
	return out
}

func TestWholeTIFF(t *testing.T) {
	for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
		for _, big := range []bool{false, true} {
			for _, first := range []bool{false, true} {
				name := fmt.Sprintf("a TIFF (%v, big %v, directory first %v)", order, big, first)
				content := makeTIFF(order, big, first, 3)
				wantWhole(t, name, content)
				wantWhole(t, name+" with something behind it", append(bytes.Clone(content), "behind"...))
				for n := 16; n < len(content); n++ {
					wantIncomplete(t, name+" cut off", content[:n])
				}
			}
		}
	}
}

// noise is a picture that compresses badly.
func noise(size int) image.Image {
	img := image.NewRGBA(image.Rect(0, 0, size, size))
	for y := range size {
		for x := range size {
			img.Set(x, y, color.RGBA{uint8(x * y), uint8(x*x + y), uint8(y*31 ^ x*17), 255})
		}
	}
	return img
}

func TestWholeTIFFOfAnEncoder(t *testing.T) {
	for _, compression := range []xtiff.CompressionType{xtiff.Uncompressed, xtiff.Deflate} {
		var out bytes.Buffer
		if err := xtiff.Encode(&out, noise(100), &xtiff.Options{Compression: compression}); err != nil {
			t.Fatal(err)
		}
		wantWhole(t, "a TIFF", out.Bytes())
		for _, n := range cuts(8, out.Len()-200) { // behind the entries lie some that we do not look at
			wantIncomplete(t, "a TIFF cut off", out.Bytes()[:n])
		}
	}
}

// Some programs count more bytes than there are in the last strip of data that are not
// compressed, and leave out the offset behind the last directory.
func TestWholeTIFFOfSloppyPrograms(t *testing.T) {
	content := makeTIFF(binary.LittleEndian, false, true, 1)
	entry := bytes.Index(content, []byte{3, 1, 3, 0, 1, 0, 0, 0, 4, 0})
	content[entry+8] = 1
	wantWhole(t, "a TIFF with a length that is too large", content[:len(content)-50])
	wantIncomplete(t, "a TIFF without its last strip", content[:len(content)-100])
	short := append([]byte("II*\x00\x10\x00\x00\x00"), make([]byte, 8)...)
	short = append(short, 1, 0, 0x11, 1, 4, 0, 1, 0, 0, 0, 8, 0, 0, 0)
	wantWhole(t, "a TIFF without the last offset", short)
	wantIncomplete(t, "a TIFF that ends in its directory", short[:len(short)-1])
	cyclic := makeTIFF(binary.LittleEndian, false, false, 1)
	copy(cyclic[len(cyclic)-2*5*4-4:], cyclic[4:8])
	wantWhole(t, "a TIFF whose directory follows itself", cyclic)
}

// The last strip of data that are not compressed has as many bytes as the picture needs, whatever is said of it.
func TestWholeTIFFThatIsNotCompressed(t *testing.T) {
	order := binary.LittleEndian
	content := order.AppendUint16([]byte("II*\x00\x08\x00\x00\x00"), 8)
	for _, entry := range [][3]uint32{
		{TagWidth, 1, 100}, {TagHeight, 1, 10}, {tagBitsPerSample, 1, 8}, {TagCompression, 1, 1}, {TagStripOffsets, 2, 110}, {tagSamplesPerPixel, 1, 1}, {tagRowsPerStrip, 1, 6}, {TagStripByteCounts, 2, 118},
	} {
		content = order.AppendUint32(order.AppendUint32(order.AppendUint16(order.AppendUint16(content, uint16(entry[0])), 4), entry[1]), entry[2])
	}
	content = append(content, make([]byte, 4)...) // no further directory
	for _, number := range []uint32{126, 726, 600, 600} {
		content = order.AppendUint32(content, number)
	}
	content = append(content, make([]byte, 1000)...)
	wantWhole(t, "a TIFF that is not compressed", content)
	for _, n := range cuts(8, len(content)) {
		wantIncomplete(t, "a TIFF that is not compressed, cut off", content[:n])
	}
}

// Lengths of 0, or larger than the file, are nonsense where the directory shows that the data are there. A copy
// that was cut off is refused.
func TestWholeTIFFOfWrongLengths(t *testing.T) {
	for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
		for _, length := range []uint32{0, 1 << 20} {
			content := makeTIFF(order, false, false, 3)
			for n := len(content) - 20; n < len(content); n += 4 { // of the last page
				copy(content[n:], order.AppendUint32(nil, length))
			}
			name := fmt.Sprintf("a TIFF with strips of %d bytes, %v", length, order)
			wantWhole(t, name, content)
			for n := 16; n < len(content); n++ {
				wantIncomplete(t, name+" cut off", content[:n])
			}
		}
	}
	content := makeTIFF(binary.LittleEndian, false, true, 1)
	copy(content[len(content)-5*100-20:], make([]byte, 20))
	wantIncomplete(t, "a TIFF with a strip behind its end", content[:len(content)-101])
}

// FuzzTIFF reads anything as a TIFF: what is read ends, and lies in the file.
func FuzzTIFF(f *testing.F) {
	for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
		for _, big := range []bool{false, true} {
			f.Add(makeTIFF(order, big, big, 2))
		}
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		tiff := AsTIFF(bytes.NewReader(content))
		if tiff == nil {
			return
		}
		pages := 0
		for d := range tiff.Pages {
			pages++
			for _, tag := range []uint64{TagWidth, TagCompression, TagXResolution, TagStripOffsets, tagTileByteCounts} {
				at, width, n := d.Field(tag)
				if all, err := d.Numbers(tag); err == nil && (uint64(len(all)) != n || at+n*width > uint64(len(content))) {
					t.Fatalf("tag %d: %d numbers of %d bytes at %d: %v", tag, n, width, at, all)
				}
			}
		}
		if pages > len(content)/2 {
			t.Fatalf("%d pages in %d bytes", pages, len(content))
		}
		if _, err := tiff.whole(); err != nil {
			t.Fatal(err)
		}
	})
}

func TestWholePNG(t *testing.T) {
	var out bytes.Buffer
	if err := png.Encode(&out, noise(200)); err != nil {
		t.Fatal(err)
	}
	content := out.Bytes()
	wantWhole(t, "a PNG", content)
	wantWhole(t, "a PNG with something behind it", append(bytes.Clone(content), make([]byte, 2000)...))
	for _, n := range cuts(8, len(content)-4) {
		wantIncomplete(t, "a PNG cut off", content[:n])
	}
}

func TestWholeBoxes(t *testing.T) {
	box := func(kind string, n int) []byte {
		return append(append(binary.BigEndian.AppendUint32(nil, uint32(8+n)), kind...), make([]byte, n)...)
	}
	long := append(binary.BigEndian.AppendUint64([]byte("\x00\x00\x00\x01mdat"), 16+300), make([]byte, 300)...)
	open := append([]byte("\x00\x00\x00\x00mdat"), make([]byte, 300)...)
	start := box("ftyp", 16)
	film := bytes.Join([][]byte{start, box("free", 8), long, box("moov", 200)}, nil)
	photo := bytes.Join([][]byte{start, box("meta", 200), box("mdat", 300)}, nil)
	for name, content := range map[string][]byte{"a film": film, "a photo": photo} {
		wantWhole(t, name, content)
		wantWhole(t, name+" with a film behind it", slices.Concat(content, box("mpvd", 30)))
		wantWhole(t, name+" with something behind it", slices.Concat(content, []byte("SEFH\x69\x00\x00\x00\x01\x00\x00\x00")))
		wantWhole(t, name+" with blanks behind it", slices.Concat(content, make([]byte, 100)))
		for _, n := range cuts(12, len(content)) {
			if described := len(start) + len(box("meta", 200)); name != "a photo" || n < described || n >= described+8 { // else nothing says that data follow
				wantIncomplete(t, name+" cut off", content[:n])
			}
		}
	}
	wantWhole(t, "a film whose data go on to the end", slices.Concat(start, box("moov", 200), open))
	for _, p := range odd.Pictures() {
		if p.Needs == "heif-convert" {
			wantWhole(t, p.Name, p.Content)
			wantIncomplete(t, p.Name+" cut off", p.Content[:300])
			wantIncomplete(t, p.Name+" cut off", p.Content[:len(p.Content)-1])
		}
	}
}

// makeOLE is a compound file of sectors of 1<<shift bytes, the table and the directory last.
func makeOLE(shift, sectors int) []byte {
	content := make([]byte, (sectors+1)<<shift)
	copy(content, oleHead)
	number := func(at int, n uint32) { binary.LittleEndian.PutUint32(content[at:], n) }
	binary.LittleEndian.PutUint16(content[30:], uint16(shift))
	number(44, 1)                 // tables
	number(48, uint32(sectors-1)) // the directory
	number(60, 0xfffffffe)        // no table of short streams
	number(68, 0xfffffffe)        // no further list
	for at := 76; at < 512; at += 4 {
		number(at, 0xffffffff)
	}
	number(76, uint32(sectors-2))
	return content
}

func TestWholeOLE(t *testing.T) {
	for _, shift := range []int{9, 12} {
		content := makeOLE(shift, 20)
		wantWhole(t, "a compound file", content)
		wantWhole(t, "a compound file with a short last sector", content[:20<<shift+1])
		for _, n := range cuts(8, 20<<shift) {
			wantIncomplete(t, "a compound file cut off", content[:n])
		}
	}
}
