package staging

import (
	"context"
	"fmt"
	"io"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/fs/internal/attrs"
	"github.com/archivefs/archivefs/fs/internal/content"
	"github.com/archivefs/archivefs/fs/internal/errno"
	"github.com/archivefs/archivefs/fs/internal/tree"
	"github.com/archivefs/archivefs/internal/closing"
	"github.com/archivefs/archivefs/internal/spool"
	"github.com/archivefs/archivefs/xattr"
)

// A file is modelled in three layers, each with its own state and one lock for all: a leaf of the tree, the
// content that it shows, and the bytes that are written to it.

// File is a document, a file whose bytes are in the spool, or a document that is about to get new
// bytes.
type File struct {
	content.File
	s *Area
	// Commit serialises what turns the bytes in the spool into a document, and the first
	// change by each handle.
	Commit sync.Mutex

	// phase is what becomes of its bytes, why says why they are spoiled.
	phase phase // +checklocks:Mu
	why   error // +checklocks:Mu
	// writers counts open handles that may write, mappers those that may do so through a
	// mapping, writing those that wrote and were not closed since.
	writers int // +checklocks:Mu
	mappers int // +checklocks:Mu
	writing int // +checklocks:Mu
}

// NewFile is the file of e in d, whose document, or bytes in the spool, may be nil.
func NewFile(s *Area, ino uint64, d *tree.Dir, e *tree.Entry, doc *archive.Document, up *spool.Upload) *File {
	f := &File{s: s, phase: phaseOf(up), File: content.File{
		Env: s.Contents, Leaf: tree.Leaf{Tree: s.Tree, Ino: ino, Dir: d, Entry: e, Doc: doc, Up: up},
	}}
	f.Holder = f
	return f
}

// LeafFor makes the file of a document's entry.
func (s *Area) LeafFor(ino uint64, d *tree.Dir, e *tree.Entry, doc *archive.Document) *tree.Leaf {
	return &NewFile(s, ino, d, e, doc, nil).Leaf
}

// state is the value of the attribute state.
func (f *File) state() xattr.State {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	if f.Up != nil && f.Up.State() != spool.Confirmed {
		switch r := f.Up.Record(); {
		case r.State == spool.Failed:
			return xattr.StateFailed
		case r.Queued:
			return xattr.StatePending
		case r.State == spool.Created && (r.Closed || f.Doc == nil && f.Dir != nil && (r.Temporary || f.Dir.StaysLocal(f.Entry.Name))):
			return xattr.StateLocal
		case r.State == spool.Created && f.phase.unfinished(), r.State != spool.Created:
			return xattr.StatePending
		}
		return xattr.StateLocal
	}
	if f.Dir != nil && f.Dir.Kind == tree.InboxDir || f.As != nil && f.As.Inbox {
		return xattr.StateInbox
	}
	return xattr.StateArchived
}

// Modified is the modification time: what was kept for a file put in here, else when it
// was archived, else when it was created.
func (f *File) Modified() time.Time {
	if up := f.Pending(); up != nil {
		r := up.Record()
		return ModifiedOf(&r)
	}
	doc := f.Document()
	if t, ok := f.s.state.Time(doc.ID); ok {
		return t
	}
	if !doc.Archived.IsZero() {
		return doc.Archived
	}
	if !doc.Created.IsZero() {
		return doc.Created
	}
	return f.s.Started
}

// SetTime keeps a modification time, of bytes that wait and of a document that was put in here.
func (f *File) SetTime(mtime time.Time) error {
	if up := f.Pending(); up != nil {
		return up.Update(func(r *spool.Record) { r.Mtime = mtime })
	}
	id := f.Document().ID
	if _, here := f.s.state.Time(id); here {
		f.s.state.SetTime(id, mtime)
	}
	return nil
}

// lastPlaceLocked is where the file is shown. When that is nowhere, no folder shows it from now
// on: nil. Under Commit the file stays there.
// +checklocks:f.Commit
func (f *File) lastPlaceLocked() *tree.Dir {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	if f.Dir == nil {
		f.happenedLocked(onUnlink)
	}
	return f.Dir
}

// detach parts the file from its bytes in the spool, also those of open handles.
func (f *File) detach() {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	if f.Up == nil {
		return
	}
	for range f.Handles {
		if err := f.Up.Close(); err != nil {
			f.s.Service.Log.Debugf("close spool file: %v", err)
		}
	}
	f.Up = nil
	f.happenedLocked(onArrival)
}

