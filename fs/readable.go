package fs

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/cache"
	"github.com/archivefs/archivefs/fs/internal/control"
	"github.com/archivefs/archivefs/fs/internal/errno"
	"github.com/archivefs/archivefs/fs/internal/prefetch"
	"github.com/archivefs/archivefs/fs/internal/tree"
)

// contentConfig configures contents. The functions return at once.
type contentConfig struct {
	content *cache.Content
	facts   *cache.Facts
	errnos  *errno.Log
	// thumbnails lets file managers have documents downloaded to make thumbnails of them.
	thumbnails bool
	// reads reports whether the kernel reads a file of the cache itself.
	reads func(*os.File) bool
	// dataChanged says that what is cached of a document's data is no longer right.
	dataChanged func(doc archive.ID)
	// walks and readAhead prefetch listings and contents.
	walks     *prefetch.Walks
	readAhead *prefetch.ReadAhead
}

// contents is what files read: the cache, what fills it, and the tree that they stand in.
type contents struct {
	*tree.Tree
	contentConfig
}

// readable is a file as those who read it know it. Its fields are guarded by mu of the leaf.
type readable struct {
	tree.Leaf
	fs *contents
	// as is what the file holds of its document, in the control directory; nil for what
	// stands for it. It never changes.
	as *control.Rendition
	// content is the serial of the content that the kernel may have pages of, 0 when that is
	// not known.
	content uint64
	// opened is the exact length that the last open found out; sized says that there is one.
	opened int64
	sized  bool
	// told is the length that the kernel was told last.
	told int64
	// reading is the content that open handles read, nil while none does.
	reading *reading
	// handles counts open handles that read through us, or write.
	handles int
	// way is how the handles are read.
	way way
	// opening counts who is about to open it, dropping is closed when the kernel has dropped its
	// pages, nil while it does not.
	opening  int
	dropping chan struct{}
	// superseded is nil until another file takes the place of this one; then it holds the
	// threads that were told so.
	superseded map[uint32]bool
}

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

// forgetData drops the cached document data, in which attributes stand, too.
func (f *readable) forgetData(doc archive.ID) {
	key := cache.Key{Document: doc, Representation: archive.Data}
	f.fs.content.Remove(key)
	f.fs.facts.Forget(key)
	f.fs.dataChanged(doc)
	if f.fs.Reps.Of(doc) != archive.Data {
		return
	}
	f.Mu.Lock()
	defer f.Mu.Unlock()
	f.sized = false
}

// key is the content that stands for the document now.
func (f *readable) key() cache.Key {
	if f.as != nil {
		return f.as.Key
	}
	return cache.Key{Document: f.Document().ID, Representation: f.fs.Reps.Of(f.Document().ID)}
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
	if up := f.Pending(); up != nil {
		return up.Size(), true
	}
	doc, key := f.Document(), f.key()
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
	if d, _ := f.Place(); d != nil {
		if size, ok := d.Lengths().Get(doc.ID); ok {
			return size, true
		}
	}
	return f.fs.Lengths.Listed(doc, key.Representation)
}

// learnSize finds out the exact length of a document of which none is known, within bounds:
// content is never downloaded for it.
func (f *readable) learnSize(ctx context.Context) {
	if _, ok := f.currentSize(); ok {
		return
	}
	if d, _ := f.Place(); d != nil {
		d.Lengths().Learn(ctx, f.Document().ID, shownEntries(d.Entries()))
	}
}

// shownEntries is what a directory shows, in the order of the names.
type shownEntries []*tree.Entry

func (l shownEntries) Len() int { return len(l) }

func (l shownEntries) Document(i int) *archive.Document { return l[i].Doc.Load() }

// openedSize is the length that the last open found out; open says that its content is
// still being read.
func (f *readable) openedSize() (size int64, open, ok bool) {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	return f.opened, f.reading != nil, f.sized
}

// tell notes the length that the kernel is told, and reports whether it was told another
// one before.
func (f *readable) tell(size int64) (other bool) {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	other, f.told = f.told != size, size
	return other
}

// A large document that is complete in the cache is read by the kernel itself, from the
// cached file (FUSE passthrough: Linux 6.9, CAP_SYS_ADMIN). Where that does not work it is
// read through us like any other.
//
// The kernel answers EIO to an open unless all handles of an inode are read in the same way,
// from the same file, and the library counts them by inode, too. So an inode comes to be
// read by the kernel only with its very first handle, and is so as long as its handles read
// that one file. One that was read through us, as while it was downloaded, stays so; when
// nobody has it open any more another inode takes its place (supersede). What can be written
// is always read through us.

// minDirect is from which length in bytes on that gains more than it costs at the open.
const minDirect = 1 << 20

// way is how the handles of an inode are read.
type way uint8

const (
	undecided way = iota // it was never open
	throughUs
	byKernel
)

// access is how a file is opened.
type access struct {
	pid                      uint32 // of the thread that opens it, as callerPID tells it
	write, truncate, appends bool
	maps                     bool // for reading and writing
}

