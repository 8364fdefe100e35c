package whole

import (
	"bytes"
	"encoding/binary"
	"regexp"
	"slices"
	"strconv"
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

// wholeBoxes reports whether the boxes of an ISO base media file, such as HEIC, AVIF and MP4, end before the file does, and
// whether one of them describes the rest (ISO/IEC 14496-12, 4.2 and 6.2). Phones append what is no box.
func wholeBoxes(c Content) (described bool, err error) {
	const most = 1 << 16 // boxes; a film that is written piece by piece has two for each
	off := int64(0)
	for range most {
		box, err := slice(c, off, 16)
		if err != nil || len(box) < 8 {
			return described, err
		}
		size, kind := int64(binary.BigEndian.Uint32(box)), string(box[4:8])
		if size == 1 && len(box) == 16 {
			size = int64(binary.BigEndian.Uint64(box[8:])) //nolint:gosec // a negative one is none
		}
		part := slices.Contains([]string{"meta", "moov", "moof", "mdat"}, kind)
		if size < 8 || size > c.Size()-off { // 0 is to the end of the file
			return described && (size < 8 || !part), nil
		}
		described = described || part && kind != "mdat"
		off += size
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

// PDF is what there is to know of a PDF (ISO 32000-1, 7.5) before its objects are read.
type PDF struct {
	// Start is where it begins, behind what a printer, a mail or a scanner put in front of it.
	Start int64
	// Table is the offset of the cross-reference table that its end names, from Start on with most
	// programs; -1 if it names none.
	Table int64
	// Whole says that its end is there.
	Whole bool
}

const (
	// inFront is how many bytes may stand in front of a PDF: readers look no further.
	inFront = 1 << 10
	// around is how much is looked at on both sides of an end, in bytes.
	around = 4 << 10
	// ustar is where a tar says what it is (POSIX, pax): a PDF behind that is one of its files.
	ustar = 257
	// eof is the last line of a PDF.
	eof = "%%EOF"
)

var (
	// header begins a PDF that stands behind other bytes: an object follows, or the comment that says
	// that it is no text. A text that speaks of PDF has neither.
	header = regexp.MustCompile(`%PDF-[0-9]\.[0-9][^\r\n]*\s+(?:%[^\r\n]*[^\x00-\x7f]|(?:%[^\r\n]*\s+)*[0-9]+\s+[0-9]+\s+obj\b)`)
	// body follows an end that is not the last one.
	body      = regexp.MustCompile(`\b(?:[0-9]+\s+[0-9]+\s+obj|endobj|endstream)\b`)
	startxref = regexp.MustCompile(`startxref\s+([0-9]+)`)
	previous  = regexp.MustCompile(`/Prev\s+([0-9]+)`)
	// linearised finds the length that a PDF is to have whose first page stands in front of the others
	// and has an end of its own (Annex F).
	linearised = regexp.MustCompile(`/Linearized\b[^>]*/L\s+([0-9]+)|/L\s+([0-9]+)[^>]*/Linearized\b`)
)

// FindPDF looks for a PDF, which may have up to 1,024 other bytes in front of it, but not those of a tar, and any behind. is says
// that there is one.
func FindPDF(c Content) (pdf PDF, is bool, err error) {
	head, err := slice(c, 0, 2*inFront)
	if err != nil {
		return PDF{}, false, err
	}
	if first := bytes.TrimLeft(head, "\xef\xbb\xbf\r\n\t "); bytes.HasPrefix(first, []byte("%PDF-")) {
		pdf.Start = int64(len(head) - len(first))
	} else if at := header.FindIndex(head); at != nil {
		pdf.Start = int64(at[0])
	} else {
		return PDF{}, false, nil
	}
	if pdf.Start > inFront || pdf.Start > ustar && bytes.HasPrefix(head[ustar:], []byte("ustar")) {
		return PDF{}, false, nil
	}
	end, err := findLast(c, eof)
	if err != nil || end < pdf.Start {
		return pdf, true, err
	}
	before, err := slice(c, max(pdf.Start, end-around), min(around, end-pdf.Start))
	if err != nil {
		return pdf, true, err
	}
	after, err := slice(c, end+int64(len(eof)), around)
	if err != nil {
		return pdf, true, err
	}
	pdf.Table = lastNumber(startxref, before)
	length := end - pdf.Start
	at := min(max(0, pdf.Table), length)
	table, err := slice(c, pdf.Start+at, min(around, length-at))
	if err != nil {
		return pdf, true, err
	}
	ahead := max(pdf.Table, lastNumber(previous, before), lastNumber(previous, table))
	meant := lastNumber(linearised, head[pdf.Start:])
	firstPage := meant > length+int64(len(eof)) && (pdf.Table == 0 || ahead > length)
	earlier := body.Match(after) // or the end of a file that is in it
	pdf.Whole = !firstPage && !earlier
	return pdf, true, nil
}

// lastNumber returns the number in the last match of a pattern, -1 if there is none.
func lastNumber(pattern *regexp.Regexp, in []byte) int64 {
	all := pattern.FindAllSubmatch(in, -1)
	if len(all) == 0 {
		return -1
	}
	n, err := strconv.ParseInt(string(bytes.Join(all[len(all)-1][1:], nil)), 10, 64)
	if err != nil {
		return 1<<63 - 1 // larger than any file
	}
	return n
}