// Which attributes there are, and who may set them, stands in the table of package xattr. Here
// is where their values lie: with a document, with a file in the spool, with a directory.

// Attrs are the attributes of the file.
func (f *File) Attrs() attrs.Node {
	if up := f.Pending(); up != nil {
		return localAttrs{f, up}
	}
	return documentAttrs{f}
}

// gone reports whether the file's name was removed.
func (f *File) gone() bool {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	return f.phase == removed
}

// SetSize truncates the file, through h where there is a handle. When nobody has it open for
// writing (truncate(2)), no close will follow: then its new bytes are archived at once.
func (f *File) SetSize(ctx context.Context, h *Handle, size int64) error {
	if err := f.MayWrite(); err != nil {
		return err
	}
	defer f.DoubtPages()
	if h != nil {
		return h.truncate(ctx, size)
	}
	open := &Handle{File: f, writer: true, unclosed: true}
	if err := open.enter(); err != nil {
		return err
	}
	err := open.truncate(ctx, size)
	switch lastWriter := open.exit(); {
	case !lastWriter:
	case err == nil:
		err = f.s.Delivery.finish(ctx, f, false)
	default:
		f.untouched(ctx)
	}
	return err
}

// Ready reports whether a local file becomes a document under the name: not when it is
// empty, nor while somebody still writes to it, whose close then archives it. That a
// handle is released does not count: the kernel tells it some time after the close.
func (f *File) Ready(up *spool.Upload, to *tree.Dir, name string) bool {
	if to.StaysLocal(name) || up.Size() == 0 || up.State() != spool.Created || up.Record().Queued {
		return false
	}
	f.Mu.Lock()
	defer f.Mu.Unlock()
	if f.writing > 0 {
		f.happenedLocked(onWrite)
		return false
	}
	return true
}

// untouched ends what a handle began that could not truncate the file, when nobody else
// writes to it. Bytes that did not change are what they were; others fail.
func (f *File) untouched(ctx context.Context) {
	if up := f.Pending(); up != nil {
		if r := up.Record(); r.Closed && r.Queued {
			f.s.queue.Add(up)
			return
		}
	}
	_ = f.s.Delivery.finish(ctx, f, true) // who truncates is told why it failed
}

// spoil remembers that the bytes are not what the program meant to write.
func (f *File) spoil(up *spool.Upload, err error) error {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	if f.Up == up {
		f.spoilLocked(err)
	}
	return err
}

// IdleLocked reports whether the file is a document and nothing else: nobody has it open, no
// bytes of it wait.
// +checklocks:f.Mu
func (f *File) IdleLocked() bool {
	return f.Doc != nil && f.Up == nil && f.phase == clean && f.writers == 0 && f.Handles == 0 && f.writing == 0 &&
		f.Reading == nil && f.Superseded == nil
}

// MayWrite refuses to change what is archived.
func (f *File) MayWrite() error {
	if err := f.s.MayChange(); err != nil {
		return err
	}
	f.Mu.Lock()
	kept := f.Dir == nil && f.phase != removed // in the control directory
	f.Mu.Unlock()
	switch {
	case f.As != nil:
		return errno.ErrNotHere
	case kept:
		return errno.Refuse(syscall.EPERM, "what is kept here does not change: it can be retried, exported or discarded")
	case f.ArchivedUnlisted():
		return errno.ErrArchived
	case f.Pending() != nil:
		return nil
	case f.Archived():
		return errno.ErrArchived
	case f.s.Service.Archive.LacksReplace():
		return errno.ErrNoReplace
	}
	return nil
}

// Remove takes a file out of its directory, and its bytes out of the spool, so that a crash
// does not bring them back. Open handles keep the bytes until they are closed, and the file stands
// for them as long as the kernel knows its inode.
func (f *File) Remove() {
	d, _ := f.Place()
	if d == nil {
		return
	}
	d.Mu.Lock()
	f.Mu.Lock()
	d.Shown.Drop(f.Entry)
	f.Dir = nil
	f.happenedLocked(onUnlink)
	up := f.Up
	f.Mu.Unlock()
	d.Mu.Unlock()
	if up != nil {
		f.s.Discard(up)
	}
}

// hide takes the file out of its folder on its own, which the kernel is told.
func (f *File) hide() {
	d, _ := f.Place()
	if d == nil {
		return
	}
	d.Mu.Lock()
	f.Mu.Lock()
	name := f.Entry.Name
	d.Shown.Drop(f.Entry)
	f.Dir = nil
	f.Mu.Unlock()
	d.Mu.Unlock()
	f.s.Changed(d, []string{name})
}

