package tree

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/fs/internal/inode"
	"github.com/archivefs/archivefs/internal/spool"
)

// Leaf is a file as its directory knows it: where it is shown, and what it stands for.
type Leaf struct {
	Tree *Tree
	Ino  uint64
	// Holder is the file of the layers above that embeds the leaf. It never changes.
	Holder any

	Mu sync.Mutex
	// Dir shows the file as Entry; nil when no directory shows it any more.
	Dir   *Dir   // +checklocks:Mu
	Entry *Entry // +checklocks:Mu
	// Doc is nil until the archive has the file.
	Doc *archive.Document // +checklocks:Mu
	// Up holds the file's bytes while they are in the spool, else nil.
	Up *spool.Upload // +checklocks:Mu
	// gen is the generation of the inode, 0 before the first call of Generation.
	gen uint64 // +checklocks:Mu
}

// Pending returns the file's bytes in the spool, nil when there are none.
func (f *Leaf) Pending() *spool.Upload {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	return f.Up
}

// Generation returns the generation of the file's inode.
func (f *Leaf) Generation() uint64 {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	if f.gen == 0 {
		f.gen = f.Tree.Inodes.Generation()
	}
	return f.gen
}

// Document returns the document, nil when the archive does not have the file.
func (f *Leaf) Document() *archive.Document {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	return f.Doc
}

// SetDocument makes doc what the file stands for.
func (f *Leaf) SetDocument(doc *archive.Document) {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	f.Doc = doc
}

func (f *Leaf) setEntry(e *Entry) {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	f.Entry = e
}

// Place returns where the file is shown; dir is nil when nowhere.
func (f *Leaf) Place() (d *Dir, name string) {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	if f.Dir == nil {
		return nil, ""
	}
	return f.Dir, f.Entry.Name
}

// Path returns where the file is or was shown, for messages.
func (f *Leaf) Path() string {
	if d, name := f.Place(); d != nil {
		return d.PathOf(name)
	}
	if up := f.Pending(); up != nil {
		r := up.Record()
		return r.Path + "/" + r.Name
	}
	return "(removed)"
}

// NumberedByIDLocked reports whether the inode number follows from the document's id. That of a file
// created here does not, and must stay: programs compare it before and after they open a file.
// +checklocks:f.Mu
func (f *Leaf) NumberedByIDLocked() bool {
	ino, ok := inode.OfDocument(f.Doc.ID)
	return ok && ino == f.Ino
}

// Number returns the inode number.
func (f *Leaf) Number() uint64 { return f.Ino }

// lease records until when the kernel may use cached names of a directory.
type lease struct{ until atomic.Int64 } // nanoseconds since clock

// clock is the origin of leases. They follow the kernel's clock, not Options.Now.
var clock = time.Now()

// Extend notes that the kernel may cache a name for validity.
func (l *lease) Extend(validity time.Duration) {
	until := int64(time.Since(clock) + validity)
	for {
		before := l.until.Load()
		if before >= until || l.until.CompareAndSwap(before, until) {
			return
		}
	}
}

// Left returns for how much longer the kernel may hold what was leased, 0 if it does not.
func (l *lease) Left() time.Duration {
	return max(0, time.Duration(l.until.Load())-time.Since(clock))
}

// Runs reports whether the kernel may hold unexpired names of the directory.
func (l *lease) Runs() bool { return l.Left() > 0 }

// End notes that the kernel holds nothing any more, and reports whether it may have held something.
func (l *lease) End() bool { return l.until.Swap(0) > int64(time.Since(clock)) }

// ExtendTo notes that names, with their timeouts, move to another directory.
func (l *lease) ExtendTo(to *lease) {
	if left := l.Left(); left > 0 {
		to.Extend(left)
	}
}
