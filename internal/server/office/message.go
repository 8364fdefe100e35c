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
