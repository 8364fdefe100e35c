package cache

import (
	"encoding/binary"
	"time"

	"github.com/archivefs/archivefs/archive"
)

// The buckets of the file; their names carry the version of their format. Keys and values
// are those of the shelf that has the bucket; a value begins with when it was fetched, a
// big-endian int64 of nanoseconds since 1970.
var (
	foldersBucket   = []byte("folders.v1")
	documentsBucket = []byte("documents.v1")
	inboxesBucket   = []byte("inboxes.v1")
	readAsBucket    = []byte("representation.v1")
	// sumBucket holds under sumKey how many bytes of values are in the others, a
	// big-endian uint64.
	sumBucket = []byte("sum.v1")
	sumKey    = []byte("bytes")
)

// A value is written field after field: whole numbers as varints, a text or a list as its length
// and what it holds. What goes over the fields does so in both directions, so that nothing is
// written that is not read. A field more, or another order, is another form: its bucket then
// gets a new version.
var (
	structureForm = form[archive.Structure](func(c *coder, s *archive.Structure) {
		c.bool(&s.Free)
		each(c, &s.Folders, 0, func(c *coder, f *archive.Folder) {
			number(c, &f.ID)
			c.text(&f.Name)
		})
	})
	inboxesForm = form[archive.Inboxes](func(c *coder, all *archive.Inboxes) {
		c.bool(&all.Free)
		each(c, &all.Inboxes, 0, func(c *coder, in *archive.Inbox) {
			number(c, &in.UserID)
			c.folder(&in.Folder)
		})
	})
	documentsForm = form[[]archive.Document](func(c *coder, docs *[]archive.Document) {
		each(c, docs, leastDocument, (*coder).document)
	})
	representationForm = form[archive.Representation](func(c *coder, r *archive.Representation) { octet(c, r) })
)

// leastDocument is the least number of bytes that a document takes.
const leastDocument = 11

func (c *coder) document(d *archive.Document) {
	number(c, &d.ID)
	c.text(&d.Name)
	number(c, &d.Pages)
	c.time(&d.Created)
	c.time(&d.Archived)
	number(c, &d.Folder)
	each(c, &d.Keywords, 0, (*coder).text)
	each(c, &d.Metadata, 0, func(c *coder, kv *archive.KeyValue) {
		c.text(&kv.Key)
		c.text(&kv.Value)
	})
	octet(c, &d.AutoExport)
	number(c, &d.Size)
	c.text(&d.ContentType)
}

// folder is a folder with all that is below it.
func (c *coder) folder(f *archive.Folder) {
	const deepest = 1000
	if c.depth++; c.depth > deepest {
		c.fail()
	}
	number(c, &f.ID)
	c.text(&f.Name)
	c.bool(&f.ChildrenKnown)
	each(c, &f.Children, 0, (*coder).folder)
	c.depth--
}

// form goes over the fields of a value.
type form[V any] func(*coder, *V)

// pack returns the bytes of a value.
func (f form[V]) pack(v V) string {
	c := coder{writing: true}
	f(&c, &v)
	return string(c.out)
}

// unpack returns the value of bytes, and whether they are those of one. Its texts share their
// memory.
func (f form[V]) unpack(packed string) (v V, ok bool) {
	c := coder{rest: packed}
	f(&c, &v)
	return v, !c.bad && len(c.rest) == 0
}

// coder writes fields to out, or reads them from rest. Bytes that are no value end it: from then
// on it reads zeros and empty lists.
type coder struct {
	writing bool
	out     []byte
	rest    string
	bad     bool
	depth   int // of folders
}

func (c *coder) fail() {
	if !c.writing {
		c.bad, c.rest = true, ""
	}
}

// each goes over a list with element, of which one takes at least so many bytes; 0: what
// is read grows as they come.
func each[T any](c *coder, all *[]T, least int, element func(*coder, *T)) {
	n := c.count(len(*all))
	if !c.writing && n > 0 && least > 0 {
		*all = make([]T, 0, min(n, len(c.rest)/least+1)) // no more than there can be
	}
	for i := 0; i < n && !c.bad; i++ {
		if !c.writing {
			var none T
			*all = append(*all, none)
		}
		element(c, &(*all)[i])
	}
}

// count is the length of a text or a list, of which each element has a byte at least.
func (c *coder) count(n int) int {
	if c.writing {
		c.varuint(uint64(n)) //nolint:gosec // a length
		return n
	}
	read := c.varuint(0)
	if read > uint64(len(c.rest)) {
		c.fail()
		return 0
	}
	return int(read) //nolint:gosec // at most the length of a string
}

func (c *coder) text(s *string) {
	n := c.count(len(*s))
	if c.writing {
		c.out = append(c.out, *s...)
		return
	}
	*s, c.rest = c.rest[:n], c.rest[n:]
}

// octet is a number that takes a byte.
func octet[T ~uint8](c *coder, b *T) {
	switch {
	case c.writing:
		c.out = append(c.out, byte(*b))
	case len(c.rest) == 0:
		c.fail()
	default:
		*b, c.rest = T(c.rest[0]), c.rest[1:]
	}
}

func (c *coder) bool(v *bool) {
	var b byte
	if *v {
		b = 1
	}
	if octet(c, &b); c.writing {
		return // values are shared
	}
	if b > 1 {
		c.fail()
	}
	*v = b == 1
}

// number is a whole number.
func number[T ~int | ~int64](c *coder, n *T) {
	if c.writing {
		c.out = binary.AppendVarint(c.out, int64(*n))
		return
	}
	u := c.varuint(0)
	read := int64(u>>1) ^ -int64(u&1)
	if *n = T(read); int64(*n) != read {
		c.fail()
		*n = 0
	}
}

// time is a 0 for the zero time, else a 1, the seconds since 1970, the nanoseconds of the second,
// and the seconds by which the zone is east of UTC.
func (c *coder) time(t *time.Time) {
	known := !t.IsZero()
	if c.bool(&known); !known {
		return
	}
	_, east := t.Zone()
	seconds := t.Unix()
	number(c, &seconds)
	nanos := c.varuint(uint64(t.Nanosecond())) //nolint:gosec // 0 to 999999999
	number(c, &east)
	const day = 24 * 60 * 60
	switch {
	case c.writing:
	case nanos >= uint64(time.Second) || east < -day || east > day:
		c.fail()
	case east == 0:
		*t = time.Unix(seconds, int64(nanos)).UTC()
	default:
		*t = time.Unix(seconds, int64(nanos)).In(time.FixedZone("", east))
	}
}

// varuint writes n, or reads what was written so, which encoding/binary does from bytes alone.
func (c *coder) varuint(n uint64) uint64 {
	if c.writing {
		c.out = binary.AppendUvarint(c.out, n)
		return n
	}
	n = 0
	for i := range min(len(c.rest), binary.MaxVarintLen64) {
		b := c.rest[i]
		if i == binary.MaxVarintLen64-1 && b > 1 {
			break // more than 64 bits
		}
		n |= uint64(b&0x7f) << (7 * i)
		if b < 0x80 {
			c.rest = c.rest[i+1:]
			return n
		}
	}
	c.fail()
	return 0
}
