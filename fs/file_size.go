package fs

import (
	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/cache"
)

// sizePerPage is a generous guess at the bytes of a page (a colour scan), for a document
// whose length nobody told: too much is corrected by open, too little would cut it off.
const sizePerPage = 2 << 20

func estimate(doc *archive.Document) int64 {
	return int64(max(doc.Pages, 1)+1) * sizePerPage
}

// key is the content that stands for the document now.
func (f *file) key() cache.Key {
	if f.as != nil {
		return f.as.Key
	}
	return cache.Key{Document: f.document().ID, Representation: f.fs.representation(f.document().ID)}
}

// formerSize is the length of what a reader got before.
func (f *file) formerSize() (size int64, ok bool) {
	if size, _, ok := f.openedSize(); ok {
		return size, true
	}
	return f.fs.content.Lookup(f.key())
}

// currentSize is the length of what a reader gets, where it is known without asking. What
// never changes keeps the length it was found to have. That of anything else is looked for
// anew when the content would be asked for again.
func (f *file) currentSize() (size int64, ok bool) {
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
		if size, ok := d.sizes().get(doc.ID, &f.fs.heads); ok {
			return size, true
		}
	}
	if f.fs.settled() && key.Representation == archive.Original && doc.Size != archive.SizeUnknown {
		return doc.Size, true
	}
	return 0, false
}

// openedSize is the length that the last open found out; open says that its content is
// still being read.
func (f *file) openedSize() (size int64, open, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.opened, f.reading != nil, f.sized
}

// tell notes the length that the kernel is told, and reports whether it was told another
// one before.
func (f *file) tell(size int64) (other bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	other, f.told = f.told != size, size
	return other
}
