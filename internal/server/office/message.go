package office

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/text/encoding/unicode"

	coded "github.com/archivefs/archivefs/internal/server/text"
)

const (
	maxMessage  = 64 << 20 // bytes that are read of a message
	maxAttached = 8        // messages in one another
)

// Message returns the text of a message of Outlook ([MS-OXMSG]): sender, receivers, date, subject, the names of
// attachments, the body, and then the same of attached messages. A text longer than MaxText is cut off. The
// error is ErrUnreadable if it is no message.
func Message(r io.ReaderAt, size int64) (string, error) {
	c := openCompound(io.NewSectionReader(r, 0, size), maxMessage)
	m := &message{compound: c}
	top := c.in(c.entry(0))
	if top[fixedLength] == nil {
		return "", fmt.Errorf("%w: it is no message", ErrUnreadable)
	}
	m.write(top, 0)
	words := m.b.String()
	return strings.ToValidUTF8(words[:min(len(words), MaxText)], ""), nil
}

// message is a message that is being read.
type message struct {
	*compound
	b         strings.Builder
	page, web int // the code pages of strings and of HTML
}

// storage is a message, a receiver or an attachment: its entries by their names.
type storage map[string][]byte

// storages returns what is in those storages whose names begin with some letters, by their numbers.
func (m *message) storages(s storage, begin string) (all []storage) {
	for _, name := range slices.Sorted(maps.Keys(s)) {
		if strings.HasPrefix(name, begin) {
			all = append(all, m.in(s[name]))
		}
	}
	return all
}

// write writes the message in a storage.
func (m *message) write(s storage, depth int) {
	if depth > maxAttached || m.b.Len() > MaxText {
		return
	}
	fixed := m.stream(s[fixedLength])
	m.page, m.web = int(property(fixed, 0x3ffd0003)), int(property(fixed, 0x3fde0003)) //nolint:gosec // of 32 bits
	m.page, m.web = cmp.Or(m.page, m.web), cmp.Or(m.web, m.page)
	m.field("From", named(m.text(s, "0C1A", "0042"), m.text(s, "5D01", "0C1F", "5D02", "0065")))
	receivers := map[uint64][]string{}
	for _, one := range m.storages(s, "__recip_") {
		kind := property(m.stream(one[fixedLength]), 0x0c150003)
		receivers[kind] = append(receivers[kind], named(m.text(one, "3001"), m.text(one, "39FE", "3003")))
	}
	m.field("To", cmp.Or(strings.Join(receivers[1], ", "), m.text(s, "0E04")))
	m.field("Cc", cmp.Or(strings.Join(receivers[2], ", "), m.text(s, "0E03")))
	if sent := cmp.Or(property(fixed, 0x00390040), property(fixed, 0x0e060040)); sent != 0 { // in 100 ns since 1601
		seconds := int64(sent/1e7) - 11_644_473_600 //nolint:gosec // far from the largest
		m.field("Date", time.Unix(seconds, 0).UTC().Format(time.RFC1123Z))
	}
	m.field("Subject", m.text(s, "0037"))
	attached := m.storages(s, "__attach_")
	for _, one := range attached {
		m.field("Attachment", m.text(one, "3707", "3704", "3001"))
	}
	m.b.WriteString("\n" + m.body(s))
	for _, one := range attached {
		if message := m.in(one[properties+"3701000D"]); len(message) > 0 {
			m.write(message, depth+1)
		}
	}
}

// named is a name with its address, unless that is one of Exchange, which says nothing.
func named(name, address string) string {
	name, address = strings.TrimSpace(name), strings.TrimSpace(address)
	switch {
	case address == "", address == name, strings.HasPrefix(address, "/"):
		return name
	case name == "":
		return address
	}
	return name + " <" + address + ">"
}

func (m *message) field(name, value string) {
	if value = strings.Join(strings.Fields(value), " "); value != "" {
		fmt.Fprintf(&m.b, "%s: %s\n", name, value)
	}
}

