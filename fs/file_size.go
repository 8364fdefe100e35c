package fs

import (
	"context"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/cache"
	"github.com/archivefs/archivefs/fs/internal/view"
)

// key is the content that stands for the document now.
func (f *readable) key() cache.Key {
	if f.as != nil {
		return f.as.Key
	}
	return cache.Key{Document: f.document().ID, Representation: f.fs.reps.Of(f.document().ID)}
}

// formerSize is the length of what a reader got before.
func (f *readable) formerSize() (size int64, ok bool) {
	if size, _, ok := f.openedSize(); ok {
		return size, true
	}
	return f.fs.content.Lookup(f.key())
}

// currentSize is the length of what a reader gets, where it is known without asking. What
// never changes keeps the length it was found to have. That of anything else is looked for
// anew when the content would be asked for again.
func (f *readable) currentSize() (size int64, ok bool) {
	if up := f.pending(); up != nil {
		return up.Size(), true
	}
	doc, key := f.document(), f.key()
	immutable := f.immutable(key.Representation)
	if size, open, ok := f.openedSize(); ok && (open || immutable) {
		return size, true
	}
	if size, ok := f.fs.content.Trusted(key, f.maxAge(key.Representation)); ok {
		return size, true
	}
	if immutable {
		if size, ok := f.fs.facts.Size(key); ok {
			return size, true
		}
	}
	if d, _ := f.place(); d != nil {
		if size, ok := d.lengths().Get(doc.ID); ok {
			return size, true
		}
	}
	return f.fs.lengths.Listed(doc, key.Representation)
}

// learnSize finds out the exact length of a document of which none is known, within bounds:
// content is never downloaded for it.
func (f *readable) learnSize(ctx context.Context) {
	if _, ok := f.currentSize(); ok {
		return
	}
	if d, _ := f.place(); d != nil {
		d.lengths().Learn(ctx, f.document().ID, shownEntries(d.entries()))
	}
}

// lengths is what is learned of the directory's documents. Most directories have none.
func (d *dir) lengths() *view.FolderLengths {
	if d.learned.Load() == nil {
		d.learned.CompareAndSwap(nil, d.fs.lengths.Folder(d.kind.archives()))
	}
	return d.learned.Load()
}

// shownEntries is what a directory shows, in the order of the names.
type shownEntries []*entry

func (l shownEntries) Len() int                         { return len(l) }
func (l shownEntries) Document(i int) *archive.Document { return l[i].doc.Load() }

// openedSize is the length that the last open found out; open says that its content is
// still being read.
func (f *readable) openedSize() (size int64, open, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.opened, f.reading != nil, f.sized
}

// tell notes the length that the kernel is told, and reports whether it was told another
// one before.
func (f *readable) tell(size int64) (other bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	other, f.told = f.told != size, size
	return other
}
