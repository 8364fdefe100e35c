package office

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/richardlehane/mscfb"

	coded "github.com/archivefs/archivefs/internal/server/text"
)

const (
	maxStreams  = 512 << 10 // bytes that are read to find the streams of a message; each is described in 128
	maxMessage  = 64 << 20  // bytes that are read of the streams
	maxAttached = 8         // messages in one another
)

// Message returns the text of a message of Outlook ([MS-OXMSG]): sender, receivers, date, subject, the names of
// attachments, the body, and then the same of attached messages. A text longer than MaxText is cut off. The
// error is ErrUnreadable if it is no message.
func Message(r io.ReaderAt, size int64) (words string, err error) {
	defer func() {
		if cause := recover(); cause != nil { // in the library
			words, err = "", fmt.Errorf("%w: %v", ErrUnreadable, cause)
		}
	}()
	limited := &limitedAt{io.NewSectionReader(r, 0, size), maxStreams}
	file, err := mscfb.New(limited)
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	m := &message{storages: map[string]*storage{}}
	for _, f := range file.File {
		if len(f.Path) <= 2*maxAttached+1 {
			m.add(f)
		}
	}
	if m.storages[""].streams["__properties_version1.0"] == nil {
		return "", fmt.Errorf("%w: it is no message", ErrUnreadable)
	}
	limited.left = maxMessage
	m.write("", 0)
	words = m.b.String()
	return strings.ToValidUTF8(words[:min(len(words), MaxText)], ""), nil
}

// limitedAt reads up to a number of bytes in all.
type limitedAt struct {
	io.ReaderAt
	left int
}

// ReadAt implements io.ReaderAt.
func (l *limitedAt) ReadAt(p []byte, at int64) (int, error) {
	if l.left -= len(p); l.left < 0 {
		return 0, io.ErrUnexpectedEOF
	}
	return l.ReaderAt.ReadAt(p, at)
}

// message is a message that is being read.
type message struct {
	b         strings.Builder
	storages  map[string]*storage // by path
	page, web int                 // the code pages of strings and of HTML
}

// storage is a message, a receiver or an attachment.
type storage struct {
	streams             map[string]*mscfb.File // properties by their tag, as 0037001F
	receivers, attached []string               // paths of these storages
}

// add adds a stream or a storage to the one that it is in.
func (m *message) add(f *mscfb.File) {
	at := strings.Join(f.Path, "/")
	if m.storages[at] == nil {
		m.storages[at] = &storage{streams: map[string]*mscfb.File{}}
	}
	s := m.storages[at]
	s.streams[strings.TrimPrefix(f.Name, "__substg1.0_")] = f
	switch path := strings.TrimPrefix(at+"/"+f.Name, "/"); {
	case strings.HasPrefix(f.Name, "__recip_"):
		s.receivers = append(s.receivers, path)
	case strings.HasPrefix(f.Name, "__attach_"):
		s.attached = append(s.attached, path)
	}
}

// write writes the message in a storage.
func (m *message) write(at string, depth int) {
	s := m.storages[at]
	if s == nil || depth > maxAttached || m.b.Len() > MaxText {
		return
	}
	fixed := m.read(s, fixedLength)
	m.page, m.web = int(property(fixed, 0x3ffd0003)), int(property(fixed, 0x3fde0003)) //nolint:gosec // of 32 bits
	m.page, m.web = cmp.Or(m.page, m.web), cmp.Or(m.web, m.page)
	m.field("From", named(m.text(s, "0C1A", "0042"), m.text(s, "5D01", "0C1F", "5D02", "0065")))
	receivers := map[uint64][]string{}
	for _, path := range s.receivers {
		one := m.storages[path]
		kind := property(m.read(one, fixedLength), 0x0c150003)
		receivers[kind] = append(receivers[kind], named(m.text(one, "3001"), m.text(one, "39FE", "3003")))
	}
	m.field("To", cmp.Or(strings.Join(receivers[1], ", "), m.text(s, "0E04")))
	m.field("Cc", cmp.Or(strings.Join(receivers[2], ", "), m.text(s, "0E03")))
	if sent := cmp.Or(property(fixed, 0x00390040), property(fixed, 0x0e060040)); sent != 0 { // in 100 ns since 1601
		seconds := int64(sent/1e7) - 11_644_473_600 //nolint:gosec // far from the largest
		m.field("Date", time.Unix(seconds, 0).UTC().Format(time.RFC1123Z))
	}
	m.field("Subject", m.text(s, "0037"))
	for _, path := range s.attached {
		m.field("Attachment", m.text(m.storages[path], "3707", "3704", "3001"))
	}
	m.b.WriteString("\n" + m.body(s))
	for _, path := range s.attached {
		m.write(path+"/__substg1.0_3701000D", depth+1)
	}
}

// named is a name with its address, unless that is one of Exchange, which says nothing.
func named(name, address string) string {
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
func (m *message) body(s *storage) string {
	words := m.text(s, "1000")
	if strings.TrimSpace(words) == "" {
		words, _ = coded.HTML(m.text(s, "1013"))
	}
	if words == "" {
		words, _ = RTF(bytes.NewReader(unpacked(m.read(s, "10090102")))) // or none
	}
	return strings.TrimRight(strings.ReplaceAll(words, "\r\n", "\n"), " \n") + "\n"
}

// text is the first property that is there: as UTF-16, in the code page, or HTML.
func (m *message) text(s *storage, ids ...string) string {
	for _, id := range ids {
		words := coded.Decode(m.read(s, id+"001F"), "utf-16le")
		if words == "" {
			words = decoded(m.read(s, id+"001E"), m.page)
		}
		if words == "" {
			words = decoded(m.read(s, id+"0102"), m.web)
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

// read reads a stream as far as possible. It is empty if it is not there.
func (m *message) read(s *storage, name string) []byte {
	if s == nil || s.streams[name] == nil {
		return nil
	}
	data, _ := io.ReadAll(io.LimitReader(s.streams[name], MaxText))
	return data
}

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
