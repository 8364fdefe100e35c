package fs

import (
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/archivefs/archivefs/fs/internal/names"
	"github.com/archivefs/archivefs/fs/internal/view"
)

// keepSize is how long the kernel may trust the attributes of a document whose exact
// length is known: it never changes.
const keepSize = time.Hour

const blockSize = 512 // unit of st_blocks (stat(2))

// kernel is what the kernel is told of files and directories, and for how long it may trust that.
type kernel struct{ fs *FileSystem }

// fill writes a file's attributes and returns how long they may be trusted.
func (k *kernel) fill(f *file, out *fuse.Attr) time.Duration {
	out.Ino = f.ino
	out.Mode = fuse.S_IFREG | 0o666&^k.fs.opts.Umask
	k.fillOwner(out)
	fillTime(out, f.modified())
	out.Blksize = 4096
	switch exact := k.fillSize(f, out); {
	case !exact, f.pending() != nil:
		return 0
	case f.immutable(f.key().Representation):
		return keepSize
	}
	d, _ := f.place()
	if _, open, _ := f.openedSize(); open || d == nil {
		return 0 // its length may be another one when the last reader has gone
	}
	return k.validFor(d)
}

// fillSize writes the length and reports whether it is exact: else it is the one of before
// or, with no blocks, an estimate.
func (k *kernel) fillSize(f *file, out *fuse.Attr) (exact bool) {
	size, exact := f.currentSize()
	known := exact
	if !known {
		size, known = f.formerSize()
	}
	if !known {
		size = view.Estimate(f.document())
	}
	f.tell(size)
	out.Size = uint64(max(size, 0))
	if known {
		out.Blocks = (out.Size + blockSize - 1) / blockSize
	}
	return exact
}

// fillDir writes a directory's attributes.
func (k *kernel) fillDir(d *dir, out *fuse.Attr) {
	out.Ino = d.ino
	out.Mode = fuse.S_IFDIR | 0o777&^k.fs.opts.Umask
	k.fillOwner(out)
	d.mu.Lock()
	changed := d.shown.changed
	d.mu.Unlock()
	fillTime(out, changed)
	out.Blksize = 4096
}

func (k *kernel) fillOwner(out *fuse.Attr) {
	out.Nlink = 1
	out.Uid, out.Gid = k.fs.opts.UID, k.fs.opts.GID
}

func fillTime(out *fuse.Attr, t time.Time) {
	out.SetTimes(&t, &t, &t)
}

// fillEntry writes the answer to a lookup of e in d: attributes, and how long they and
// the name may be trusted.
func (k *kernel) fillEntry(d *dir, e *entry, out *fuse.EntryOut) {
	if e.dir != nil {
		k.fillDir(e.dir, &out.Attr)
		out.SetEntryTimeout(k.lendName(d, e))
		out.SetAttrTimeout(k.foldersValidFor(d))
		return
	}
	f := d.fileOf(e)
	out.SetAttrTimeout(k.fill(f, &out.Attr))
	if f.pending() == nil { // else the name may go with a failed close
		out.SetEntryTimeout(k.lendName(d, e))
	}
}

// lendName is how long the kernel may keep the name of e, which is noted; 0 when it has become
// another one's, or nobody's, by now.
func (k *kernel) lendName(d *dir, e *entry) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.shown.held.names.get(e.name) != e {
		return 0
	}
	validity := k.validForLocked(d)
	if e.dir != nil {
		validity = k.foldersValidForLocked(d)
	}
	d.lease.extend(validity)
	return validity
}

// lendAbsence is how long the kernel may remember that the directory does not have a name, which
// is noted. Names that desktops ask for all the time are remembered whatever is known.
func (k *kernel) lendAbsence(d *dir, name string) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.shown.reach(name) != nil {
		return 0
	}
	validity := k.validForLocked(d)
	if names.IsJunk(name) {
		validity = min(k.fs.opts.TTL, kernelTrust)
	}
	d.lease.extend(validity)
	return validity
}
