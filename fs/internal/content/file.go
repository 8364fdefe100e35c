package content

import (
	"context"
	"errors"
	"io"
	"syscall"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/cache"
	"github.com/archivefs/archivefs/fs/internal/control"
	"github.com/archivefs/archivefs/fs/internal/prefetch"
	"github.com/archivefs/archivefs/fs/internal/tree"
)

// File is a file as its readers see it.
type File struct {
	tree.Leaf
	Env *Contents
	// As is the rendition that a file of the control directory holds, nil for any other file. It never changes.
	As *control.Rendition
	// content is the serial of the content in the kernel's page cache, 0 when unknown.
	content uint64 // +checklocks:Mu
	// opened is the exact length found by the last open; Sized says whether there is one. openedOf is the
	// document's fingerprint then.
	opened   int64               // +checklocks:Mu
	openedOf archive.Fingerprint // +checklocks:Mu
	Sized    bool                // +checklocks:Mu
	// kernelSize is the length that the kernel was last given.
	kernelSize int64 // +checklocks:Mu
	// Reading is the content that open handles read, nil while none does.
	Reading *Reading // +checklocks:Mu
	// Handles counts open handles that read through us, or write.
	Handles int // +checklocks:Mu
	// Way is how the handles are read.
	Way way // +checklocks:Mu
	// opening counts opens in flight. dropping is closed when the kernel has dropped its pages, nil
	// while it is not dropping any.
	opening  int           // +checklocks:Mu
	dropping chan struct{} // +checklocks:Mu
	// Superseded is nil until another file takes the place of this one; then it holds the
	// threads whose last open failed with ESTALE.
	Superseded map[uint32]bool // +checklocks:Mu
}

// Reading is a content that open handles of a file read. Its counts are guarded by Mu of the file.
type Reading struct {
	reader  *cache.Reader
	views   int // Readers that hold reader open
	readers int // those whose handle only reads
	// Direct says that the kernel reads it itself. It never changes.
	Direct bool
}

// Reader is what a handle reads of a document. The kernel has one page cache and one length for an
// inode, so all handles of a file read the same content. If the content changes while a handle is
// open, the new content appears under a new inode.
type Reader struct {
	*cache.Reader
	file   *File
	Of     *Reading
	writes bool
	// Former is what the same handle read before its file was written to: reads in flight may still use it.
	Former *Reader
}

// ForgetData drops the cached document data, which also holds attributes.
func (f *File) ForgetData(doc archive.ID) {
	key := cache.Key{Document: doc, Representation: archive.Data}
	f.Env.Content.Remove(key)
	f.Env.Facts.Forget(key)
	f.Env.config.DataChanged(doc)
	if f.Env.Reps.Of(doc) != archive.Data {
		return
	}
	f.Mu.Lock()
	defer f.Mu.Unlock()
	f.Sized = false
}

// Key returns the cache key of the content that the file shows.
func (f *File) Key() cache.Key {
	if f.As != nil {
		return f.As.Key
	}
	return cache.Key{Document: f.Document().ID, Representation: f.Env.Reps.Of(f.Document().ID)}
}

// FormerSize returns the length of the content that was read last, which may be outdated.
func (f *File) FormerSize() (size int64, ok bool) {
	if size, _, ok := f.OpenedSize(); ok {
		return size, true
	}
	return f.Env.Content.Lookup(f.Key())
}

// CurrentSize returns the exact length that a reader gets, if it is known without a request. The length of
// an archived content is trusted as long as its document has the same fingerprint; any other only as long as
// the cached content itself.
func (f *File) CurrentSize() (size int64, ok bool) {
	if up := f.Pending(); up != nil {
		return up.Size(), true
	}
	doc, key := f.Document(), f.Key()
	trust := f.Trust(key.Representation)
	if size, open, ok := f.OpenedSize(); ok && (open || trust.Print != 0) {
		return size, true
	}
	if size, ok := f.Env.Content.Trusted(key, trust); ok {
		return size, true
	}
	if trust.Print != 0 {
		if size, ok := f.Env.Facts.Size(key, trust.Print); ok {
			return size, true
		}
	}
	if d, _ := f.Place(); d != nil {
		if size, ok := d.Lengths().Get(doc.ID); ok {
			return size, true
		}
	}
	return f.Env.Lengths.Listed(doc, key.Representation)
}

