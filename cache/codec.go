package cache

import (
	"cmp"
	"encoding/binary"
	"slices"
	"strings"
	"time"

	"github.com/archivefs/archivefs/archive"
)

// A form writes a value field by field: whole numbers as varints, a text or a list as its length
// and its elements. The same function reads and writes, so the two cannot differ. Another field
// or another order makes another form, and its bucket gets a new version.
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

// leastDocument is the fewest bytes that a document takes.
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

// folder is a folder with everything below it.
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

// form writes or reads the fields of a value.
type form[V any] func(*coder, *V)

func (f form[V]) pack(v V) string {
	c := coder{writing: true}
	f(&c, &v)
	return string(c.out)
}

// unpack returns the value that was packed; false: nothing of this form was. Texts of the value
// share the memory of packed.
func (f form[V]) unpack(packed string) (v V, ok bool) {
	c := coder{rest: packed}
	f(&c, &v)
	return v, !c.bad && len(c.rest) == 0
}

// coder writes fields to out, or reads them from rest. After an error (bad) it reads zeros and empty lists.
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

// each calls element for every element of a list. least is the fewest bytes that one takes, by
// which the list is allocated; 0: it grows while it is read.
func each[T any](c *coder, all *[]T, least int, element func(*coder, *T)) {
	n := c.count(len(*all))
	if !c.writing && n > 0 && least > 0 {
		*all = make([]T, 0, min(n, len(c.rest)/least+1)) // n may be wrong
	}
	for i := 0; i < n && !c.bad; i++ {
		if !c.writing {
			var none T
			*all = append(*all, none)
		}
		element(c, &(*all)[i])
	}
}

// count is the length of a text or a list. Each element takes a byte at least.
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

// varuint writes n, or reads one.
func (c *coder) varuint(n uint64) uint64 {
	if c.writing {
		c.out = binary.AppendUvarint(c.out, n)
		return n
	}
	n, size := binary.Uvarint([]byte(c.rest[:min(len(c.rest), binary.MaxVarintLen64)])) // copied to the stack
	if size <= 0 {
		c.fail()
		return 0
	}
	c.rest = c.rest[size:]
	return n
}

// Packing packs answers into a fraction of their memory, and unpacks them. A nil Packing leaves them as they are.
type Packing[V any] struct {
	form  form[V]
	spill *Spill
}

// PackedDocuments packs document lists, in the form of Known.Documents.
func PackedDocuments() *Packing[[]archive.Document] {
	return &Packing[[]archive.Document]{form: documentsForm}
}

// PackedFolders packs the children of folders, without the children of those.
func PackedFolders() *Packing[archive.Structure] {
	return &Packing[archive.Structure]{form: structureForm}
}

// Within has what Listings keep bounded by s, and returns p.
func (p *Packing[V]) Within(s *Spill) *Packing[V] {
	p.spill = s
	return p
}

// Pack returns the packed form of a value, which is never empty.
func (p *Packing[V]) Pack(value V) string { return p.form.pack(value) }

// Unpack returns the value of a packed form. Its texts share the memory of packed.
func (p *Packing[V]) Unpack(packed string) V {
	value, _ := p.form.unpack(packed)
	return value
}

// held is the entry as Listings keeps it.
func (p *Packing[V]) held(e Entry[V]) Entry[V] {
	if p == nil {
		return e
	}
	var none V
	if e.Packed.IsZero() {
		e.Packed = p.hold(e.Value)
	}
	e.Value = none
	return e
}

// hold packs a value, none without a Packing.
func (p *Packing[V]) hold(value V) Packed {
	if p == nil {
		return Packed{}
	}
	return p.spill.Hold(p.Pack(value))
}

// whole is the entry as callers get it, with its changes; false: it is lost.
func (p *Packing[V]) whole(e Entry[V]) (Entry[V], bool) {
	if !e.Packed.IsZero() {
		text, ok := e.Packed.Text()
		if !ok {
			return e, false
		}
		e.Value = p.Unpack(text)
	}
	for _, change := range e.changes {
		e.Value = change(e.Value)
	}
	if len(e.changes) > 0 {
		e.Packed, e.changes = p.hold(e.Value), nil
	}
	return e, true
}

// packedChunk is how many bytes PackedLists allocates at a time. Listings share a chunk, which is
// freed with the last of them.
const packedChunk = 32 << 10

// PackedLists sorts documents by their folders, and packs each document when it is added. So many folders can be listed
// at once in little more memory than their listings take. The zero value is empty. One goroutine at a time uses it.
type PackedLists struct {
	all []packedDocument
	// counts are the numbers of documents by folder. sorted says that all is sorted by folder.
	counts  map[archive.ID]int
	sorted  bool
	chunk   []byte          // the newest chunk of documents
	lists   strings.Builder // the newest chunk of listings
	scratch coder
}

type packedDocument struct {
	folder, id archive.ID
	packed     []byte
}

// Add adds a document. d is not kept.
func (p *PackedLists) Add(d *archive.Document) {
	p.scratch = coder{writing: true, out: p.scratch.out[:0]}
	p.scratch.document(d)
	if cap(p.chunk)-len(p.chunk) < len(p.scratch.out) {
		p.chunk = make([]byte, 0, max(packedChunk, len(p.scratch.out)))
	}
	begin := len(p.chunk)
	p.chunk = append(p.chunk, p.scratch.out...)
	p.all = append(p.all, packedDocument{d.Folder, d.ID, p.chunk[begin:len(p.chunk):len(p.chunk)]})
	if p.counts == nil {
		p.counts = map[archive.ID]int{}
	}
	p.counts[d.Folder]++
	p.sorted = false
}

// Len is how many documents were added.
func (p *PackedLists) Len() int { return len(p.all) }

// Has reports whether a document of the folder was added.
func (p *PackedLists) Has(folder archive.ID) bool { return p.counts[folder] > 0 }

// Beside reports whether a document of another folder was added.
func (p *PackedLists) Beside(folder archive.ID) bool {
	for other := range p.counts {
		if other != folder && other != 0 {
			return true
		}
	}
	return false
}

// Of returns the documents of a folder by ascending id, as PackedDocuments packs them. The list
// of a folder without documents is empty.
func (p *PackedLists) Of(folder archive.ID) string {
	if !p.sorted {
		slices.SortStableFunc(p.all, func(a, b packedDocument) int { return cmp.Or(cmp.Compare(a.folder, b.folder), cmp.Compare(a.id, b.id)) })
		p.sorted = true
	}
	n := p.counts[folder]
	p.scratch.out = binary.AppendUvarint(p.scratch.out[:0], uint64(n)) //nolint:gosec // a count
	if n > 0 {
		at, _ := slices.BinarySearchFunc(p.all, folder, func(d packedDocument, folder archive.ID) int { return cmp.Compare(d.folder, folder) })
		for _, d := range p.all[at : at+n] {
			p.scratch.out = append(p.scratch.out, d.packed...)
		}
	}
	if p.lists.Cap()-p.lists.Len() < len(p.scratch.out) {
		p.lists = strings.Builder{}
		p.lists.Grow(max(packedChunk, len(p.scratch.out)))
	}
	begin := p.lists.Len()
	_, _ = p.lists.Write(p.scratch.out) // it never fails
	return p.lists.String()[begin:]
}
