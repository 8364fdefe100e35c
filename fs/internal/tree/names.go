package tree

import (
	"cmp"
	"encoding/binary"
	"slices"
	"strings"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/cache"
	"github.com/archivefs/archivefs/fs/internal/names"
)

// A listed document takes several times the memory of its packed listing: its fields, an entry, a
// place in each index. A walk that only reads names would leave most of a large archive in memory
// in this expanded form. So a directory is compacted when a walk leaves it: for documents that
// nobody has looked at it keeps their names and the packed listing, which it shares with the cache
// of listings. It is expanded when somebody looks into it, with the very same names.

// origin is the listing that the documents of a directory come from.
type origin struct {
	packed string
	// docs are what packed unpacks to, which the entries point at. Nil while compacted.
	docs      []archive.Document
	compacted bool
	names     string // the shown ones while compacted (appendShown); empty: all are the documents' own
}

// nameSet is which names a directory shows, and for what: folders and documents under their own names,
// names that tell two of them apart, plain names beside those with an extension, and the names of hidden
// documents. It is Dir.Shown, so everything in it is guarded by Mu of the directory.
type nameSet struct {
	dir     *Dir
	Held    contents          // without documents while compacted: use Here
	origin  *origin           // where the documents come from, if they can be compacted
	Folders idIndex           // by the ids of folders
	hidden  map[string]*Entry // documents of docs that are not shown, by name
	Changed time.Time         // when the names changed last
	Version uint64            // how often they changed
}

// contents are the entries of a directory. They are reached by nameSet.Here.
type contents struct {
	Names nameIndex
	Docs  idIndex
	plain map[string][]*Entry // documents of docs by plain name where that is not shown, by ascending id
}

// Here returns the entries, expanded.
func (s *nameSet) Here() *contents {
	if s.IsCompacted() {
		s.expand(s.origin)
	}
	return &s.Held
}

// IsCompacted reports whether the directory is in its compacted form.
func (s *nameSet) IsCompacted() bool { return s.origin != nil && s.origin.compacted }

// expand undoes Dir.Compact.
func (s *nameSet) expand(l *origin) {
	l.docs = cache.PackedDocuments().Unpack(l.packed)
	l.compacted = false
	entries := make([]Entry, len(l.docs))
	all := append(make([]*Entry, 0, len(l.docs)+len(s.Folders.List)), s.Held.Names.All()...)
	s.Held.Docs.List = make([]idEntry, len(l.docs))
	for i := range l.docs {
		doc, e := &l.docs[i], &entries[i]
		e.Name, l.names = nextShown(l.names, doc.Name)
		e.ServiceName = doc.Name
		e.Doc.Store(doc)
		s.Held.Docs.List[i] = idEntry{doc.ID, e}
		s.index(e)
		all = append(all, e)
	}
	s.Held.Names.fill(all)
	s.dir.Tree.Expanded(len(l.docs))
}