// LearnSize tries to find out the exact length of a document if it is unknown. It never downloads content.
func (f *File) LearnSize(ctx context.Context) {
	if _, ok := f.CurrentSize(); ok {
		return
	}
	if !f.Env.Reps.Settled() {
		f.Env.Reps.Settle(ctx)
		if _, ok := f.CurrentSize(); ok {
			return
		}
	}
	if d, _ := f.Place(); d != nil {
		d.Lengths().Learn(ctx, f.Document(), shownEntries(d.Entries()))
	}
}

// EstimateTrust returns for how long the service is not asked for the length of the document, so that
// an estimate of it stays the best answer until somebody opens the document.
func (f *File) EstimateTrust() time.Duration {
	d, _ := f.Place()
	if d == nil {
		return 0
	}
	return d.Lengths().Paused(f.Document().ID)
}

// Listed reports whether the listing has the length.
func (f *File) Listed() bool {
	_, ok := f.Env.Lengths.Listed(f.Document(), f.Key().Representation)
	return ok
}

// Weigh finds out the length of a document by requesting its content, which is downloaded if it is small. After
// a failure the length stays unknown: the open tells why.
func (f *File) Weigh(ctx context.Context, pid uint32) {
	f.ReadNext(pid)
	_ = f.fetchWhole(ctx, f.Key())
}

// shownEntries are the entries of a directory ordered by name.
type shownEntries []*tree.Entry

func (l shownEntries) Len() int                         { return len(l) }
func (l shownEntries) Document(i int) *archive.Document { return l[i].Doc.Load() }

// OpenedSize returns the length found by the last open, unless the document has been listed otherwise since;
// open says whether handles still read that content.
func (f *File) OpenedSize() (size int64, open, ok bool) {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	open = f.Reading != nil
	return f.opened, open, f.Sized && (open || f.openedOf == f.Doc.Fingerprint())
}

// Tell notes the length that the kernel is given, and reports whether it had another one.
func (f *File) Tell(size int64) (other bool) {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	other, f.kernelSize = f.kernelSize != size, size
	return other
}

// The kernel itself reads a large document that is complete in the cache, from the cached file (FUSE passthrough: Linux
// 6.9, CAP_SYS_ADMIN). Where that does not work, the document is read through us like any other.
//
// The kernel fails an open with EIO unless all handles of an inode are read in the same way, from the
// same file, and the library counts them by inode, too. So only the very first handle of an inode can
// make the kernel read it, for as long as its handles read that one file. An inode that was read
// through us, for instance during its download, stays so until nobody has it open; the next open then
// gets another inode (supersede). Writable files are always read through us.

// minDirect is the length in bytes from which passthrough gains more than it costs at the open.
const minDirect = 1 << 20

// way is how the handles of an inode are read.
type way uint8

// The ways in which the handles of an inode are read.
const (
	undecided way = iota // never opened
	ThroughUs
	ByKernel
)

// Access is how a file is opened.
type Access struct {
	PID                      uint32 // the thread that opens it, 0 when unknown
	Write, Truncate, Appends bool
	Maps                     bool // open for reading and writing, so it can be mapped
}

// Direct reports whether the kernel could read r itself for a handle that is being opened.
func (f *File) Direct(r *cache.Reader, a Access) bool {
	if a.Write || r.Size() < minDirect || !f.Immutable(r.Key().Representation) {
		return false
	}
	file := r.Growing()
	return file != nil && f.Env.config.Reads(file) && r.File() != nil
}

// wayLocked decides how the first open handle reads r. direct says whether the kernel could read it.
// wayLocked returns false if another file must take the place of this one.
// +checklocks:f.Mu
func (f *File) wayLocked(r *cache.Reader, direct bool) bool {
	direct = direct && f.Handles == 0
	switch {
	case direct && f.Way == ThroughUs && f.Superseded == nil && f.Up == nil && f.Dir != nil:
		return false
	case direct && f.Way == undecided, direct && f.Way == ByKernel && f.content == r.Serial():
		f.Way = ByKernel
	default:
		f.Way = ThroughUs
	}
	return true
}

