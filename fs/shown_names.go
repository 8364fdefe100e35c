package fs

import (
	"cmp"
	"slices"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/fs/internal/names"
)

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
		s.folders.put(e.dir.id(), e)
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
	if e.dir != nil && e.dir.kind != localDir && s.folders.get(e.dir.id()) == e {
		s.folders.remove(e.dir.id())
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
	s.changed = s.dir.fs.now()
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
