// Package tree is the model of the directories: which names each of them shows, and for what. Directories are filled
// from the listings of the archive service. An entry keeps its name until it is renamed.
//
// It knows neither FUSE nor HTTP. Config.Staged is what waits on this machine to be archived.
package tree

import (
	"cmp"
	"encoding/binary"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/cache"
	"github.com/archivefs/archivefs/fs/internal/names"
)

// A listed document takes several times the memory of its packed listing: its fields, an entry, a place in each index.
// A walk that only reads names would leave most of a large archive in memory in this expanded form. So a directory is
// compacted when a walk leaves it, unless somebody looked at one of its documents: it keeps only the shown names and
// the packed listing, which it shares with the cache of listings. The next access expands it, with the very same names.

// origin is the listing that the documents of a directory come from.
type origin struct {
	// packed is pinned from the moment at which the compacted directory was found to be known until it
	// is expanded or Dir.Compact is called again: whatever happens to the disk, it can be expanded.
	packed cache.Packed
	// docs is the unpacked listing, which the entries point into; nil while compacted.
	docs  []archive.Document
	names string // the shown names while compacted (appendShown); empty: all are the documents' own
}

// nameSet holds the names that a directory shows, and their entries: folders and documents under their
// own names or under distinguished ones, plain names beside those with an extension, and the names of
// hidden documents. It is Dir.Shown, so everything in it is guarded by Mu of the directory.
type nameSet struct {
	dir     *Dir
	Held    contents          // without documents while compacted: use Here
	origin  *origin           // where the documents come from, if they can be compacted
	Folders idIndex           // by folder id
	hidden  map[string]*Entry // documents that are not shown, by name
	Changed time.Time         // when the names changed last
	Version uint64            // how often they changed
}

// contents are the entries of a directory. nameSet.Here returns them.
type contents struct {
	Names nameIndex
	Docs  idIndex
	plain map[string][]*Entry // documents by plain name where it differs from the shown one, by ascending id
	forms map[string][]string // names that are not composed, shown or not, by their composed forms
}

// Here returns the entries and expands them if necessary.
func (s *nameSet) Here() *contents {
	if s.IsCompacted() {
		if s.readable() {
			s.expand(s.origin)
		} else {
			s.lose()
		}
	}
	return &s.Held
}

// readable reports whether a compacted directory can be expanded, and makes sure that it still can be
// when that is needed.
func (s *nameSet) readable() (ok bool) {
	s.origin.packed, ok = s.origin.packed.Pin()
	return ok
}

// lose drops the documents of a compacted directory that cannot be expanded: it must be listed again. As
// everywhere in nameSet, Mu of the directory is held.
// +checklocksignore
func (s *nameSet) lose() {
	s.origin = nil
	s.dir.Files.Serial, s.dir.Files.Fetched = 0, time.Time{}
}

func (s *nameSet) IsCompacted() bool { return s.origin != nil && s.origin.docs == nil }

// expand undoes Dir.Compact.
func (s *nameSet) expand(l *origin) {
	text, _ := l.packed.Text() // it is pinned
	l.docs = cache.PackedDocuments().Unpack(text)
	l.packed = l.packed.Unpin()
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
	for _, e := range all {
		s.addForm(e.Name)
	}
	s.Held.Names.fill(all)
	s.dir.Tree.Expanded(len(l.docs))
}

// shownNames encodes the shown names of documents for nextShown; empty when all are the service's.
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

// appendShown appends a name as the length of the prefix that it shares with the document's own name,
// the length of the rest, and the rest.
func appendShown(b []byte, shown, own string) []byte {
	n := 0
	for n < len(shown) && n < len(own) && shown[n] == own[n] {
		n++
	}
	b = binary.AppendUvarint(b, uint64(n)) //nolint:gosec // a length
	b = binary.AppendUvarint(b, uint64(len(shown)-n))
	return append(b, shown[n:]...)
}

// nextShown decodes the shown name of a document called own, and returns the remaining names.
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

