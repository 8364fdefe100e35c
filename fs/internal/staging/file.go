package staging

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/fs/internal/content"
	"github.com/archivefs/archivefs/fs/internal/errno"
	"github.com/archivefs/archivefs/fs/internal/tree"
	"github.com/archivefs/archivefs/internal/closing"
	"github.com/archivefs/archivefs/internal/spool"
)

// A file has three layers, which share one lock, Mu: a leaf of the tree (tree.Leaf), the content that
// it shows (content.File), and the bytes that are written to it (File).

// File is a document, a file whose bytes are staged in the spool, or a document that is about to get new bytes.
type File struct {
	content.File
	s *Area
	// Commit serialises everything that turns staged bytes into a document, and the first change through each handle.
	Commit sync.Mutex

	// writers counts open handles that may write, mappers those that may write through a mapping,
	// and writing those that have written and are not closed yet.
	writers int // +checklocks:Mu
	mappers int // +checklocks:Mu
	writing int // +checklocks:Mu
}

// NewFile returns the file of entry e in d. doc and up may be nil; so may d and e, for a file that no folder shows.
func NewFile(s *Area, ino uint64, d *tree.Dir, e *tree.Entry, doc *archive.Document, up *spool.Upload) *File {
	f := &File{s: s, File: content.File{
		Env: s.Contents, Leaf: tree.Leaf{Tree: s.Tree, Ino: ino, Dir: d, Entry: e, Doc: doc, Up: up},
	}}
	f.Holder = f
	return f
}

// LeafFor returns the leaf of a new file for a document's entry.
func (s *Area) LeafFor(ino uint64, d *tree.Dir, e *tree.Entry, doc *archive.Document) *tree.Leaf {
	return &NewFile(s, ino, d, e, doc, nil).Leaf
}

// FileAt returns the file of an entry, nil if it has none.
func FileAt(e *tree.Entry) *File {
	if l := e.File.Load(); l != nil {
		return l.Holder.(*File)
	}
	return nil
}

// FileOf returns the file of a document's entry in d, and makes it if necessary.
func FileOf(d *tree.Dir, e *tree.Entry) *File { return d.LeafOf(e).Holder.(*File) }

// OpenLater opens the document without its content if its length is known. It returns nil if the
// content must be opened.
func (f *File) OpenLater(a content.Access) (h *Handle, size int64) {
	d, _ := f.Place()
	if a.Write || d == nil || !d.Unread.Load() || !f.s.Reps.Settled() {
		return nil, 0
	}
	key := f.Key()
	trust := f.Trust(key.Representation)
	if trust.Print == 0 {
		return nil, 0 // all handles read the same content, which is chosen at open
	}
	if _, here := f.s.Content.Trusted(key, trust); here {
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

// OpenWrite opens the file for writing, or for reading if its bytes are staged. v, which may be
// nil, reads the document until the first write. With a.Truncate the file is emptied first.
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
			h.stopWriting()
			if lastWriter := h.exit(); lastWriter {
				f.untouched(context.WithoutCancel(ctx))
			}
			return nil, err
		}
		f.DoubtPages()
	}
	return h, nil
}

// untouched ends an open for writing whose truncation failed, if nobody else has the file open for
// writing. Queued bytes that did not change return to the queue; spoiled bytes fail.
func (f *File) untouched(ctx context.Context) {
	if up := f.Pending(); up != nil && up.State() == spool.Recalled {
		f.s.Queue.Add(up)
		return
	}
	_ = f.s.Delivery.finish(ctx, f, true) // the caller returns the error of the truncation
}

// MayWrite returns an error if the file must not be changed.
func (f *File) MayWrite() error {
	if err := f.s.MayChange(); err != nil {
		return err
	}
	f.Mu.Lock()
	kept := f.Dir == nil && f.Up != nil && !f.Up.Removed() // in the control directory
	f.Mu.Unlock()
	switch {
	case f.As != nil:
		return errno.ErrNotHere
	case kept:
		return errno.Refuse(syscall.EPERM, "an upload cannot be changed here: retry, export or discard it")
	case f.ArchivedUnlisted() && !f.StaysBeside():
		return errno.ErrArchived
	case f.Pending() != nil:
		return nil
	case f.Archived():
		return errno.ErrArchived
	case f.s.Service.Archive.LacksReplace() && !f.s.Number: // else it depends on the first change
		return errno.ErrNoReplace
	}
	return nil
}

