package fs

import (
	"context"
	"errors"
	"syscall"

	"github.com/archivefs/archivefs/cache"
)

// reading is a content that open handles of a file read. Its counts are guarded by mu of
// the file.
type reading struct {
	reader  *cache.Reader
	views   int // that hold the reader open
	readers int // those of them whose handle only reads
	// direct says that the kernel reads it itself. It never changes.
	direct bool
}

// docReader is what a handle reads of a document. The kernel has one set of pages and one
// length for an inode: so that it never mixes two contents, those who have a file open
// read the same one. Another one that the service has meanwhile is another file.
type docReader struct {
	*cache.Reader
	file   *readable
	of     *reading
	writes bool
	// former is what the same handle read before its file was written to: reads under way
	// may still use it.
	former *docReader
}

// Close gives the view back, and those before it. A nil view is none.
func (v *docReader) Close() error {
	if v == nil {
		return nil
	}
	f := v.file
	f.mu.Lock()
	v.of.views--
	if !v.writes {
		v.of.readers--
	}
	last := v.of.views == 0
	if last && f.reading == v.of {
		f.reading = nil
	}
	f.mu.Unlock()
	var err error
	if last {
		err = v.Reader.Close()
	}
	return errors.Join(err, v.former.Close())
}

// current reports whether the view is of what the file holds: not when it was written to
// through the mount since.
func (v *docReader) current() bool {
	v.file.mu.Lock()
	defer v.file.mu.Unlock()
	return v.file.reading == v.of && !v.file.rewrittenLocked()
}

// rewrittenLocked reports whether the file got other bytes here since its content was
// opened last. The caller holds mu.
func (f *readable) rewrittenLocked() bool { return f.up != nil || !f.sized }

// viewLocked is a further view of what the file's handles read. The caller holds mu.
func (f *readable) viewLocked(writes bool) *docReader {
	f.reading.views++
	if !writes {
		f.reading.readers++
	}
	return &docReader{Reader: f.reading.reader, file: f, of: f.reading, writes: writes}
}

// enter makes r what the file's handles read, or, when they read the same, gives it back
// and joins them. While they read another content it returns nil and r is the caller's.
// What a handle has read that may write does not count once the file was written to. It
// returns nil also when the kernel could read r itself (direct), and not this inode. same
// says that the kernel's pages are of this content.
func (f *readable) enter(r *cache.Reader, writes, direct bool) (v *docReader, same bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	same = f.content == r.Serial()
	switch now := f.reading; {
	case now != nil && now.reader.Serial() == r.Serial():
		_ = r.Close() // others have its file open
	case now != nil && (now.readers > 0 || !f.rewrittenLocked()):
		return nil, false
	case !f.wayLocked(r, direct):
		return nil, false
	default:
		f.reading = &reading{reader: r, direct: f.way == byKernel}
	}
	f.content, f.opened, f.sized = r.Serial(), r.Size(), true
	return f.viewLocked(writes), same
}

// openView opens the document's content for a handle that is being opened. While others
// read another content, or to have the kernel read it, the answer is ESTALE: the kernel then
// looks the name up again and finds the file that takes the place of this one.
func (f *readable) openView(ctx context.Context, a access) (v *docReader, same bool, err error) {
	if v, err := f.openFormer(a); v != nil || err != nil {
		return v, true, err
	}
	r, err := f.fetchContent(ctx)
	if err != nil {
		return nil, false, err
	}
	v, same = f.enter(r, a.write, f.direct(r, a))
	if v == nil {
		f.supersede(a.pid)
		return nil, false, errors.Join(syscall.ESTALE, r.Close())
	}
	return v, same, nil
}

// openContent opens what the file's handles read, else what the service has, for a handle
// that has been open, or for a copy.
func (f *readable) openContent(ctx context.Context) (*docReader, error) {
	if v := f.join(); v != nil {
		return v, nil
	}
	r, err := f.fetchContent(ctx)
	if err != nil {
		return nil, err
	}
	if v, same := f.enter(r, true, false); v != nil {
		if !same {
			f.doubtPages()
		}
		return v, nil
	}
	if v := f.join(); v != nil { // others were quicker
		return v, r.Close()
	}
	return &docReader{Reader: r, file: f, of: &reading{reader: r, views: 1}, writes: true}, nil
}

// join is a view of what the file's handles read, nil when that is nothing, or not what
// the file holds.
func (f *readable) join() *docReader {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.reading == nil || f.rewrittenLocked() {
		return nil
	}
	return f.viewLocked(true)
}

// doubtPages makes the kernel drop the file's pages when its document is opened next: they
// hold what was written, which the service may refuse.
func (f *readable) doubtPages() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.content = 0
}

// supersede puts a new file in the place of this one, with an inode of its own, which the
// next lookup finds. It has the same number: programs compare those before and after they
// open a file. Those who have this one open keep it. tid is the thread that is told so.
func (f *readable) supersede(tid uint32) {
	d, _ := f.place()
	if d != nil {
		d.mu.Lock()
		defer d.mu.Unlock()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.up != nil || f.dir != d {
		return
	}
	if d != nil {
		if now := f.entry.file.Load(); now != nil && &now.readable == f {
			f.entry.file.CompareAndSwap(now, newFile(f.fs, f.ino, d, f.entry, f.doc, nil))
		}
	}
	if f.superseded == nil {
		f.superseded = map[uint32]bool{}
	}
	f.superseded[tid] = true
}

// openFormer opens a file that another one has taken the place of; it returns nothing for
// any other. By its name the kernel finds the new one when it is answered ESTALE. A thread
// that comes again after that has this very file by a descriptor (/proc/self/fd): it gets
// what those read that have it open, as with a file that was replaced by rename(2). Nobody
// may begin to write to it.
func (f *readable) openFormer(a access) (*docReader, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch told := f.superseded; {
	case told == nil:
		return nil, nil
	case a.write || !told[a.pid]:
		told[a.pid] = true
		return nil, syscall.ESTALE
	default:
		delete(told, a.pid) // the next one may come by the name again
	}
	if f.reading == nil {
		return nil, nil
	}
	return f.viewLocked(false), nil
}
