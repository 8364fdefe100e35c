package fs

import (
	"cmp"
	"slices"
	"strings"

	"github.com/archivefs/archivefs/archive"
)

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