// SetSize truncates the file, through h if that is not nil. Without a handle (truncate(2)) no close
// follows, so the new bytes are archived at once, unless a program has the file open for writing.
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

// errFailed is what a program gets if the file that it wrote to has failed in another close. The
// bytes are kept, but not archived without a retry.
const errFailed = syscall.EIO

// errAsClosed is returned for a change to bytes that a close has handed over.
var errAsClosed = errno.Refuse(syscall.EPERM, "it has been closed and is being archived")

// mayStage refuses, without waiting for Commit, to stage a document that cannot be replaced, or
// bytes that are being archived.
func (f *File) mayStage(empty bool) error {
	up := f.Pending()
	if up == nil {
		return f.mayRewrite(empty)
	}
	if s := up.State(); s.Written() || s.IsFailed() || s.InQueue() || empty && f.StaysBeside() {
		return nil
	}
	return errAsClosed
}

// stageLocked makes sure that the file's bytes are in the spool and may be changed. It copies the content of an inbox
// document there first, unless empty is set, and takes queued bytes back. It refuses documents that cannot be replaced.
// +checklocks:f.Commit
func (f *File) stageLocked(ctx context.Context, empty bool) (*spool.Upload, error) {
	if empty && f.StaysBeside() {
		return f.startAnewLocked(ctx)
	}
	if up := f.Pending(); up != nil {
		return up, f.unsealLocked(up)
	}
	if err := f.mayRewrite(empty); err != nil { // archived, or found not to be replaceable, meanwhile
		return nil, err
	}
	d, name := f.Place()
	if d == nil {
		return nil, syscall.ENOENT
	}
	up, err := f.s.Spool.Create(f.s.People.Sign(ctx, f.s.Record(d, name, f.Document())))
	if err != nil {
		return nil, err
	}
	if !empty {
		if err := f.CopyTo(ctx, up); err != nil {
			f.s.Discard(up)
			return nil, err
		}
	}
	return up, f.stageIn(up)
}

// stageIn makes up the bytes of the file.
func (f *File) stageIn(up *spool.Upload) error {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	return f.stageInLocked(up)
}

// stageInLocked is stageIn under Mu.
// +checklocks:f.Mu
func (f *File) stageInLocked(up *spool.Upload) error {
	for range f.Handles {
		if err := up.Open(); err != nil {
			return err
		}
	}
	f.Up = up
	f.s.Hold(up, f)
	return nil
}

// StaysBeside reports whether what the file stands for stays in its inbox, under another name, when a
// program writes a new file under its name.
func (f *File) StaysBeside() bool {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	switch up := f.Up; {
	case !f.s.Number, f.Dir == nil, !f.Dir.InInbox():
		return false
	case up == nil:
		return f.Doc != nil
	default:
		s := up.State()
		return f.writing == 0 && up.Size() > 0 && (s.InQueue() && !s.Written() || s == spool.Failed || s == spool.Confirmed)
	}
}

// StepAside shows the document or file of an entry of d under a numbered name, because another file gets its name.
func (s *Area) StepAside(d *tree.Dir, e *tree.Entry) {
	d.Mu.Lock()
	aside := d.Shown.StepAside(e)
	d.Mu.Unlock()
	s.Changed(d, []string{aside.Name})
}

