package disk

import (
	"slices"
	"syscall"
)

// change is what one call does to the entries of directories: all of it or nothing.
type change struct{ edits []edit }

// edit gives a name in a directory to an inode, or to none.
type edit struct {
	dir  *inode
	name string
	to   *inode // nil: the name goes
}

// touches reports whether the change is of entries of dir.
func (c *change) touches(dir *inode) bool {
	return slices.ContainsFunc(c.edits, func(e edit) bool { return e.dir == dir })
}

// set carries an edit out on a view of the directories.
func (e edit) set(names map[string]*inode) {
	if e.to == nil {
		delete(names, e.name)
		return
	}
	names[e.name] = e.to
}

// place is a name in a directory; the zero value is none.
type place struct {
	dir  *inode
	name string
}

// leave takes the name away from n if it is still its name on the medium.
func (p place) leave(n *inode) {
	if p.dir != nil && p.dir.kept[p.name] == n {
		delete(p.dir.kept, p.name)
	}
}

// applyLocked shows a change to programs; it is durable later. The caller holds mu.
func (d *Disk) applyLocked(edits ...edit) {
	for _, e := range edits {
		e.set(e.dir.names)
		if e.to != nil {
			e.to.name = e.name
		}
	}
	d.changes = append(d.changes, &change{edits})
}

// keepLocked makes a change durable, and takes back what older changes, which are not
// durable, would make of the same names: their time is over. So is that of the other name of a
// directory, which never has two. The caller holds mu.
func (d *Disk) keepLocked(c *change) {
	at := slices.Index(d.changes, c)
	for _, e := range c.edits {
		if e.to != nil && e.to.dir {
			e.to.place.leave(e.to)
			e.to.place = place{e.dir, e.name}
		}
		e.set(e.dir.kept)
		for _, older := range d.changes[:at] {
			older.edits = slices.DeleteFunc(older.edits, func(o edit) bool {
				return o.dir == e.dir && o.name == e.name || o.to != nil && o.to == e.to && o.to.dir
			})
		}
	}
	d.changes = slices.Delete(d.changes, at, at+1)
}

// make adds a file or directory. An entry that is there is an error.
func (d *Disk) make(dir *inode, name string, isDir bool, perm uint32) (*inode, syscall.Errno) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if dir.names[name] != nil {
		return nil, syscall.EEXIST
	}
	if errno := d.strikeLocked(Make, name); errno != 0 {
		return nil, errno
	}
	n := d.newInodeLocked(isDir, perm)
	d.applyLocked(edit{dir, name, n})
	return n, 0
}

// link gives a file one more name. An entry that is there is an error.
func (d *Disk) link(dir *inode, name string, to *inode) syscall.Errno {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case to.dir:
		return syscall.EPERM
	case dir.names[name] != nil:
		return syscall.EEXIST
	}
	if errno := d.strikeLocked(Make, name); errno != 0 {
		return errno
	}
	d.applyLocked(edit{dir, name, to})
	return 0
}

// remove takes a name away. Who has the file open keeps it until a crash.
func (d *Disk) remove(dir *inode, name string, isDir bool) syscall.Errno {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := dir.names[name]
	switch {
	case n == nil:
		return syscall.ENOENT
	case n.dir && !isDir:
		return syscall.EISDIR
	case !n.dir && isDir:
		return syscall.ENOTDIR
	case len(n.names) > 0:
		return syscall.ENOTEMPTY
	}
	if errno := d.strikeLocked(Remove, name); errno != 0 {
		return errno
	}
	d.applyLocked(edit{dir, name, nil})
	return 0
}

// rename gives an inode another name, replacing a file that has it.
func (d *Disk) rename(from *inode, name string, to *inode, newName string) syscall.Errno {
	d.mu.Lock()
	defer d.mu.Unlock()
	n, old := from.names[name], to.names[newName]
	switch {
	case n == nil:
		return syscall.ENOENT
	case n == old:
		return 0
	case old != nil && old.dir:
		return syscall.EEXIST
	}
	if errno := d.strikeLocked(Rename, newName); errno != 0 {
		return errno
	}
	d.applyLocked(edit{from, name, nil}, edit{to, newName, n})
	return 0
}

// syncDir makes the entries of a directory durable. When it fails by plan none of them is;
// a later sync may succeed.
func (d *Disk) syncDir(dir *inode) syscall.Errno {
	d.mu.Lock()
	defer d.mu.Unlock()
	if errno := d.strikeLocked(SyncDir, dir.name); errno != 0 {
		return errno
	}
	for _, c := range slices.Clone(d.changes) {
		if c.touches(dir) {
			d.keepLocked(c)
		}
	}
	return 0
}