// direct reports whether the kernel could read r by itself for a handle that is being
// opened.
func (f *readable) direct(r *cache.Reader, a access) bool {
	if a.write || r.Size() < minDirect || !f.immutable(r.Key().Representation) {
		return false
	}
	file := r.Growing()
	return file != nil && f.fs.reads(file) && r.File() != nil
}

// wayLocked decides how the first handle of those that are open reads r, which the kernel
// could read if direct says so. false means that another file is to take the place of this
// one. The caller holds mu.
func (f *readable) wayLocked(r *cache.Reader, direct bool) bool {
	direct = direct && f.handles == 0
	switch {
	case direct && f.way == throughUs && f.superseded == nil && f.Up == nil && f.Dir != nil:
		return false
	case direct && f.way == undecided, direct && f.way == byKernel && f.content == r.Serial():
		f.way = byKernel
	default:
		f.way = throughUs
	}
	return true
}

// outlived reports whether the next to open the file, which the kernel could read by itself, gets
// another inode (wayLocked), so that nobody will use the pages of this one, and nobody has it
// open. Nobody can then open it before done is called.
func (f *readable) outlived() (done func(), ok bool) {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	if f.reading != nil || f.handles > 0 || f.opening > 0 || f.dropping != nil ||
		f.way != throughUs || f.superseded != nil || f.Up != nil || f.Dir == nil {
		return nil, false
	}
	dropping := make(chan struct{})
	f.dropping = dropping
	return func() {
		f.Mu.Lock()
		defer f.Mu.Unlock()
		f.dropping = nil
		close(dropping)
	}, true
}

// enterOpen begins to open the file, not while its pages are dropped, and leave ends that.
func (f *readable) enterOpen() (leave func()) {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	for f.dropping != nil {
		dropping := f.dropping
		f.Mu.Unlock()
		<-dropping
		f.Mu.Lock()
	}
	f.opening++
	return func() {
		f.Mu.Lock()
		defer f.Mu.Unlock()
		f.opening--
	}
}

// readNext prefetches the documents after f, which is about to be opened for reading.
func (f *readable) readNext(pid uint32) {
	d, name := f.Place()
	if d == nil || !f.fs.Reps.Settled() {
		return
	}
	key := f.key()
	if key.Representation == archive.Data {
		return
	}
	_, cached := f.fs.content.Trusted(key, f.maxAge(key.Representation))
	n := f.fs.readAhead.Opening(pid, walked{d, f.fs}, key.Document, cached)
	if n <= 0 {
		return
	}
	for _, e := range after(d.Entries(), name) {
		if n > 0 && (walked{d, f.fs}).fetch(e) {
			n--
		}
	}
}

// fetchWhole returns when the cache has all of the content.
func (f *readable) fetchWhole(ctx context.Context, key cache.Key) error {
	r, err := f.openAs(ctx, key.Document, key.Representation)
	if err != nil {
		return err
	}
	err = r.Wait(ctx)
	_ = r.Close() // nothing was read
	return err
}

// fetchContent opens the document's content in the representation that the service has.
// It returns when the exact length is known.
func (f *readable) fetchContent(ctx context.Context) (*cache.Reader, error) {
	if f.as != nil {
		return f.openAs(ctx, f.as.Key.Document, f.as.Key.Representation)
	}
	doc := f.Document().ID
	order := f.fs.Reps.Order()
	if first := f.fs.Reps.Of(doc); first != order[0] {
		if r, err := f.openAs(ctx, doc, first); err == nil {
			return r, nil // put in here, and still cached as it was uploaded
		}
	}
	var err error
	for _, rep := range order {
		var r *cache.Reader
		if r, err = f.openAs(ctx, doc, rep); err == nil {
			f.fs.Reps.Found(rep)
			return r, nil
		}
		if archive.KindOf(err) != archive.KindUnsupported {
			break
		}
		f.fs.Reps.Lacks(rep, doc)
	}
	return nil, f.missed(err)
}

// missed handles an error of a request about the document: where the service does not
// have it any more, its directory is listed again.
func (f *readable) missed(err error) error {
	if archive.KindOf(err) == archive.KindNotFound {
		if d, name := f.Place(); d != nil {
			d.Distrust()
			f.fs.Changed(d, []string{name})
		}
	}
	return err
}

// immutable reports whether a representation of the document never changes: an archived
// document does not, but what is said about it (its data) and read in it (its text) does.
func (f *readable) immutable(rep archive.Representation) bool {
	return rep != archive.Data && rep != archive.Text && f.archived()
}

// maxAge is how long a representation is trusted: for ever once it was fetched where it
// never changes, else for the ttl or as long as the service says that it has not changed.
func (f *readable) maxAge(rep archive.Representation) time.Duration {
	if f.immutable(rep) {
		return cache.Final
	}
	return f.fs.Service.TTL
}