// startAnewLocked makes the file a new one and returns its bytes. What it stood for is another file,
// with a numbered name, from then on.
// +checklocks:f.Commit
func (f *File) startAnewLocked(ctx context.Context) (*spool.Upload, error) {
	d, name := f.Place()
	if d == nil {
		return nil, syscall.ENOENT
	}
	up, err := f.s.Create(f.s.People.Sign(ctx, f.s.Record(d, name, nil)))
	if err != nil {
		return nil, err
	}
	former, err := f.exchange(d, up)
	if err != nil {
		f.s.Discard(up)
		return nil, err
	}
	if waits := former.Pending(); waits != nil && waits.State().InQueue() {
		f.s.Queue.Add(waits) // an attempt may have found that it is no longer this file's
	}
	return up, nil
}

// exchange gives the file the bytes up, and returns a new file that stands for what this one stood for.
func (f *File) exchange(d *tree.Dir, up *spool.Upload) (former *File, err error) {
	d.Mu.Lock()
	defer d.Mu.Unlock()
	in, name := f.Place()
	if in != d {
		return nil, syscall.ENOENT
	}
	aside := d.Shown.StepAside(d.Shown.Get(name))
	f.s.Changed(d, []string{aside.Name})
	f.Mu.Lock()
	defer f.Mu.Unlock()
	before := f.Up
	if err := f.stageInLocked(up); err != nil {
		return nil, err
	}
	former = NewFile(f.s, f.s.Inodes.Local(), d, aside, f.Doc, before)
	aside.File.Store(&former.Leaf)
	f.Doc, f.Sized, f.Entry = nil, false, tree.NewEntry(name, nil, &f.Leaf)
	d.Shown.Add(f.Entry)
	if i := slices.Index(d.Late, &f.Leaf); i >= 0 {
		d.Late[i] = &former.Leaf
	}
	if before != nil {
		f.closeLocked(before)
		f.s.Hold(before, former)
	}
	return former, nil
}

// mayRewrite refuses new bytes for an archived document, and for any document if the service is
// known not to replace contents: the close would fail.
func (f *File) mayRewrite(empty bool) error {
	switch {
	case f.Document() == nil, f.Archived():
		return errno.ErrArchived
	case empty && f.s.Number:
		return nil
	case f.s.Service.Archive.LacksReplace():
		return errno.ErrNoReplace
	}
	return nil
}

// unsealLocked makes queued or failed bytes writable again.
// +checklocks:f.Commit
func (f *File) unsealLocked(up *spool.Upload) error {
	switch s := up.State(); {
	case s.InQueue():
		return f.RecallLocked(up)
	case s.IsFailed():
		if d, _ := f.Place(); d == nil {
			return errFailed // it has left its folder and stays as it is
		}
		if err := up.Reopen(); err != nil {
			return err
		}
		f.Mu.Lock()
		orphaned := f.Doc == nil && up.Record().Replace != 0
		f.Mu.Unlock()
		if orphaned { // the document that it was to replace is gone
			return up.Update(func(r *spool.Record) { r.Replace = 0 })
		}
		return nil
	case s.Written():
		return nil
	}
	return errAsClosed
}

// RecallLocked takes queued bytes back, so that they can be changed before they are archived. They stay in the queue
// until the first change. Bytes that the archive may have cannot be taken back (errno.ErrMayHave).
// +checklocks:f.Commit
func (f *File) RecallLocked(up *spool.Upload) error {
	switch s := up.State(); {
	case s.Written():
		return nil
	case !s.IsUnsent():
		return errno.ErrMayHave
	}
	return up.Recall()
}

// promise syncs the staged bytes for a close that returns success before the file is finished.
func (f *File) promise(up *spool.Upload) error {
	if err := up.Sync(true); err != nil {
		return f.spoil(up, err)
	}
	return nil
}

// spoil records that a write or a sync of up failed, and returns err.
func (f *File) spoil(up *spool.Upload, err error) error {
	if f.Pending() == up {
		up.Spoil(fmt.Errorf("a write failed: %w", err))
	}
	return err
}