// body is the text, that of the HTML, or that of the RTF.
func (m *message) body(s storage) string {
	words := m.text(s, "1000")
	if strings.TrimSpace(words) == "" {
		words, _ = coded.HTML(m.text(s, "1013"))
	}
	if words == "" {
		words, _ = RTF(bytes.NewReader(unpacked(m.stream(s[properties+"10090102"])))) // or none
	}
	return strings.TrimRight(strings.ReplaceAll(words, "\r\n", "\n"), " \n") + "\n"
}

// text is the first property that is there: as UTF-16, in the code page, or HTML.
func (m *message) text(s storage, ids ...string) string {
	for _, id := range ids {
		words := coded.Decode(m.stream(s[properties+id+"001F"]), "utf-16le")
		if words == "" {
			words = decoded(m.stream(s[properties+id+"001E"]), m.page)
		}
		if words == "" {
			words = decoded(m.stream(s[properties+id+"0102"]), m.web)
		}
		if words = strings.Trim(words, "\x00"); words != "" {
			return words
		}
	}
	return ""
}

func decoded(data []byte, page int) string {
	if utf8.Valid(data) {
		return string(data)
	}
	words, _ := encodingOf(page).NewDecoder().Bytes(data)
	return string(words)
}

// properties begins the names of streams with a property, which its tag follows.
const properties = "__substg1.0_"

// fixedLength has the properties of a fixed length: entries of 16 bytes, behind a header of 8, 24 or 32 (2.4).
const fixedLength = "__properties_version1.0"

// property is the one with a tag, 0 if it is not there.
func property(entries []byte, tag uint32) uint64 {
	for e := entries[len(entries)%16:]; len(e) > 0; e = e[16:] {
		value := binary.LittleEndian.Uint64(e[8:])
		switch {
		case binary.LittleEndian.Uint32(e) != tag:
		case tag&0xffff == 3: // an integer of 32 bits
			return value & 0xffffffff
		default:
			return value
		}
	}
	return 0
}

// unpacked undoes the compression of RTF ([MS-OXRTFCP]): eight times either a byte, or a reference to what came
// in the last 4096 bytes, behind a byte with a bit for each.
func unpacked(data []byte) []byte {
	const before = `{\rtf1\ansi\mac\deff0\deftab720{\fonttbl;}{\f0\fnil \froman \fswiss \fmodern \fscript \fdecor ` +
		`MS Sans SerifSymbolArialTimes New RomanCourier{\colortbl\red0\green0\blue0` + "\r\n" +
		`\par \pard\plain\f0\fs20\b\i\u\tab\tx`
	const header = 16
	if len(data) < header || string(data[8:12]) == "MELA" { // not compressed
		return data[min(len(data), header):]
	}
	out, in := []byte(before), data[header:]
	for flags := 1; len(in) > 0 && len(out) < MaxText; {
		if flags == 1 { // all eight are used
			flags, in = 1<<8|int(in[0]), in[1:]
			continue
		}
		isByte := flags&1 == 0
		flags >>= 1
		if isByte {
			out, in = append(out, in[0]), in[1:]
			continue
		}
		if len(in) < 2 {
			break
		}
		from := len(out) - (len(out)-int(binary.BigEndian.Uint16(in)>>4))&0xfff
		if from == len(out) || from < 0 { // the end
			break
		}
		for range in[1]&0xf + 2 {
			out = append(out, out[from])
			from++
		}
		in = in[2:]
	}
	return out[len(before):]
}

const (
	entrySize = 128        // bytes of an entry of a directory (2.6.1)
	regular   = 0xfffffffa // the first number that is not one of a sector, nor of an entry
	mini      = 64         // bytes of a sector of a short stream
	isShort   = 4096       // bytes from which on a stream is not short
)

// compound is a compound file ([MS-CFB]), as older office programs write them: a tree of storages and streams.
// What cannot be read of it is zero, or missing.
type compound struct {
	r         limited
	head      []byte
	bits      uint16 // of the size of a sector in bytes
	directory []byte
	seen      map[uint32]bool // entries: each is in one storage
	err       error           // of reading
	short     []byte          // the bytes of short streams, and the sector behind each of their sectors
	behind    []byte
}

