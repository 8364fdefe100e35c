package cache

import (
	"encoding/binary"
	"math"
	"time"

	"github.com/archivefs/archivefs/archive"
)

const (
	// deepest bounds how deep folders nest in a value.
	deepest = 1000
	// leastDocument is the least number of bytes that a document takes.
	leastDocument = 11
)

// decoder reads a value. Bytes that are none end it: from then on it reads zeros and empty
// lists. The texts that it reads share the memory of the value.
type decoder struct {
	rest string
	bad  bool
}

// ended reports whether all bytes were read, and made sense.
func (d *decoder) ended() bool { return !d.bad && len(d.rest) == 0 }

func (d *decoder) fail() {
	d.bad, d.rest = true, ""
}

func (d *decoder) structure() archive.Structure {
	s := archive.Structure{Free: d.bool()}
	d.list(func() { s.Folders = append(s.Folders, archive.Folder{ID: archive.ID(d.varint()), Name: d.text()}) })
	return s
}

func (d *decoder) inboxes() archive.Inboxes {
	all := archive.Inboxes{Free: d.bool()}
	d.list(func() { all.Inboxes = append(all.Inboxes, archive.Inbox{UserID: d.varint(), Folder: d.folder(1)}) })
	return all
}

func (d *decoder) folder(depth int) archive.Folder {
	if depth > deepest {
		d.fail()
	}
	f := archive.Folder{ID: archive.ID(d.varint()), Name: d.text(), ChildrenKnown: d.bool()}
	d.list(func() { f.Children = append(f.Children, d.folder(depth+1)) })
	return f
}

func (d *decoder) documents() (docs []archive.Document) {
	n := d.count()
	if n == 0 {
		return nil
	}
	docs = make([]archive.Document, 0, min(n, len(d.rest)/leastDocument+1)) // no more than there can be
	for ; n > 0 && !d.bad; n-- {
		docs = append(docs, d.document())
	}
	return docs
}

func (d *decoder) document() archive.Document {
	doc := archive.Document{
		ID: archive.ID(d.varint()), Name: d.text(), Pages: d.int(), Created: d.time(), Archived: d.time(), Folder: archive.ID(d.varint()),
	}
	d.list(func() { doc.Keywords = append(doc.Keywords, d.text()) })
	d.list(func() { doc.Metadata = append(doc.Metadata, archive.KeyValue{Key: d.text(), Value: d.text()}) })
	doc.AutoExport, doc.Size, doc.ContentType = archive.Flag(d.byte()), d.varint(), d.text()
	return doc
}

// list reads a list with read for each of its elements.
func (d *decoder) list(read func()) {
	for n := d.count(); n > 0 && !d.bad; n-- {
		read()
	}
}

// count reads the length of a text or a list, of which each element has a byte at least.
func (d *decoder) count() int {
	n := d.varuint()
	if n > uint64(len(d.rest)) {
		d.fail()
		return 0
	}
	return int(n) //nolint:gosec // at most the length of a string
}

func (d *decoder) text() string {
	n := d.count()
	s := d.rest[:n]
	d.rest = d.rest[n:]
	return s
}

func (d *decoder) byte() byte {
	if len(d.rest) == 0 {
		d.fail()
		return 0
	}
	b := d.rest[0]
	d.rest = d.rest[1:]
	return b
}

func (d *decoder) bool() bool {
	b := d.byte()
	if b > 1 {
		d.fail()
	}
	return b == 1
}

func (d *decoder) varint() int64 {
	n := d.varuint()
	return int64(n>>1) ^ -int64(n&1)
}

func (d *decoder) int() int {
	n := d.varint()
	if n < math.MinInt || n > math.MaxInt {
		d.fail()
		return 0
	}
	return int(n)
}

func (d *decoder) time() time.Time {
	if !d.bool() {
		return time.Time{}
	}
	seconds, nanos, east := d.varint(), d.varuint(), d.int()
	if nanos >= uint64(time.Second) || east < -24*60*60 || east > 24*60*60 {
		d.fail()
		return time.Time{}
	}
	t := time.Unix(seconds, int64(nanos))
	if east == 0 {
		return t.UTC()
	}
	return t.In(time.FixedZone("", east))
}

// varuint reads what binary.AppendUvarint wrote, which encoding/binary reads from bytes alone.
func (d *decoder) varuint() (n uint64) {
	for i := range min(len(d.rest), binary.MaxVarintLen64) {
		c := d.rest[i]
		if i == binary.MaxVarintLen64-1 && c > 1 {
			break // more than 64 bits
		}
		n |= uint64(c&0x7f) << (7 * i)
		if c < 0x80 {
			d.rest = d.rest[i+1:]
			return n
		}
	}
	d.fail()
	return 0
}
