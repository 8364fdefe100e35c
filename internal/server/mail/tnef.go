package mail

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"iter"
	"strconv"
	"strings"

	"github.com/archivefs/archivefs/internal/server/text"
)

// maxTNEF is the size from which a winmail.dat is not unpacked, in bytes. It is in memory as a whole: the name
// of an attachment may stand behind its content.
const maxTNEF = 32 << 20

// isTNEF reports whether a content begins as a winmail.dat (MS-OXTNEF, 2.1.3.1).
func isTNEF(s []byte) bool { return bytes.HasPrefix(s, []byte("\x78\x9f\x3e\x22")) }

// Attributes (MS-OXTNEF, 2.1.3.3) and properties (MS-OXPROPS) that are read.
const (
	attBody, attAttachData, attAttachTitle                = 0x800c, 0x800f, 0x8010
	attAttachRendData, attMsgProps, attAttachment, attOEM = 0x9002, 0x9003, 0x9005, 0x9007

	propBody, propHTML, propAttachData              = 0x1000, 0x1013, 0x3701
	propShortName, propLongName, propMIME, propCPID = 0x3704, 0x3707, 0x370e, 0x3fde

	typeObject, typeString8, typeUnicode, typeBinary, multiple = 0x0d, 0x1e, 0x1f, 0x102, 0x1000
)

// tnef reads the text and the attachments of a winmail.dat.
func (d *dissection) tnef(data []byte, depth int) (said, error) {
	var texts []said
	var file part
	var content []byte
	codepage, title := "windows-1252", ""
	attach := func() (err error) {
		one := said{}
		switch {
		case content == nil:
			return nil
		case isTNEF(content) && depth < maxDepth: // an attached e-mail
			one, err = d.tnef(content, depth+1)
		default:
			file.name, file.media = cmp.Or(file.name, title), cmp.Or(file.media, "application/octet-stream")
			one, err = d.attachment(file, bytes.NewReader(content))
		}
		texts = append(texts, one)
		file, content, title, d.broken = part{}, nil, "", false
		return err
	}
	property := func(id, kind uint16, value []byte) {
		words := ""
		switch kind &^ multiple {
		case typeUnicode:
			words = text.Decode(value, "utf-16le")
		case typeString8:
			words = text.Decode(value, codepage)
		}
		words = lineEnds.Replace(strings.TrimRight(words, "\x00"))
		switch id {
		case propBody:
			texts = append(texts, said{text: words, more: true})
		case propHTML:
			shown, _ := text.HTML(page(value, ""))
			texts = append(texts, said{text: shown, rich: true, more: true})
		case propLongName:
			file.name = words
		case propShortName:
			title = words
		case propMIME:
			file.media = strings.ToLower(words)
		case propAttachData:
			if content = value; kind == typeObject {
				content = value[min(len(value), 16):] // behind the id of its interface
			}
		}
	}
	broken := d.broken
	d.broken = false
	for c := cursor(data[min(len(data), 6):]); len(c) >= 9; {
		c.next(1)
		id, size := uint16(c.number(4)), c.number(4) //nolint:gosec // the lower half is the id
		short := int(size) > len(c)
		value := c.next(int(size))
		c.next(2)
		d.broken = d.broken || short
		switch id {
		case attOEM:
			codepage = "windows-" + strconv.Itoa(int((*cursor)(&value).number(4)))
		case attBody:
			texts = append(texts, said{text: lineEnds.Replace(strings.TrimRight(text.Decode(value, codepage), "\x00")), more: true})
		case attAttachRendData:
			if err := attach(); err != nil {
				return joined(texts), err
			}
		case attAttachTitle:
			title = strings.TrimRight(text.Decode(value, codepage), "\x00")
		case attAttachData:
			content = value
		case attMsgProps, attAttachment:
			for p := range properties(value) {
				property(p.id, p.kind, p.value)
			}
		}
	}
	d.broken = d.broken || broken
	err := attach()
	all := joined(texts)
	all.more = true
	return all, err
}

// prop is a property with one of its values.
type prop struct {
	id, kind uint16
	value    []byte
}

// properties reads a list of properties (MS-OXTNEF, 2.1.3.4.1).
func properties(list []byte) iter.Seq[prop] {
	return func(yield func(prop) bool) {
		c := cursor(list)
		for range c.number(4) {
			if len(c) < 4 {
				return
			}
			p := prop{kind: uint16(c.number(2)), id: uint16(c.number(2))} //nolint:gosec // two bytes each
			if p.id >= 0x8000 {
				c.next(16)
				if named := c.number(4) == 1; named {
					c.padded(c.number(4))
				} else {
					c.next(4)
				}
			}
			count := uint32(1)
			kind := p.kind &^ multiple
			variable := kind == typeObject || kind == typeString8 || kind == typeUnicode || kind == typeBinary
			if variable || p.kind != kind {
				count = c.number(4)
			}
			for range count {
				if len(c) == 0 {
					return
				}
				size := uint32(4)
				switch {
				case variable:
					size = c.number(4)
				case kind >= 5 && kind <= 7, kind == 0x14, kind == 0x40:
					size = 8
				case kind == 0x48:
					size = 16
				}
				if p.value = c.padded(size); !yield(p) {
					return
				}
			}
		}
	}
}

// cursor reads little-endian data. At the end it reads less, and zeros.
type cursor []byte

func (c *cursor) next(n int) []byte {
	n = min(n, len(*c))
	value := (*c)[:n:n]
	*c = (*c)[n:]
	return value
}

// padded reads that many bytes, and then up to a multiple of 4.
func (c *cursor) padded(n uint32) []byte {
	value := c.next(int(n))
	c.next(int(-n & 3))
	return value
}

func (c *cursor) number(size int) uint32 {
	var p [4]byte
	copy(p[:], c.next(size))
	return binary.LittleEndian.Uint32(p[:])
}
