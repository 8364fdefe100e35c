package fs

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

// nameSet is which names a directory shows, and for what: folders and documents under their own names,
// names that tell two of them apart, plain names beside those with an extension, and names that are set
// aside. Everything in it is guarded by mu of the directory, which the callers of its methods hold.
type nameSet struct {
	dir     *dir
	held    contents          // without documents while they are folded: reached by here
	origin  *origin           // where the documents come from, if they can be folded
	folders idIndex           // by the ids of folders
	aside   map[string]*entry // documents of docs that are not shown, by name
	changed time.Time         // when the names changed last
	version uint64            // how often they changed
}

// contents are the entries of a directory. They are reached by nameSet.here.
type contents struct {
	names nameIndex
	docs  idIndex
	plain map[string][]*entry // documents of docs by plain name where that is not shown, by ascending id
}

// here are the entries, unfolded.
func (s *nameSet) here() *contents {
	if s.isFolded() {
		s.unfold(s.origin)
	}
	return &s.held
}

func (s *nameSet) isFolded() bool { return s.origin != nil && s.origin.folded }

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
	s.dir.tree.expanded(len(l.docs))
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

// Most folders have few entries, for which a map costs several times what they need: so ids
// are found in a sorted slice, and names as well up to smallIndex of them.

// idIndex finds entries by the id of their folder or document. The zero value is empty.
type idIndex struct{ list []idEntry } // by ascending id

type idEntry struct {
	id    archive.ID
	entry *entry
}

func (x *idIndex) find(id archive.ID) (int, bool) {
	if n := len(x.list); n > 0 && x.list[n-1].id < id {
		return n, false // what is new has the highest id
	}
	return slices.BinarySearchFunc(x.list, id, func(e idEntry, id archive.ID) int { return cmp.Compare(e.id, id) })
}

// get returns the entry of an id, nil without one.
func (x *idIndex) get(id archive.ID) *entry {
	if at, ok := x.find(id); ok {
		return x.list[at].entry
	}
	return nil
}

// put makes e the entry of the id.
func (x *idIndex) put(id archive.ID, e *entry) {
	at, ok := x.find(id)
	if ok {
		x.list[at].entry = e
		return
	}
	x.list = slices.Insert(x.list, at, idEntry{id, e})
}

// remove takes out an id.
func (x *idIndex) remove(id archive.ID) {
	if at, ok := x.find(id); ok {
		x.list = slices.Delete(x.list, at, at+1)
	}
}

// reserve makes room for so many entries more, at once and no more than that.
func (x *idIndex) reserve(n int) {
	if cap(x.list)-len(x.list) < n {
		x.list = append(make([]idEntry, 0, len(x.list)+n), x.list...)
	}
}

// ids is the set of them.
func (x *idIndex) ids() map[archive.ID]bool {
	ids := make(map[archive.ID]bool, len(x.list))
	for _, e := range x.list {
		ids[e.id] = true
	}
	return ids
}

// smallIndex is how many names are found without a map.
const smallIndex = 64

// nameIndex finds entries by their name. The zero value is empty.
type nameIndex struct {
	// sorted are the entries in the order of their names: all of them without a map, else
	// nil when it must be made anew.
	sorted []*entry
	// lent says that sorted was handed out, so that it is not written to any more.
	lent  bool
	names map[string]*entry
}

func (x *nameIndex) find(name string) (int, bool) {
	return findName(x.sorted, name)
}

// findName finds a name in entries in the order of their names.
func findName(sorted []*entry, name string) (int, bool) {
	return slices.BinarySearchFunc(sorted, name, func(e *entry, name string) int { return strings.Compare(e.name, name) })
}

// get returns the entry of a name, nil without one.
func (x *nameIndex) get(name string) *entry {
	if x.names != nil {
		return x.names[name]
	}
	if at, ok := x.find(name); ok {
		return x.sorted[at]
	}
	return nil
}

// put makes e the entry of its name.
func (x *nameIndex) put(e *entry) {
	if x.names != nil {
		x.names[e.name] = e
		x.sorted = nil
		return
	}
	x.own(1)
	at, ok := x.find(e.name)
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
	x.names = make(map[string]*entry, n)
	for _, e := range x.sorted {
		x.names[e.name] = e
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
		x.sorted, x.lent = append(make([]*entry, 0, len(x.sorted)+n), x.sorted...), false
	}
}

// fill makes these the entries, which no others were before. It keeps the slice.
func (x *nameIndex) fill(entries []*entry) {
	*x = nameIndex{sorted: entries}
	if len(entries) > smallIndex {
		x.grow(len(entries))
		return
	}
	slices.SortFunc(x.sorted, func(a, b *entry) int { return strings.Compare(a.name, b.name) })
}

// reserve makes room for so many names more, at once and no more than that.
func (x *nameIndex) reserve(n int) {
	switch {
	case x.names != nil:
	case len(x.sorted)+n > smallIndex:
		x.grow(len(x.sorted) + n)
	case cap(x.sorted)-len(x.sorted) < n:
		x.sorted, x.lent = append(make([]*entry, 0, len(x.sorted)+n), x.sorted...), false
	}
}

// all returns the entries in the order of their names. The slice is never written to.
func (x *nameIndex) all() []*entry {
	if x.names == nil {
		x.lent = true
		return x.sorted
	}
	if x.sorted == nil {
		x.sorted = make([]*entry, 0, len(x.names))
		for _, e := range x.names {
			x.sorted = append(x.sorted, e)
		}
		slices.SortFunc(x.sorted, func(a, b *entry) int { return strings.Compare(a.name, b.name) })
	}
	return x.sorted
}