// Times returns when the file was modified and when it changed. It was modified at the time of the staged
// bytes, else at the one kept for a file that was stored from this machine, else when the document was
// archived or created. It changed when it came here or to the archive, or when its attributes changed, and
// never before it was modified. Both stay the same in another mount.
func (f *File) Times() (modified, changed time.Time) {
	if up := f.Pending(); up != nil {
		r := up.Record()
		modified = ModifiedOf(&r)
		return modified, latest(modified, r.Changed)
	}
	doc := f.Document()
	kept := f.s.State.Times(doc.ID)
	changed = latest(doc.Created, doc.Archived, kept.Changed)
	if changed.IsZero() { // the archive has no date, so the first look at it counts
		changed = f.s.Started
		f.s.State.SetChanged(doc.ID, changed)
	}
	for _, modified = range []time.Time{kept.Modified, doc.Archived, doc.Created, changed} {
		if !modified.IsZero() {
			break
		}
	}
	return modified, latest(modified, changed)
}

func latest(times ...time.Time) time.Time { return slices.MaxFunc(times, time.Time.Compare) }

// SetTime sets the modification time of staged bytes, or of a document that has a kept time, for the
// thread pid. It ignores other documents. rsync marks with the time 0 what it had got to of a file when it
// was stopped, before it gives it its real name.
func (f *File) SetTime(mtime time.Time, pid uint32) error {
	if up := f.Pending(); up != nil {
		mark := mtime.Unix() == 0 && !closing.Finished(pid)
		return up.Update(func(r *spool.Record) {
			r.Mtime, r.Stopped = mtime, r.Stopped || mark && StaysHere(r)
		})
	}
	id := f.Document().ID
	if here := f.s.State.Times(id).Modified; !here.IsZero() {
		f.s.State.SetModified(id, mtime, f.s.Service.Now())
	}
	return nil
}

// Remove takes a file out of its directory, and its bytes out of the spool, so that a crash does
// not bring them back. Open handles keep the bytes until they are closed.
func (f *File) Remove() {
	d, _ := f.Place()
	if d == nil {
		return
	}
	d.Mu.Lock()
	f.Mu.Lock()
	d.Shown.Drop(f.Entry)
	f.Dir = nil
	up := f.Up
	f.Mu.Unlock()
	d.Mu.Unlock()
	if up != nil {
		f.s.Discard(up)
	}
}

// hide takes the file out of its folder and has the kernel forget its name.
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

// detach drops the file's upload, and the references of open handles to it.
func (f *File) detach() {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	if f.Up == nil {
		return
	}
	f.closeLocked(f.Up)
	f.Up = nil
}

// closeLocked closes bytes once for each handle of the file.
// +checklocks:f.Mu
func (f *File) closeLocked(up *spool.Upload) {
	for range f.Handles {
		if err := up.Close(); err != nil {
			f.s.Service.Log.Debugf("close spool file: %v", err)
		}
	}
}

// lastPlaceLocked returns the directory that shows the file. If there is none it returns nil, and
// none will show the file again. While Commit is held the file stays in its place.
// +checklocks:f.Commit
func (f *File) lastPlaceLocked() *tree.Dir {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	return f.Dir
}

// Ready reports whether a rename to a real name archives a local file. It does not if the file is
// empty, or while a program writes to it: Ready then leaves the file to the close of that program.
// Open handles do not count, because RELEASE comes some time after the close.
func (f *File) Ready(up *spool.Upload) bool {
	if s := up.State(); up.Size() == 0 || !s.Written() || s == spool.Recalled {
		return false
	}
	f.Mu.Lock()
	writing := f.writing > 0
	f.Mu.Unlock()
	return !writing || up.Touch(0, 0) != nil
}

// IdleLocked reports whether the file is just a document: no handle is open, and no bytes are staged.
// +checklocks:f.Mu
func (f *File) IdleLocked() bool {
	return f.Doc != nil && f.Up == nil && f.writers == 0 && f.Handles == 0 && f.writing == 0 &&
		f.Reading == nil && f.Superseded == nil
}

// Writing reports whether a program has it open for writing, and whether one can write to it through a mapping.
func (f *File) Writing() (written, mapped bool) {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	return f.writers > 0, f.mappers > 0
}