// shownNames is what the documents of entries are called, for nextShown; empty when all are
// called as the service calls them.
func shownNames(list []idEntry) string {
	var b []byte
	same := true
	for i := range list {
		e := list[i].Entry
		b = appendShown(b, e.Name, e.ServiceName)
		same = same && e.Name == e.ServiceName
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

// Most folders have few entries, for which a map costs several times what they need: so ids
// are found in a sorted slice, and names as well up to smallIndex of them.

// idIndex finds entries by the id of their folder or document. The zero value is empty.
type idIndex struct{ List []idEntry } // by ascending id

type idEntry struct {
	ID    archive.ID
	Entry *Entry
}

func (x *idIndex) find(id archive.ID) (int, bool) {
	if n := len(x.List); n > 0 && x.List[n-1].ID < id {
		return n, false // what is new has the highest id
	}
	return slices.BinarySearchFunc(x.List, id, func(e idEntry, id archive.ID) int { return cmp.Compare(e.ID, id) })
}

// Get returns the entry of an id, nil without one.
func (x *idIndex) Get(id archive.ID) *Entry {
	if at, ok := x.find(id); ok {
		return x.List[at].Entry
	}
	return nil
}

// Put makes e the entry of the id.
func (x *idIndex) Put(id archive.ID, e *Entry) {
	at, ok := x.find(id)
	if ok {
		x.List[at].Entry = e
		return
	}
	x.List = slices.Insert(x.List, at, idEntry{id, e})
}

// Remove takes out an id.
func (x *idIndex) Remove(id archive.ID) {
	if at, ok := x.find(id); ok {
		x.List = slices.Delete(x.List, at, at+1)
	}
}

// reserve makes room for so many entries more, at once and no more than that.
func (x *idIndex) reserve(n int) {
	if cap(x.List)-len(x.List) < n {
		x.List = append(make([]idEntry, 0, len(x.List)+n), x.List...)
	}
}

// IDs is the set of them.
func (x *idIndex) IDs() map[archive.ID]bool {
	ids := make(map[archive.ID]bool, len(x.List))
	for _, e := range x.List {
		ids[e.ID] = true
	}
	return ids
}

// smallIndex is how many names are found without a map.
const smallIndex = 64

// nameIndex finds entries by their name. The zero value is empty.
type nameIndex struct {
	// sorted are the entries in the order of their names: all of them without a map, else
	// nil when it must be made anew.
	sorted []*Entry
	// lent says that sorted was handed out, so that it is not written to any more.
	lent  bool
	names map[string]*Entry
}

func (x *nameIndex) find(name string) (int, bool) {
	return FindName(x.sorted, name)
}

// FindName finds a name in entries in the order of their names.
func FindName(sorted []*Entry, name string) (int, bool) {
	return slices.BinarySearchFunc(sorted, name, func(e *Entry, name string) int { return strings.Compare(e.Name, name) })
}

// Get returns the entry of a name, nil without one.
func (x *nameIndex) Get(name string) *Entry {
	if x.names != nil {
		return x.names[name]
	}
	if at, ok := x.find(name); ok {
		return x.sorted[at]
	}
	return nil
}

// put makes e the entry of its name.
func (x *nameIndex) put(e *Entry) {
	if x.names != nil {
		x.names[e.Name] = e
		x.sorted = nil
		return
	}
	x.own(1)
	at, ok := x.find(e.Name)
	switch {
	case ok:
		x.sorted[at] = e
	case len(x.sorted) < smallIndex:
		x.sorted = slices.Insert(x.sorted, at, e)
	default:
		x.grow(len(x.sorted) + 1)
		x.put(e)
	}
}

// grow goes over to a map that has room for n names.
func (x *nameIndex) grow(n int) {
	x.names = make(map[string]*Entry, n)
	for _, e := range x.sorted {
		x.names[e.Name] = e
	}
	x.sorted, x.lent = nil, false
}

// remove takes out a name.
func (x *nameIndex) remove(name string) {
	if x.names != nil {
		delete(x.names, name)
		x.sorted = nil
		return
	}
	if at, ok := x.find(name); ok {
		x.own(0)
		x.sorted = slices.Delete(x.sorted, at, at+1)
	}
}

// own makes sorted a slice that may be written to, with room for n entries more.
func (x *nameIndex) own(n int) {
	if x.lent {
		x.sorted, x.lent = append(make([]*Entry, 0, len(x.sorted)+n), x.sorted...), false
	}
}

// fill makes these the entries, which no others were before. It keeps the slice.
func (x *nameIndex) fill(entries []*Entry) {
	*x = nameIndex{sorted: entries}
	if len(entries) > smallIndex {
		x.grow(len(entries))
		return
	}
	slices.SortFunc(x.sorted, func(a, b *Entry) int { return strings.Compare(a.Name, b.Name) })
}

// reserve makes room for so many names more, at once and no more than that.
func (x *nameIndex) reserve(n int) {
	switch {
	case x.names != nil:
	case len(x.sorted)+n > smallIndex:
		x.grow(len(x.sorted) + n)
	case cap(x.sorted)-len(x.sorted) < n:
		x.sorted, x.lent = append(make([]*Entry, 0, len(x.sorted)+n), x.sorted...), false
	}
}

// All returns the entries in the order of their names. The slice is never written to.
func (x *nameIndex) All() []*Entry {
	if x.names == nil {
		x.lent = true
		return x.sorted
	}
	if x.sorted == nil {
		x.sorted = make([]*Entry, 0, len(x.names))
		for _, e := range x.names {
			x.sorted = append(x.sorted, e)
		}
		slices.SortFunc(x.sorted, func(a, b *Entry) int { return strings.Compare(a.Name, b.Name) })
	}
	return x.sorted
}

// Get returns what a name is shown for, nil when the directory does not have it as far as is known.
func (s *nameSet) Get(name string) *Entry {
	if e := s.Held.Names.Get(name); e != nil {
		return e // a directory, for which nothing is expanded
	}
	return s.Here().Names.Get(name)
}

// All returns the entries in the order of their names. The slice is shared: it is never written to.
func (s *nameSet) All() []*Entry { return s.Here().Names.All() }

// Document returns the entry of a document, shown or hidden, nil without one.
func (s *nameSet) Document(id archive.ID) *Entry { return s.Here().Docs.Get(id) }

// Documents returns the entries of all documents by ascending id.
func (s *nameSet) Documents() []idEntry { return s.Here().Docs.List }

// Taken reports whether a name is used.
func (s *nameSet) Taken(name string) bool {
	return s.Here().Names.Get(name) != nil || s.dir.Kind == RootDir && (name == InboxesName || name == ControlName)
}

// Add puts an entry under its name.
func (s *nameSet) Add(e *Entry) {
	s.Here().Names.put(e)
	if e.Dir != nil && e.Dir.Kind != LocalDir {
		s.Folders.Put(e.Dir.ID(), e)
	}
	if doc := e.Doc.Load(); doc != nil {
		s.Here().Docs.Put(doc.ID, e)
		s.index(e)
	}
	s.touch()
}

// Drop takes an entry out.
func (s *nameSet) Drop(e *Entry) {
	if s.Here().Names.Get(e.Name) == e {
		s.Here().Names.remove(e.Name)
	}
	if e.Dir != nil && e.Dir.Kind != LocalDir && s.Folders.Get(e.Dir.ID()) == e {
		s.Folders.Remove(e.Dir.ID())
	}
	if doc := e.Doc.Load(); doc != nil && s.Here().Docs.Get(doc.ID) == e {
		s.Here().Docs.Remove(doc.ID)
	}
	s.unindex(e)
	if s.hidden[e.Name] == e {
		delete(s.hidden, e.Name)
	}
	s.touch()
}

func (s *nameSet) touch() {
	s.Changed = s.dir.Tree.Service.Now()
	s.Version++
}

// A document that is shown with an extension which it does not have is reached under its
// plain name as well, unless something is shown under that: who puts the same files in
// again (rsync -a) after a fresh mount finds what is archived. It is listed once. In an
// index, because programs ask for many names that are not there.

// Reach returns the entry of a name or plain name, nil without one. Of several documents with one
// plain name it is the first; while that is hidden no other gets its name.
func (s *nameSet) Reach(name string) *Entry {
	if e := s.Here().Names.Get(name); e != nil {
		return e
	}
	if e := s.plain(name); e != nil && !s.hides(e) {
		return e
	}
	return nil
}

// plain returns the first document that has the plain name and is shown under another
// one, hidden or not.
func (s *nameSet) plain(name string) *Entry {
	if list := s.Here().plain[name]; len(list) > 0 {
		return list[0]
	}
	return nil
}

// index makes a document's entry found by its plain name as it is now.
func (s *nameSet) index(e *Entry) {
	plain := s.plainOf(e)
	if plain == e.plain {
		return
	}
	s.unindex(e)
	if plain == "" {
		return
	}
	e.plain = plain
	if s.Here().plain == nil {
		s.Here().plain = map[string][]*Entry{}
	}
	list := s.Here().plain[plain]
	at, _ := slices.BinarySearchFunc(list, e.Doc.Load().ID, byID)
	s.Here().plain[plain] = slices.Insert(list, at, e)
}

// plainOf is the name under which an entry is found beside its own, empty for none. In an
// inbox, where documents can be overwritten and removed, a name never falls to a document
// that was told apart from the one which had it.
func (s *nameSet) plainOf(e *Entry) string {
	plain := names.Plain(e.Doc.Load())
	switch {
	case names.Ext(plain) != "", plain == e.Name:
	case names.IsJunk(plain): // programs make and remove such names as they like
	case s.dir.Kind.Archives(), names.IsExtended(plain, e.Name):
		return plain
	}
	return ""
}

// unindex undoes index.
func (s *nameSet) unindex(e *Entry) {
	if e.plain == "" {
		return
	}
	list := slices.DeleteFunc(s.Here().plain[e.plain], func(other *Entry) bool { return other == e })
	if len(list) == 0 {
		delete(s.Here().plain, e.plain)
	} else {
		s.Here().plain[e.plain] = list
	}
	e.plain = ""
}

func byID(e *Entry, id archive.ID) int { return cmp.Compare(e.Doc.Load().ID, id) }

// Hide stops showing a document, and remembers it under its name.
func (s *nameSet) Hide(hidden *Entry) {
	if s.hidden == nil {
		s.hidden = map[string]*Entry{}
	}
	s.hidden[hidden.Name] = hidden
	s.Here().Docs.Put(hidden.Doc.Load().ID, hidden)
	s.index(hidden)
}

// hides reports whether an entry is hidden.
func (s *nameSet) hides(e *Entry) bool { return s.hidden[e.Name] == e }

// Unhide shows a hidden document again, under its name or, where that is taken, under one told
// apart by its id.
func (s *nameSet) Unhide(hidden *Entry) *Entry {
	s.Drop(hidden)
	if s.Taken(hidden.Name) {
		hidden = hidden.Renamed(names.OfDocument(hidden.Doc.Load(), "", s.Taken))
	}
	s.Add(hidden)
	return hidden
}

// Hidden returns the hidden document of the name, nil without one.
func (s *nameSet) Hidden(name string) *Entry {
	if hidden := s.hidden[name]; hidden != nil {
		return hidden
	}
	if e := s.plain(name); e != nil && s.hides(e) {
		return e
	}
	return nil
}