// get returns what a name is shown for, nil when the directory does not have it as far as is known.
func (s *nameSet) get(name string) *entry {
	if e := s.held.names.get(name); e != nil {
		return e // a directory, for which nothing is unfolded
	}
	return s.here().names.get(name)
}

// all returns the entries in the order of their names. The slice is shared: it is never written to.
func (s *nameSet) all() []*entry { return s.here().names.all() }

// document returns the entry of a document, shown or set aside, nil without one.
func (s *nameSet) document(id archive.ID) *entry { return s.here().docs.get(id) }

// documents returns the entries of all documents by ascending id.
func (s *nameSet) documents() []idEntry { return s.here().docs.list }

// taken reports whether a name is used.
func (s *nameSet) taken(name string) bool {
	return s.here().names.get(name) != nil || s.dir.kind == rootDir && (name == inboxesName || name == controlName)
}

// add puts an entry under its name.
func (s *nameSet) add(e *entry) {
	s.here().names.put(e)
	if e.dir != nil && e.dir.kind != localDir {
		s.folders.put(e.dir.ID(), e)
	}
	if doc := e.doc.Load(); doc != nil {
		s.here().docs.put(doc.ID, e)
		s.index(e)
	}
	s.touch()
}

// drop takes an entry out.
func (s *nameSet) drop(e *entry) {
	if s.here().names.get(e.name) == e {
		s.here().names.remove(e.name)
	}
	if e.dir != nil && e.dir.kind != localDir && s.folders.get(e.dir.ID()) == e {
		s.folders.remove(e.dir.ID())
	}
	if doc := e.doc.Load(); doc != nil && s.here().docs.get(doc.ID) == e {
		s.here().docs.remove(doc.ID)
	}
	s.unindex(e)
	if s.aside[e.name] == e {
		delete(s.aside, e.name)
	}
	s.touch()
}

func (s *nameSet) touch() {
	s.changed = s.dir.tree.service.Now()
	s.version++
}

// A document that is shown with an extension which it does not have is reached under its
// plain name as well, unless something is shown under that: who puts the same files in
// again (rsync -a) after a fresh mount finds what is archived. It is listed once. In an
// index, because programs ask for many names that are not there.

// reach is reach. Of several documents of one plain name it is the first; while that
// is set aside its name is nobody else's.
func (s *nameSet) reach(name string) *entry {
	if e := s.here().names.get(name); e != nil {
		return e
	}
	if e := s.plain(name); e != nil && !s.hides(e) {
		return e
	}
	return nil
}

// plain returns the first document that has the plain name and is shown under another
// one, set aside or not.
func (s *nameSet) plain(name string) *entry {
	if list := s.here().plain[name]; len(list) > 0 {
		return list[0]
	}
	return nil
}

// index makes a document's entry found by its plain name as it is now.
func (s *nameSet) index(e *entry) {
	plain := s.plainOf(e)
	if plain == e.plain {
		return
	}
	s.unindex(e)
	if plain == "" {
		return
	}
	e.plain = plain
	if s.here().plain == nil {
		s.here().plain = map[string][]*entry{}
	}
	list := s.here().plain[plain]
	at, _ := slices.BinarySearchFunc(list, e.doc.Load().ID, byID)
	s.here().plain[plain] = slices.Insert(list, at, e)
}

// plainOf is the name under which an entry is found beside its own, empty for none. In an
// inbox, where documents can be overwritten and removed, a name never falls to a document
// that was told apart from the one which had it.
func (s *nameSet) plainOf(e *entry) string {
	plain := names.Plain(e.doc.Load())
	switch {
	case names.Ext(plain) != "", plain == e.name:
	case names.IsJunk(plain): // programs make and remove such names as they like
	case s.dir.kind.archives(), names.IsExtended(plain, e.name):
		return plain
	}
	return ""
}

// unindex undoes index.
func (s *nameSet) unindex(e *entry) {
	if e.plain == "" {
		return
	}
	list := slices.DeleteFunc(s.here().plain[e.plain], func(other *entry) bool { return other == e })
	if len(list) == 0 {
		delete(s.here().plain, e.plain)
	} else {
		s.here().plain[e.plain] = list
	}
	e.plain = ""
}

func byID(e *entry, id archive.ID) int { return cmp.Compare(e.doc.Load().ID, id) }

// hide keeps a document in mind that is set aside, under its name.
func (s *nameSet) hide(hidden *entry) {
	if s.aside == nil {
		s.aside = map[string]*entry{}
	}
	s.aside[hidden.name] = hidden
	s.here().docs.put(hidden.doc.Load().ID, hidden)
	s.index(hidden)
}

// hides reports whether an entry is set aside.
func (s *nameSet) hides(e *entry) bool { return s.aside[e.name] == e }

// unhide shows a document again that was set aside, under its name or, where that is
// taken, under one told apart by its id.
func (s *nameSet) unhide(hidden *entry) *entry {
	s.drop(hidden)
	if s.taken(hidden.name) {
		hidden = hidden.renamed(names.OfDocument(hidden.doc.Load(), "", s.taken))
	}
	s.add(hidden)
	return hidden
}

// hidden returns the document of the name that is set aside, nil without one.
func (s *nameSet) hidden(name string) *entry {
	if hidden := s.aside[name]; hidden != nil {
		return hidden
	}
	if e := s.plain(name); e != nil && s.hides(e) {
		return e
	}
	return nil
}