// Outlived reports whether the pages of this inode are useless: nobody has the file open, and the next open, whose
// content the kernel could read itself, gets another inode (wayLocked). If so, opens wait until done is called.
func (f *File) Outlived() (done func(), ok bool) {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	if f.Reading != nil || f.Handles > 0 || f.opening > 0 || f.dropping != nil ||
		f.Way != ThroughUs || f.Superseded != nil || f.Up != nil || f.Dir == nil {
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

// EnterOpen begins an open, after waiting for pages that are being dropped. leave ends it.
func (f *File) EnterOpen() (leave func()) {
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

// ReadNext prefetches documents after f, which is about to be opened for reading.
func (f *File) ReadNext(pid uint32) {
	d, name := f.Place()
	if d == nil {
		return
	}
	key := f.Key()
	if key.Representation == archive.Data {
		return
	}
	_, cached := f.Env.Content.Trusted(key, f.Trust(key.Representation))
	n := f.Env.ReadAhead.Opening(pid, Walked{d, f.Env}, key.Document, cached)
	if n <= 0 || !f.Env.Reps.Settled() {
		return
	}
	for _, e := range after(d.Entries(), name) {
		if n > 0 && (Walked{d, f.Env}).fetch(e) {
			n--
		}
	}
}

// fetchWhole downloads all of the content into the cache, unless its length was not known before and
// turns out to be too large to prefetch.
func (f *File) fetchWhole(ctx context.Context, key cache.Key) error {
	r, err := f.openAs(ctx, key.Document, key.Representation)
	if err != nil {
		return err
	}
	defer r.Close() //nolint:errcheck // nothing was read
	if r.Size() > prefetch.MaxContent {
		return nil // which cancels the download
	}
	return r.Wait(ctx)
}

// fetchContent opens the document's content in the representation that the service has.
// It returns when the exact length is known.
func (f *File) fetchContent(ctx context.Context) (*cache.Reader, error) {
	if f.As != nil {
		return f.openAs(ctx, f.As.Key.Document, f.As.Key.Representation)
	}
	doc := f.Document().ID
	r, err := f.Env.first(doc, func(rep archive.Representation) (*cache.Reader, error) { return f.openAs(ctx, doc, rep) })
	return r, f.Missed(err)
}

// Missed handles an error of a request about the document. If the service does not have it any more,
// its directory is distrusted.
func (f *File) Missed(err error) error {
	if archive.KindOf(err) == archive.KindNotFound {
		if d, name := f.Place(); d != nil {
			d.Distrust()
			f.Env.Changed(d, []string{name})
		}
	}
	return err
}

// Immutable reports whether a representation of the document does not change as long as its listing does not.
func (f *File) Immutable(rep archive.Representation) bool { return f.Trust(rep).Print != 0 }

// Trust returns when a cached representation is used without validation.
func (f *File) Trust(rep archive.Representation) cache.Trust {
	trust := cache.Trust{MaxAge: f.Env.Service.TTL}
	switch {
	case rep == archive.Data, rep == archive.Text, rep == archive.Annotated: // they change while the listing stays the same
	case f.As != nil:
		trust.Print = f.As.Print
	case f.Archived():
		trust.Print = f.Document().Fingerprint()
	}
	return trust
}

func (f *File) openAs(ctx context.Context, doc archive.ID, rep archive.Representation) (*cache.Reader, error) {
	r, err := f.Env.open(ctx, cache.Key{Document: doc, Representation: rep}, f.Trust(rep))
	if err != nil {
		return nil, err
	}
	if d, _ := f.Place(); d != nil && rep == archive.Original {
		d.Lengths().Found(doc, r.Size())
	}
	return r, nil
}

// ReadErrno returns the errno of a read. Programs take EAGAIN from read for the end of the file, so it becomes EIO.
func (f *File) ReadErrno(err error) syscall.Errno {
	if err == nil {
		return 0
	}
	errno := f.Env.Errnos.Of("read", f.Where(), err)
	if errno == syscall.EAGAIN || errno == syscall.ENOENT {
		return syscall.EIO
	}
	return errno
}

// GaveWay reports whether another file has taken the place of this one.
func (f *File) GaveWay() bool {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	return f.Superseded != nil
}

// Measure finds out whether the service has the file's rendition, and its length. It downloads
// renditions other than original and PDF, whose length the service cannot tell otherwise.
func (f *File) Measure(ctx context.Context) error {
	if _, ok := f.CurrentSize(); ok {
		return nil
	}
	key := f.As.Key
	if key.Representation == archive.Original || key.Representation == archive.PDF {
		info, err := f.Env.Service.Archive.ContentInfo(ctx, key.Document, key.Representation)
		if archive.KindOf(err) != archive.KindUnsupported {
			if err == nil && info.Size > 0 { // many services return 0 for an unknown size
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
		err = r.Wait(ctx) // without it Close cancels the download, and a reader starts it again
		if errors.Is(err, cache.ErrNotKept) {
			err = nil
		}
	}
	return errors.Join(err, r.Close())
}

// measured notes the length of the file's rendition.
func (f *File) measured(size int64) {
	if of := f.Trust(f.As.Key.Representation).Print; of != 0 {
		f.Env.Facts.Learn(f.As.Key, of, size)
	}
	f.Mu.Lock()
	defer f.Mu.Unlock()
	if f.Reading == nil {
		f.opened, f.openedOf, f.Sized = size, f.Doc.Fingerprint(), true
	}
}

// Close closes the reader and its former ones. A nil Reader is closed already.
func (v *Reader) Close() error {
	if v == nil {
		return nil
	}
	f := v.file
	f.Mu.Lock()
	v.Of.views--
	if !v.writes {
		v.Of.readers--
	}
	last := v.Of.views == 0
	if last && f.Reading == v.Of {
		f.Reading = nil
	}
	f.Mu.Unlock()
	var err error
	if last {
		err = v.Reader.Close()
	}
	return errors.Join(err, v.Former.Close())
}

// Current reports whether the reader still has the content of the file: it does not once the file was
// written to through the mount.
func (v *Reader) Current() bool {
	v.file.Mu.Lock()
	defer v.file.Mu.Unlock()
	return v.file.Reading == v.Of && !v.file.rewrittenLocked()
}

// rewrittenLocked reports whether the file was rewritten here since its content was last opened.
// +checklocks:f.Mu
func (f *File) rewrittenLocked() bool { return f.Up != nil || !f.Sized }

// viewLocked returns a further Reader of what the file's handles read.
// +checklocks:f.Mu
func (f *File) viewLocked(writes bool) *Reader {
	f.Reading.views++
	if !writes {
		f.Reading.readers++
	}
	return &Reader{Reader: f.Reading.reader, file: f, Of: f.Reading, writes: writes}
}

// enter makes r what the file's handles read. If they read the same content already, it closes r and
// joins them. It returns nil, and r stays the caller's, in two cases: while they read another content,
// unless they are all writers and the file was rewritten; and if direct says that the kernel could read
// r itself, but not through this inode. same says whether the page cache has this content.
func (f *File) enter(r *cache.Reader, writes, direct bool) (v *Reader, same bool) {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	same = f.content == r.Serial()
	switch now := f.Reading; {
	case now != nil && now.reader.Serial() == r.Serial():
		_ = r.Close() // other handles keep its file open
	case now != nil && (now.readers > 0 || !f.rewrittenLocked()):
		return nil, false
	case !f.wayLocked(r, direct):
		return nil, false
	default:
		f.Reading = &Reading{reader: r, Direct: f.Way == ByKernel}
	}
	f.content, f.opened, f.openedOf, f.Sized = r.Serial(), r.Size(), f.Doc.Fingerprint(), true
	return f.viewLocked(writes), same
}

// OpenView opens the document's content for a handle that is being opened. It fails with ESTALE while others read
// another content, or if the kernel can read the content only through a new inode. The kernel then looks the name up
// again and finds the file that takes the place of this one. same says whether the page cache has this content.
func (f *File) OpenView(ctx context.Context, a Access) (v *Reader, same bool, err error) {
	if v, err := f.OpenFormer(a); v != nil || err != nil {
		return v, true, err
	}
	r, err := f.fetchContent(ctx)
	if err != nil {
		return nil, false, err
	}
	v, same = f.enter(r, a.Write, f.Direct(r, a))
	if v == nil {
		f.supersede(a.PID)
		return nil, false, errors.Join(syscall.ESTALE, r.Close())
	}
	return v, same, nil
}

// CopyTo writes the document's content to w.
func (f *File) CopyTo(ctx context.Context, w io.WriterAt) error {
	r, err := f.OpenContent(ctx)
	if err != nil {
		return err
	}
	defer r.Close() //nolint:errcheck // read only
	buf := make([]byte, 1<<20)
	for off := int64(0); off < r.Size(); {
		n, err := r.ReadAt(ctx, buf, off)
		if n == 0 && err != nil {
			if err == io.EOF { //nolint:errorlint // io.ReaderAt returns io.EOF itself
				return io.ErrUnexpectedEOF
			}
			return err
		}
		if _, err := w.WriteAt(buf[:n], off); err != nil {
			return err
		}
		off += int64(n)
	}
	return nil
}

// OpenContent opens what the file's handles read, else what the service has, for a handle that is
// already open, or for a copy.
func (f *File) OpenContent(ctx context.Context) (*Reader, error) {
	if v := f.join(); v != nil {
		return v, nil
	}
	r, err := f.fetchContent(ctx)
	if err != nil {
		return nil, err
	}
	if v, same := f.enter(r, true, false); v != nil {
		if !same {
			f.DoubtPages()
		}
		return v, nil
	}
	if v := f.join(); v != nil { // another open was faster
		return v, r.Close()
	}
	return &Reader{Reader: r, file: f, Of: &Reading{reader: r, views: 1}, writes: true}, nil
}

// join returns a Reader of what the file's handles read; nil when they read nothing, or the file was rewritten.
func (f *File) join() *Reader {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	if f.Reading == nil || f.rewrittenLocked() {
		return nil
	}
	return f.viewLocked(true)
}

// DoubtPages makes the kernel drop the file's pages at the next open of its document: they hold written
// bytes, which the service may refuse.
func (f *File) DoubtPages() {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	f.content = 0
}

// supersede puts a new file, with an inode of its own, in the place of this one. The next lookup finds
// it; open handles keep this one. The inode number stays the same: programs compare it before and after
// they open a file. tid is the thread whose open fails with ESTALE.
func (f *File) supersede(tid uint32) {
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
	if f.Superseded == nil {
		f.Superseded = map[uint32]bool{}
	}
	f.Superseded[tid] = true
}

// OpenFormer opens a superseded file; for any other file it returns nil. The first open by a thread
// fails with ESTALE, after which the kernel looks up the name and finds the new file. If the same thread
// opens this one again, it came through a descriptor (/proc/self/fd): it gets what open handles read, as
// with a file that was replaced by rename(2). Opens for writing always fail.
func (f *File) OpenFormer(a Access) (*Reader, error) {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	switch stale := f.Superseded; {
	case stale == nil:
		return nil, nil
	case a.Write || !stale[a.PID]:
		stale[a.PID] = true
		return nil, syscall.ESTALE
	default:
		delete(stale, a.PID) // its next open may be by name again
	}
	if f.Reading == nil {
		return nil, nil
	}
	return f.viewLocked(false), nil
}

// Where returns the path of the file, also in the control directory, for messages.
func (f *File) Where() string {
	if f.As != nil {
		return f.As.Path
	}
	return f.Path()
}

// Archived reports whether the file is an archived document, which is immutable.
func (f *File) Archived() bool {
	if f.As != nil {
		return f.As.Archived
	}
	f.Mu.Lock()
	defer f.Mu.Unlock()
	return f.Doc != nil && f.Dir != nil && f.Dir.Kind().Archives()
}