// accept makes bytes durable of which a close is answered with success, and others are yet
// to come.
func (f *File) accept(up *spool.Upload) error {
	if err := up.Sync(); err != nil {
		return f.spoil(up, err)
	}
	f.Mu.Lock()
	defer f.Mu.Unlock()
	if f.Up == up {
		f.happenedLocked(onAnswer)
	}
	return nil
}

// happenedLocked makes the file's phase the one that follows.
// +checklocks:f.Mu
func (f *File) happenedLocked(e event) { f.phase = f.phase.after(e) }

// happened is happenedLocked for who holds nothing.
func (f *File) happened(e event) {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	f.happenedLocked(e)
}

// spoilLocked notes why the bytes are not what the program meant. The first reason counts.
// +checklocks:f.Mu
func (f *File) spoilLocked(err error) {
	if f.phase != spoiled && f.phase != broken {
		f.why = fmt.Errorf("a write failed: %w", err)
	}
	f.happenedLocked(onDamage)
}

// spoiltLocked is why the bytes are not what the program meant, nil while they are.
// +checklocks:f.Mu
func (f *File) spoiltLocked() error {
	if f.phase == spoiled || f.phase == broken {
		return f.why
	}
	return nil
}

// OpenLater opens the document without its content, where its length is known all the same;
// nil where the content is to be opened.
func (f *File) OpenLater(a content.Access) (h *Handle, size int64) {
	d, _ := f.Place()
	if a.Write || d == nil || !d.Unread.Load() || !f.s.Reps.Settled() {
		return nil, 0
	}
	key := f.Key()
	if !f.Immutable(key.Representation) {
		return nil, 0 // those who have it open agree on a content when they open it
	}
	if _, here := f.s.Content.Trusted(key, f.MaxAge(key.Representation)); here {
		return nil, 0
	}
	size, known := f.CurrentSize()
	if !known {
		return nil, 0
	}
	h = &Handle{File: f}
	if !h.enterUnread() {
		return nil, 0
	}
	return h, size
}

// errAsClosed refuses to change what a close has handed over.
var errAsClosed = errno.Refuse(syscall.EPERM, "it is being archived as it was closed")

// mayStage refuses, without waiting, to stage what cannot be replaced, or is about to be
// archived.
func (f *File) mayStage() error {
	up := f.Pending()
	if up == nil {
		return f.mayRewrite()
	}
	switch r := up.Record(); {
	case r.State == spool.Created, r.State == spool.Failed, r.Queued:
		return nil
	}
	return errAsClosed
}

// stageLocked makes sure that the file's bytes are in the spool and may be changed. An inbox
// document's content is copied there first, unless empty says that nothing of it is
// wanted. What is queued is taken back. What cannot be replaced is not staged.
// +checklocks:f.Commit
func (f *File) stageLocked(ctx context.Context, empty bool) (*spool.Upload, error) {
	if up := f.Pending(); up != nil {
		return up, f.unsealLocked(up)
	}
	if err := f.mayRewrite(); err != nil { // archived, or found out, meanwhile
		return nil, err
	}
	d, name := f.Place()
	if d == nil {
		return nil, syscall.ENOENT
	}
	up, err := f.s.Spool.Create(f.s.Record(d, name, f.Document()))
	if err != nil {
		return nil, err
	}
	if !empty {
		if err := f.CopyContent(ctx, up); err != nil {
			f.s.Discard(up)
			return nil, err
		}
	}
	f.Mu.Lock()
	defer f.Mu.Unlock()
	for range f.Handles {
		if err := up.Open(); err != nil {
			return nil, err
		}
	}
	f.Up = up
	f.happenedLocked(onStage)
	f.s.Hold(up, f)
	return up, nil
}

// mayRewrite refuses new bytes for a document that is archived, and for any document where
// it is known that the service cannot replace them: what is staged would be refused at its
// close.
func (f *File) mayRewrite() error {
	switch {
	case f.Document() == nil, f.Archived():
		return errno.ErrArchived
	case f.s.Service.Archive.LacksReplace():
		return errno.ErrNoReplace
	}
	return nil
}

