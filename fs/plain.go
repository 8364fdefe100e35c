package fs

import (
	"cmp"
	"slices"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/fs/internal/names"
)

// A document that is shown with an extension which it does not have is reached under its
// plain name as well, unless something is shown under that: who puts the same files in
// again (rsync -a) after a fresh mount finds what is archived. It is listed once. In an
// index, because programs ask for many names that are not there.

// reachLocked is reach. Of several documents of one plain name it is the first; while that
// is set aside its name is nobody else's. The caller holds mu.
func (d *dir) reachLocked(name string) *entry {
	if e := d.here().names.get(name); e != nil {
		return e
	}
	if e := d.plainLocked(name); e != nil && d.aside[e.name] != e {
		return e
	}
	return nil
}

// plainLocked returns the first document that has the plain name and is shown under another
// one, set aside or not. The caller holds mu.
func (d *dir) plainLocked(name string) *entry {
	if list := d.here().plain[name]; len(list) > 0 {
		return list[0]
	}
	return nil
}

// indexLocked makes a document's entry found by its plain name as it is now. The caller
// holds mu.
func (d *dir) indexLocked(e *entry) {
	plain := d.plainOf(e)
	if plain == e.plain {
		return
	}
	d.unindexLocked(e)
	if plain == "" {
		return
	}
	e.plain = plain
	if d.here().plain == nil {
		d.here().plain = map[string][]*entry{}
	}
	list := d.here().plain[plain]
	at, _ := slices.BinarySearchFunc(list, e.doc.Load().ID, byID)
	d.here().plain[plain] = slices.Insert(list, at, e)
}

// plainOf is the name under which an entry is found beside its own, empty for none. In an
// inbox, where documents can be overwritten and removed, a name never falls to a document
// that was told apart from the one which had it.
func (d *dir) plainOf(e *entry) string {
	plain := names.Plain(e.doc.Load())
	switch {
	case names.Ext(plain) != "", plain == e.name:
	case names.IsJunk(plain): // programs make and remove such names as they like
	case d.kind.archives(), names.IsExtended(plain, e.name):
		return plain
	}
	return ""
}

// namesLocked are the names under which an entry is found, for the kernel to ask again. The
// caller holds mu of the directory.
func (e *entry) namesLocked() []string {
	if e.plain == "" {
		return []string{e.name}
	}
	return []string{e.name, e.plain}
}

// forgetShown makes the kernel forget the name that an entry was shown under when it went
// under another one that it is found by.
func (d *dir) forgetShown(e *entry, used string) {
	if e.name != used {
		d.fs.forgetNames(d, []string{e.name})
	}
}

// unindexLocked undoes indexLocked. The caller holds mu.
func (d *dir) unindexLocked(e *entry) {
	if e.plain == "" {
		return
	}
	list := slices.DeleteFunc(d.here().plain[e.plain], func(other *entry) bool { return other == e })
	if len(list) == 0 {
		delete(d.here().plain, e.plain)
	} else {
		d.here().plain[e.plain] = list
	}
	e.plain = ""
}

func byID(e *entry, id archive.ID) int { return cmp.Compare(e.doc.Load().ID, id) }