// nextCount decodes a length. It is at most that of a service's name, which may exceed names.Max.
func nextCount(names string) (n int, rest string) {
	count, size := binary.Uvarint([]byte(names[:min(len(names), binary.MaxVarintLen64)]))
	return int(count), names[size:] //nolint:gosec // a length
}

// Most folders have few entries, for which a map takes several times the memory of a slice. So ids, and
// up to smallIndex names, are kept in sorted slices.

// idIndex finds entries by the id of their folder or document. The zero value is empty.
type idIndex struct{ List []idEntry } // by ascending id

type idEntry struct {
	ID    archive.ID
	Entry *Entry
}

func (x *idIndex) find(id archive.ID) (int, bool) {
	if n := len(x.List); n > 0 && x.List[n-1].ID < id {
		return n, false // fast path: new ids are the highest
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

func (x *idIndex) Put(id archive.ID, e *Entry) {
	at, ok := x.find(id)
	if ok {
		x.List[at].Entry = e
		return
	}
	x.List = slices.Insert(x.List, at, idEntry{id, e})
}

func (x *idIndex) Remove(id archive.ID) {
	if at, ok := x.find(id); ok {
		x.List = slices.Delete(x.List, at, at+1)
	}
}

// reserve makes room for exactly n more entries.
func (x *idIndex) reserve(n int) {
	if cap(x.List)-len(x.List) < n {
		x.List = append(make([]idEntry, 0, len(x.List)+n), x.List...)
	}
}

func (x *idIndex) IDs() map[archive.ID]bool {
	ids := make(map[archive.ID]bool, len(x.List))
	for _, e := range x.List {
		ids[e.ID] = true
	}
	return ids
}

// smallIndex is the largest number of names that are kept without a map.
const smallIndex = 64

// nameIndex finds entries by their name. The zero value is empty.
type nameIndex struct {
	// sorted has all entries ordered by name. With a map it may be nil: then All makes it.
	sorted []*Entry
	// lent says that sorted was handed out and must not be written to.
	lent bool
	// edits counts changes of sorted since All, with a map: many of them cost more than sorting again.
	edits int
	names map[string]*Entry
}

func (x *nameIndex) find(name string) (int, bool) {
	return FindName(x.sorted, name)
}

// FindName finds a name in entries that are ordered by name.
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

func (x *nameIndex) put(e *Entry) {
	if x.names != nil {
		x.names[e.Name] = e
		if !x.edit() {
			return
		}
	}
	x.own(1)
	at, ok := x.find(e.Name)
	switch {
	case ok:
		x.sorted[at] = e
	case x.names != nil, len(x.sorted) < smallIndex:
		x.sorted = slices.Insert(x.sorted, at, e)
	default:
		x.grow(len(x.sorted) + 1)
		x.put(e)
	}
}

// edit reports whether sorted, beside a map, is kept and changed.
func (x *nameIndex) edit() bool {
	if x.edits++; x.edits > smallIndex {
		x.sorted, x.lent = nil, false
	}
	return x.sorted != nil
}

// grow switches to a map with room for n names.
func (x *nameIndex) grow(n int) {
	x.names = make(map[string]*Entry, n)
	for _, e := range x.sorted {
		x.names[e.Name] = e
	}
	x.sorted, x.lent = nil, false
}

func (x *nameIndex) remove(name string) {
	if x.names != nil {
		delete(x.names, name)
		if !x.edit() {
			return
		}
	}
	if at, ok := x.find(name); ok {
		x.own(0)
		x.sorted = slices.Delete(x.sorted, at, at+1)
	}
}

// own makes sorted writable: a slice that was lent is copied, with room for n more entries.
func (x *nameIndex) own(n int) {
	if x.lent {
		x.sorted, x.lent = append(make([]*Entry, 0, len(x.sorted)+n), x.sorted...), false
	}
}

// fill replaces the index by these entries. It keeps the slice.
func (x *nameIndex) fill(entries []*Entry) {
	*x = nameIndex{sorted: entries}
	if len(entries) > smallIndex {
		x.grow(len(entries))
		return
	}
	slices.SortFunc(x.sorted, byName)
}

// reserve makes room for exactly n more names.
func (x *nameIndex) reserve(n int) {
	switch {
	case x.names != nil:
	case len(x.sorted)+n > smallIndex:
		x.grow(len(x.sorted) + n)
	case cap(x.sorted)-len(x.sorted) < n:
		x.sorted, x.lent = append(make([]*Entry, 0, len(x.sorted)+n), x.sorted...), false
	}
}

// All returns the entries ordered by name. The slice must not be written to.
func (x *nameIndex) All() []*Entry {
	if x.names != nil && x.sorted == nil {
		x.sorted = slices.SortedFunc(maps.Values(x.names), byName)
	}
	x.lent, x.edits = true, 0
	return x.sorted
}

func byName(a, b *Entry) int { return strings.Compare(a.Name, b.Name) }

// Get returns the entry shown under a name, nil when none is known.
func (s *nameSet) Get(name string) *Entry {
	if e := s.Held.Names.Get(name); e != nil {
		return e // without expanding
	}
	return s.Here().Names.Get(name)
}

// All returns the entries ordered by name. The slice is shared and must not be written to.
func (s *nameSet) All() []*Entry { return s.Here().Names.All() }

// Document returns the entry of a document, shown or hidden, nil without one.
func (s *nameSet) Document(id archive.ID) *Entry { return s.Here().Docs.Get(id) }

// Documents returns the entries of all documents by ascending id.
func (s *nameSet) Documents() []idEntry { return s.Here().Docs.List }

func (s *nameSet) Taken(name string) bool {
	return s.Here().Names.Get(name) != nil || s.dir.Kind() == RootDir && name == InboxesName || IsTop(s.dir) && (name == ControlName || name == SearchesName)
}

// Add shows an entry under its name.
func (s *nameSet) Add(e *Entry) {
	s.Here().Names.put(e)
	s.addForm(e.Name)
	if e.Dir != nil && e.Dir.Kind() != LocalDir {
		s.Folders.Put(e.Dir.ID(), e)
	}
	if doc := e.Doc.Load(); doc != nil {
		s.Here().Docs.Put(doc.ID, e)
		s.index(e)
	}
	s.touch()
}

// Drop removes an entry, shown or hidden.
func (s *nameSet) Drop(e *Entry) {
	if s.Here().Names.Get(e.Name) == e {
		s.Here().Names.remove(e.Name)
	}
	if e.Dir != nil && e.Dir.Kind() != LocalDir && s.Folders.Get(e.Dir.ID()) == e {
		s.Folders.Remove(e.Dir.ID())
	}
	if doc := e.Doc.Load(); doc != nil && s.Here().Docs.Get(doc.ID) == e {
		s.Here().Docs.Remove(doc.ID)
	}
	s.unindex(e)
	if s.hidden[e.Name] == e {
		delete(s.hidden, e.Name)
	}
	s.dropForm(e.Name)
	s.touch()
}

func (s *nameSet) touch() {
	s.Changed = s.dir.Tree.Service.Now()
	s.Version++
}

// A document whose shown name has an added extension can also be looked up by its plain name, unless something is shown
// under that: a program that copies the same files again after a fresh mount (rsync -a) finds what is archived.
// Listings contain it once. The plain names are indexed, because programs look up many names that do not exist.

// Reach returns the entry of a name or plain name, or of one that looks the same; nil without one. Of several documents
// with one plain name it is the first; while that one is hidden, no other takes its place.
func (s *nameSet) Reach(name string) *Entry { return s.inAnyForm(name, s.reachExact) }

func (s *nameSet) reachExact(name string) *Entry {
	if e := s.Here().Names.Get(name); e != nil {
		return e
	}
	if e := s.plain(name); e != nil && !s.hides(e) {
		return e
	}
	return nil
}

// Two names that look the same are one, although the archive may have both: then each finds its own entry. Names are
// compared in their composed form. Nearly all are composed already, so only the others are indexed.

// inAnyForm returns what find has for a name, else for one that looks the same, or is shown under it.
func (s *nameSet) inAnyForm(name string, find func(string) *Entry) *Entry {
	if e := find(name); e != nil {
		return e
	}
	composed := names.Composed(s.dir.Tree.Windows.Meant(name))
	if composed != name {
		if e := find(composed); e != nil {
			return e
		}
	}
	for _, other := range s.Here().forms[composed] {
		if e := find(other); e != nil {
			return e
		}
	}
	return nil
}

// addForm indexes a name that finds an entry.
func (s *nameSet) addForm(name string) {
	composed, c := names.Composed(name), s.Here()
	if composed == name || slices.Contains(c.forms[composed], name) {
		return
	}
	if c.forms == nil {
		c.forms = map[string][]string{}
	}
	c.forms[composed] = append(c.forms[composed], name)
}

// dropForm undoes addForm, unless the name still finds an entry.
func (s *nameSet) dropForm(name string) {
	composed, c := names.Composed(name), s.Here()
	if composed == name || c.Names.Get(name) != nil || s.plain(name) != nil || s.hidden[name] != nil {
		return
	}
	c.forms[composed] = slices.DeleteFunc(c.forms[composed], func(other string) bool { return other == name })
	if len(c.forms[composed]) == 0 {
		delete(c.forms, composed)
	}
}

// plain returns the first document with that plain name and another shown one. It may be hidden.
func (s *nameSet) plain(name string) *Entry {
	if list := s.Here().plain[name]; len(list) > 0 {
		return list[0]
	}
	return nil
}

// index indexes a document's entry by its current plain name.
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
	s.addForm(plain)
	if s.Here().plain == nil {
		s.Here().plain = map[string][]*Entry{}
	}
	list := s.Here().plain[plain]
	at, _ := slices.BinarySearchFunc(list, e.Doc.Load().ID, byID)
	s.Here().plain[plain] = slices.Insert(list, at, e)
}

// plainOf returns the second name that finds an entry, empty for none. In an inbox, where documents can
// be overwritten and removed, a document has one only if its shown name just adds an extension to it.
func (s *nameSet) plainOf(e *Entry) string {
	plain := names.Plain(e.Doc.Load())
	switch {
	case names.Ext(plain) != "", plain == e.Name:
	case s.dir.Tree.Working.File(plain) != names.Real: // programs create and remove such names freely
	case s.dir.Kind().Archives(), names.IsExtended(plain, e.Name):
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
	s.dropForm(e.plain)
	e.plain = ""
}

func byID(e *Entry, id archive.ID) int { return cmp.Compare(e.Doc.Load().ID, id) }

// Hide registers a document by its name without showing it.
func (s *nameSet) Hide(hidden *Entry) {
	if s.hidden == nil {
		s.hidden = map[string]*Entry{}
	}
	s.hidden[hidden.Name] = hidden
	s.addForm(hidden.Name)
	s.Here().Docs.Put(hidden.Doc.Load().ID, hidden)
	s.index(hidden)
}

// hides reports whether an entry is hidden.
func (s *nameSet) hides(e *Entry) bool { return s.hidden[e.Name] == e }

// Unhide shows a hidden document again, under its name or, if that is taken, under one with its id. It
// returns the entry.
func (s *nameSet) Unhide(hidden *Entry) *Entry {
	s.Drop(hidden)
	if s.Taken(hidden.Name) {
		hidden = hidden.Renamed(names.OfDocument(hidden.Doc.Load(), "", s.Taken))
	}
	s.Add(hidden)
	return hidden
}

// StepAside shows an entry under a numbered name, because another one gets its name, and returns it.
func (s *nameSet) StepAside(e *Entry) *Entry {
	s.Drop(e)
	aside := e.Renamed(names.Numbered(e.Name, func(name string) bool { return name == e.Name || s.Taken(name) }))
	s.Add(aside)
	return aside
}

// Hidden returns the hidden document of the name, or of one that looks the same; nil without one.
func (s *nameSet) Hidden(name string) *Entry { return s.inAnyForm(name, s.hiddenExact) }

func (s *nameSet) hiddenExact(name string) *Entry {
	if hidden := s.hidden[name]; hidden != nil {
		return hidden
	}
	if e := s.plain(name); e != nil && s.hides(e) {
		return e
	}
	return nil
}