// RecallLocked takes bytes that are queued back, so that they can be changed before the
// archive gets them. They stay in the queue until the first change. Under Commit they are not being
// sent; what the archive may have is busy.
// +checklocks:f.Commit
func (f *File) RecallLocked(up *spool.Upload) error {
	switch up.State() {
	case spool.Created:
		return nil
	case spool.Committed:
	case spool.Sending, spool.Confirmed, spool.Failed:
		return errno.ErrMayHave
	}
	if err := up.Recall(); err != nil {
		return err
	}
	f.happened(onRecall)
	return nil
}

// unsealLocked makes bytes that failed, or are queued, writable again. What becomes of them is decided
// under Commit.
// +checklocks:f.Commit
func (f *File) unsealLocked(up *spool.Upload) error {
	if up.Record().Queued {
		return f.RecallLocked(up)
	}
	switch up.State() {
	case spool.Failed:
		if d, _ := f.Place(); d == nil {
			return errFailed // kept as it was when it failed
		}
		if err := up.Reopen(); err != nil {
			return err
		}
		f.Mu.Lock()
		orphaned := f.Doc == nil && up.Record().Replace != 0
		f.happenedLocked(onRecall)
		f.Mu.Unlock()
		if orphaned { // the document that it was to replace is gone
			return up.Update(func(r *spool.Record) { r.Replace = 0 })
		}
		return nil
	case spool.Created:
		return nil
	case spool.Committed, spool.Sending, spool.Confirmed:
	}
	return errAsClosed
}

// CopyContent fills the spool with the document's content.
func (f *File) CopyContent(ctx context.Context, up *spool.Upload) error {
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
		if _, err := up.WriteAt(buf[:n], off); err != nil {
			return err
		}
		off += int64(n)
	}
	return nil
}

// A service may confirm a document, not tell its id, and list it a while later, or list
// several that may be it. Until then the file stays in its folder, with its bytes from the
// spool. It cannot be changed: it is archived.

// stayUnlisted keeps the confirmed file where it is shown. It is false when that is nowhere.
func (f *File) stayUnlisted() bool {
	d, _ := f.Place()
	if d == nil {
		return false
	}
	d.Distrust()
	d.Mu.Lock()
	defer d.Mu.Unlock()
	f.Mu.Lock()
	defer f.Mu.Unlock()
	if f.Dir != d {
		return false
	}
	f.happenedLocked(onArrival)
	f.Entry.Keep = d.Tree.KeepFor()
	if !slices.Contains(d.Late, &f.Leaf) {
		d.Late = append(d.Late, &f.Leaf)
	}
	return true
}

// ArchivedUnlisted reports whether the archive has the file under an id that is not known.
func (f *File) ArchivedUnlisted() bool {
	up := f.Pending()
	return up != nil && up.State() == spool.Confirmed
}

// standFor gives a file that no folder shows its place. It is false when the file has one
// or needs none any more.
func (f *File) standFor(d *tree.Dir, e *tree.Entry) bool {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	if f.Up == nil || f.phase == removed || f.Dir != nil {
		return false
	}
	f.Dir, f.Entry, f.Doc = d, e, e.Doc.Load()
	return true
}

// OpenWrite opens the file for writing, or for reading while its bytes are in the spool.
// v is what it reads of a document, which is not touched before the first write, or nil;
// truncated, it starts empty.
func (f *File) OpenWrite(ctx context.Context, a content.Access, v *content.Reader) (*Handle, error) {
	h := &Handle{File: f, writer: a.Write, maps: a.Maps, appends: a.Appends, reader: v}
	if a.Write {
		h.opener = closing.ThreadGroup(a.PID)
	}
	if err := h.enter(); err != nil {
		return nil, err
	}
	if a.Truncate {
		if err := h.truncate(ctx, 0); err != nil {
			h.ended()
			if lastWriter := h.exit(); lastWriter {
				f.untouched(context.WithoutCancel(ctx))
			}
			return nil, err
		}
		f.DoubtPages()
	}
	return h, nil
}

// unfinished returns the bytes in the spool and whether they were written to since they
// were archived last. Nothing becomes of a file that was removed.
func (f *File) unfinished() (up *spool.Upload, todo bool) {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	return f.Up, f.Up != nil && f.phase.unfinished()
}

// mappable reports whether somebody may write to the file through a mapping.
func (f *File) mappable() bool {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	return f.mappers > 0
}

// FileAt is the file of an entry, nil without one.
func FileAt(e *tree.Entry) *File {
	if l := e.File.Load(); l != nil {
		return l.Holder.(*File)
	}
	return nil
}

// FileOf is the file of a document's entry in d.
func FileOf(d *tree.Dir, e *tree.Entry) *File { return d.LeafOf(e).Holder.(*File) }
