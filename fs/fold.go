package fs

import (
	"encoding/binary"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/cache"
)

// A document that was listed takes several times the memory of what the listing says of it: its
// fields, an entry, a place in each index. After a walk that only read names most of a large
// archive would lie there like this. So a directory is folded when a walk leaves it: of documents
// that nobody has looked at the packed listing stays, which the cache of listings has as well, and
// what they are called. It unfolds when somebody looks into it, with the very same names.

// origin is the listing that the documents of a directory come from.
type origin struct {
	packed string
	// docs are what packed unpacks to, which the entries point at. Nil while folded.
	docs   []archive.Document
	folded bool
	names  string // the shown ones while folded (appendShown); empty: all are the documents' own
}

// here are the entries, unfolded.
func (s *nameSet) here() *contents {
	if s.isFolded() {
		s.unfold(s.origin)
	}
	return &s.held
}

func (s *nameSet) isFolded() bool { return s.origin != nil && s.origin.folded }

// foldsTo notes the listing that was merged last, if it is this one. Documents of an inbox are
// never folded: they are changed and removed.
func (d *dir) foldsTo(docs []archive.Document, packed string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.kind.archives() || packed == "" || d.shown.origin != nil && d.shown.origin.folded {
		return
	}
	d.shown.origin = nil
	if len(docs) == 0 {
		return
	}
	if e := d.shown.held.docs.get(docs[0].ID); e != nil && e.doc.Load() == &docs[0] {
		d.shown.origin = &origin{packed: packed, docs: docs}
	}
}

// fold keeps of the documents the listing and their names, if that says all about them.
func (d *dir) fold() {
	d.mu.Lock()
	defer d.mu.Unlock()
	l := d.shown.origin
	if l == nil || l.folded || !d.foldableLocked(l.docs) {
		return
	}
	l.names = shownNames(d.shown.held.docs.list)
	rest := make([]*entry, 0, len(d.shown.folders.list))
	for _, e := range d.shown.held.names.all() {
		if e.doc.Load() == nil {
			rest = append(rest, e)
		}
	}
	d.shown.held = contents{}
	d.shown.held.names.fill(rest)
	l.docs, l.folded = nil, true
}

// foldableLocked reports whether the directory's documents are those of the listing, as that has
// them, and nobody has looked at one. The caller holds mu.
func (d *dir) foldableLocked(docs []archive.Document) bool {
	list := d.shown.held.docs.list
	if len(list) != len(docs) || len(d.shown.aside) > 0 || len(d.late) > 0 {
		return false
	}
	now := instantOf(d.fs.now())
	for i := range docs {
		e := list[i].entry
		if e.doc.Load() != &docs[i] || e.file.Load() != nil || e.told != docs[i].Name || now <= e.keep {
			return false
		}
	}
	return true
}

// unfold undoes fold.
func (s *nameSet) unfold(l *origin) {
	l.docs = cache.PackedDocuments().Unpack(l.packed)
	l.folded = false
	entries := make([]entry, len(l.docs))
	all := append(make([]*entry, 0, len(l.docs)+len(s.folders.list)), s.held.names.all()...)
	s.held.docs.list = make([]idEntry, len(l.docs))
	for i := range l.docs {
		doc, e := &l.docs[i], &entries[i]
		e.name, l.names = nextShown(l.names, doc.Name)
		e.told = doc.Name
		e.doc.Store(doc)
		s.held.docs.list[i] = idEntry{doc.ID, e}
		s.index(e)
		all = append(all, e)
	}
	s.held.names.fill(all)
	s.dir.fs.memory.unfolds(len(l.docs))
}

// shownNames is what the documents of entries are called, for nextShown; empty when all are
// called as the service calls them.
func shownNames(list []idEntry) string {
	var b []byte
	same := true
	for i := range list {
		e := list[i].entry
		b = appendShown(b, e.name, e.told)
		same = same && e.name == e.told
	}
	if same {
		return ""
	}
	return string(b)
}

// appendShown writes a name as the number of bytes that it begins with like the document's own
// one, and the number of those that follow, and these.
func appendShown(b []byte, shown, own string) []byte {
	n := 0
	for n < len(shown) && n < len(own) && shown[n] == own[n] {
		n++
	}
	b = binary.AppendUvarint(b, uint64(n)) //nolint:gosec // a length
	b = binary.AppendUvarint(b, uint64(len(shown)-n))
	return append(b, shown[n:]...)
}

// nextShown reads the name of a document called own, and returns what follows.
func nextShown(names, own string) (shown, rest string) {
	if names == "" {
		return own, ""
	}
	same, names := nextCount(names)
	more, names := nextCount(names)
	if more == 0 && same == len(own) {
		return own, names
	}
	return own[:same] + names[:more], names[more:]
}

// nextCount reads a number of bytes, at most that of a name, which may be longer than the bytes
// that a name is shown with.
func nextCount(names string) (n int, rest string) {
	count, size := binary.Uvarint([]byte(names[:min(len(names), binary.MaxVarintLen64)]))
	return int(count), names[size:] //nolint:gosec // a length
}
