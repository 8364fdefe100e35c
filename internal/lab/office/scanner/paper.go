//go:build linux

package scanner

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
)

// Format is the format of a scan.
type Format string

// The formats.
const (
	PDF  Format = "pdf"
	TIFF Format = "tif"
	JPEG Format = "jpg"
)

// Paper is a scan of some pages.
type Paper struct {
	N     int // no other has this number
	Name  string
	Kind  Kind
	parts [][]byte // what is written at once: the pages, the last with the end of the file
}

// Content is the whole file.
func (p *Paper) Content() []byte { return slices.Concat(p.parts...) }

// mark is in each page.
const mark = "<paper %d page %d of %d>"

var marks = regexp.MustCompile(`<paper (\d+) page (\d+) of (\d+)>`)

// newPaper draws a scan. A TIFF has its directory at its end, so that it lacks it as long as pages
// come; a JPEG has one page.
func newPaper(rnd *rand.Rand, n int, kind Kind, format Format, name string, pages int) *Paper {
	p := &Paper{N: n, Name: name, Kind: kind}
	for i := range pages {
		page := fmt.Appendf(nil, mark, n, i+1, pages)
		for range 1 + rnd.IntN(12<<10) {
			page = append(page, byte(rnd.IntN(0xfe))) //nolint:gosec // noise
		}
		p.parts = append(p.parts, page)
	}
	first, last := &p.parts[0], &p.parts[pages-1]
	switch format {
	case PDF:
		*first = append([]byte("%PDF-1.7\n"), *first...)
		*last = append(*last, "\n%%EOF\n"...)
	case JPEG:
		*first = slices.Concat([]byte("\xff\xd8\xff\xe0\x00\x04\x00\x00\xff\xda\x00\x02"), *first)
		*last = append(*last, "\xff\xd9"...)
	case TIFF:
		*first = append([]byte("II*\x00\x00\x00\x00\x00"), *first...)
		*last = append(*last, directory(p.parts)...)
	}
	return p
}

// directory is the directory of a TIFF whose strips are the pages. It sets where the header says it is.
func directory(pages [][]byte) []byte {
	const short, long = 3, 4
	var offsets, counts []byte
	at := 0
	for i, page := range pages {
		begin := 0
		if i == 0 {
			begin = 8
		}
		offsets = binary.LittleEndian.AppendUint32(offsets, uint32(at+begin))
		counts = binary.LittleEndian.AppendUint32(counts, uint32(len(page)-begin)) //nolint:gosec // some kilobytes
		at += len(page)
	}
	binary.LittleEndian.PutUint32(pages[0][4:], uint32(at))
	behind := at + 2 + 3*12 + 4
	d := binary.LittleEndian.AppendUint16(nil, 3)
	entry := func(tag, kind uint16, count, value int) {
		d = binary.LittleEndian.AppendUint16(d, tag)
		d = binary.LittleEndian.AppendUint16(d, kind)
		d = binary.LittleEndian.AppendUint32(d, uint32(count)) //nolint:gosec // some pages
		d = binary.LittleEndian.AppendUint32(d, uint32(value)) //nolint:gosec // some kilobytes
	}
	where, length := behind, behind+len(offsets)
	if len(pages) == 1 { // a single value stands in the entry
		where, length = int(binary.LittleEndian.Uint32(offsets)), int(binary.LittleEndian.Uint32(counts))
		offsets, counts = nil, nil
	}
	entry(259, short, 1, 5) // compressed
	entry(273, long, len(pages), where)
	entry(279, long, len(pages), length)
	d = append(d, 0, 0, 0, 0)
	return slices.Concat(d, offsets, counts)
}

// pagesIn are the numbers of the papers and pages in a content, as they come.
func pagesIn(content []byte) (papers, pages []int) {
	for _, m := range marks.FindAllSubmatch(content, -1) {
		paper, _ := strconv.Atoi(string(m[1])) // digits
		page, _ := strconv.Atoi(string(m[2]))
		papers, pages = append(papers, paper), append(pages, page)
	}
	return papers, pages
}
