package cache

import (
	"encoding/binary"
	"math"
	"time"

	"github.com/archivefs/archivefs/archive"
)

// deepest bounds how deep folders nest in a value.
const deepest = 1000

// decoder reads a value. Bytes that are none end it: from then on it reads zeros and empty
// lists.
type decoder struct {
	rest []byte
	bad  bool
}

// ended reports whether all bytes were read, and made sense.
func (d *decoder) ended() bool { return !d.bad && len(d.rest) == 0 }

func (d *decoder) fail() {
	d.bad, d.rest = true, nil
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
	d.list(func() { docs = append(docs, d.document()) })
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
	n, size := binary.Uvarint(d.rest)
	if size <= 0 || n > uint64(len(d.rest)-size) { //nolint:gosec // size is at most the length
		d.fail()
		return 0
	}
	d.rest = d.rest[size:]
	return int(n) //nolint:gosec // at most the length of a slice
}

func (d *decoder) text() string {
	n := d.count()
	s := string(d.rest[:n]) // a copy
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
	n, size := binary.Varint(d.rest)
	if size <= 0 {
		d.fail()
		return 0
	}
	d.rest = d.rest[size:]
	return n
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

func (d *decoder) varuint() uint64 {
	n, size := binary.Uvarint(d.rest)
	if size <= 0 {
		d.fail()
		return 0
	}
	d.rest = d.rest[size:]
	return n
}