// openAs opens the content in one representation.
func (f *readable) openAs(ctx context.Context, doc archive.ID, rep archive.Representation) (*cache.Reader, error) {
	key := cache.Key{Document: doc, Representation: rep}
	r, err := f.fs.content.Open(ctx, key, f.maxAge(rep), func(ctx context.Context, w cache.Want) (*archive.Content, error) {
		c, err := f.fs.Service.Archive.Content(ctx, archive.ContentRequest{
			Document: doc, Representation: rep, Offset: w.Offset, Length: w.Length, Match: w.Match, NoneMatch: w.NoneMatch,
		})
		return c, f.fs.Service.Answered(err)
	})
	if err != nil {
		return nil, err
	}
	if f.immutable(rep) {
		f.fs.facts.Learn(key, r.Size())
	}
	if d, _ := f.Place(); d != nil && rep == archive.Original {
		d.Lengths().Found(doc, r.Size())
	}
	return r, nil
}

// readErrno is the errno of a failed read. Programs take EAGAIN from read for the end of
// the file, so they are told EIO.
func (f *readable) readErrno(err error) syscall.Errno {
	if err == nil {
		return 0
	}
	errno := f.fs.errnos.Of("read", f.path(), err)
	if errno == syscall.EAGAIN || errno == syscall.ENOENT {
		return syscall.EIO
	}
	return errno
}

// gaveWay reports whether another file has taken the place of this one.
func (f *readable) gaveWay() bool {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	return f.superseded != nil
}

// Measure finds out whether the service has what the file of a rendition holds, and its length.
// It downloads only what is small and whose length the service does not tell otherwise.
func (f *readable) Measure(ctx context.Context) error {
	if _, ok := f.currentSize(); ok {
		return nil
	}
	key := f.as.Key
	if key.Representation == archive.Original || key.Representation == archive.PDF {
		info, err := f.fs.Service.Archive.ContentInfo(ctx, key.Document, key.Representation)
		if archive.KindOf(err) != archive.KindUnsupported {
			if err == nil && info.Size > 0 { // many services answer 0 when they do not know
				f.measured(info.Size)
			}
			return err
		}
	}
	r, err := f.openAs(ctx, key.Document, key.Representation)
	if err != nil {
		return err
	}
	f.measured(r.Size())
	if key.Representation != archive.Original && key.Representation != archive.PDF {
		err = r.Wait(ctx) // else the download ends here, and starts again for a reader
		if errors.Is(err, cache.ErrNotKept) {
			err = nil
		}
	}
	return errors.Join(err, r.Close())
}

// measured notes the length of what the file of a rendition holds.
func (f *readable) measured(size int64) {
	if f.immutable(f.as.Key.Representation) {
		f.fs.facts.Learn(f.as.Key, size)
	}
	f.Mu.Lock()
	defer f.Mu.Unlock()
	if f.reading == nil {
		f.opened, f.sized = size, true
	}
}

// onlyForThumbnail reports whether to open the document would download it for nothing but a
// thumbnail. A cached document is read like any other file.
func (f *readable) onlyForThumbnail(pid uint32) bool {
	if f.fs.thumbnails || f.as != nil {
		return false
	}
	doc := f.Document().ID
	rep := f.fs.Reps.Of(doc)
	if _, here := f.fs.content.Trusted(cache.Key{Document: doc, Representation: rep}, f.maxAge(rep)); here {
		return false
	}
	return isThumbnailer(pid)
}

// Close gives the view back, and those before it. A nil view is none.
func (v *docReader) Close() error {
	if v == nil {
		return nil
	}
	f := v.file
	f.Mu.Lock()
	v.of.views--
	if !v.writes {
		v.of.readers--
	}
	last := v.of.views == 0
	if last && f.reading == v.of {
		f.reading = nil
	}
	f.Mu.Unlock()
	var err error
	if last {
		err = v.Reader.Close()
	}
	return errors.Join(err, v.former.Close())
}

// current reports whether the view is of what the file holds: not when it was written to
// through the mount since.
func (v *docReader) current() bool {
	v.file.Mu.Lock()
	defer v.file.Mu.Unlock()
	return v.file.reading == v.of && !v.file.rewrittenLocked()
}

// rewrittenLocked reports whether the file got other bytes here since its content was
// opened last. The caller holds mu.
func (f *readable) rewrittenLocked() bool { return f.Up != nil || !f.sized }

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
	f.Mu.Lock()
	defer f.Mu.Unlock()
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
	f.Mu.Lock()
	defer f.Mu.Unlock()
	if f.reading == nil || f.rewrittenLocked() {
		return nil
	}
	return f.viewLocked(true)
}

// doubtPages makes the kernel drop the file's pages when its document is opened next: they
// hold what was written, which the service may refuse.
func (f *readable) doubtPages() {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	f.content = 0
}

// supersede puts a new file in the place of this one, with an inode of its own, which the
// next lookup finds. It has the same number: programs compare those before and after they
// open a file. Those who have this one open keep it. tid is the thread that is told so.
func (f *readable) supersede(tid uint32) {
	d, _ := f.Place()
	if d != nil {
		d.Mu.Lock()
		defer d.Mu.Unlock()
	}
	f.Mu.Lock()
	defer f.Mu.Unlock()
	if f.Up != nil || f.Dir != d {
		return
	}
	if d != nil {
		f.Entry.File.CompareAndSwap(&f.Leaf, f.Tree.NewLeaf(f.Ino, d, f.Entry, f.Doc))
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
	f.Mu.Lock()
	defer f.Mu.Unlock()
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