// openCompound reads the directory of a compound file, as far as it can be read. At most so many bytes are read of
// the file.
func openCompound(r io.ReaderAt, most int64) *compound {
	c := &compound{r: limited{r, most}, seen: map[uint32]bool{}}
	c.head = c.read(0, 512)
	c.bits = min(max(9, binary.LittleEndian.Uint16(c.head[30:])), 12)
	c.directory = c.chain(uint32At(c.head, 48), maxDirectory)
	return c
}

// entry is the one with a number, nil if there is none. The root has number 0.
func (c *compound) entry(n uint32) []byte {
	if int64(n) >= int64(len(c.directory)/entrySize) {
		return nil
	}
	return c.directory[int(n)*entrySize:][:entrySize]
}

// in returns the entries in a storage by their names, the first time.
func (c *compound) in(storage []byte) map[string][]byte {
	const left, right, child = 68, 72, 76
	all := map[string][]byte{}
	if storage == nil {
		return all
	}
	for todo := []uint32{uint32At(storage, child)}; len(todo) > 0; todo = todo[1:] {
		n := todo[0]
		e := c.entry(n)
		if c.seen[n] || e == nil {
			continue
		}
		c.seen[n] = true
		todo = append(todo, uint32At(e, left), uint32At(e, right))
		length := min(max(2, binary.LittleEndian.Uint16(e[64:])), 64) - 2 // of the name, with a NUL behind it
		name, _ := unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM).NewDecoder().Bytes(e[:length])
		all[string(name)] = e
	}
	return all
}

// stream returns the bytes of a stream, at most MaxText.
func (c *compound) stream(e []byte) (out []byte) {
	if e == nil {
		return nil
	}
	start, size := uint32At(e, 116), int(min(uint32At(e, 120), MaxText))
	if size >= isShort {
		out = c.chain(start, size)
		return out[:min(len(out), size)]
	}
	if root := c.entry(0); c.short == nil && root != nil {
		c.short = c.chain(uint32At(root, 116), int(min(uint32At(root, 120), MaxText)))
		c.behind = c.chain(uint32At(c.head, 60), MaxText/mini*4)
	}
	for n := int64(start); len(out) < size && (n+1)*mini <= int64(len(c.short)) && (n+1)*4 <= int64(len(c.behind)); {
		out = append(out, c.short[n*mini:][:mini]...)
		n = int64(uint32At(c.behind[n*4:], 0))
	}
	return out[:min(len(out), size)]
}

// chain returns the sectors from one on, up to so many bytes.
func (c *compound) chain(n uint32, size int) []byte {
	var out bytes.Buffer
	for ; n < regular && out.Len() < size; n = c.next(n) {
		sector := c.sector(n)
		if c.err != nil {
			break
		}
		out.Write(sector)
	}
	return out.Bytes()
}

// next is the sector behind another (2.3). Tables have its number; the header, and sectors that follow each
// other, have those of the tables (2.5).
func (c *compound) next(n uint32) uint32 {
	const inHead = 109
	each := uint32(1) << c.bits / 4
	table, list, at := n/each, c.head, uint32(76)
	if table >= inHead {
		table, at = table-inHead, 0
		for list = c.sector(uint32At(c.head, 68)); table >= each-1 && c.err == nil; table -= each - 1 {
			list = c.sector(uint32At(list, 4*(each-1)))
		}
	}
	if c.err != nil {
		return regular
	}
	return uint32At(c.sector(uint32At(list, at+4*table)), 4*(n%each))
}

func (c *compound) sector(n uint32) []byte { return c.read((int64(n)+1)<<c.bits, 1<<c.bits) }

func (c *compound) read(at int64, length int) []byte {
	b := make([]byte, length)
	if n, err := c.r.ReadAt(b, at); n == 0 {
		c.err = err
	}
	return b
}

func uint32At(b []byte, at uint32) uint32 { return binary.LittleEndian.Uint32(b[at:]) }
