package staging

import (
	"context"
	"errors"
	"syscall"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/fs/internal/background"
	"github.com/archivefs/archivefs/fs/internal/errno"
	"github.com/archivefs/archivefs/fs/internal/tree"
	"github.com/archivefs/archivefs/internal/spool"
	"github.com/archivefs/archivefs/internal/whole"
)

// delivery turns the bytes of files into documents, or keeps them as failed.
type delivery struct{ s *Area }

// ArrivedLocked makes the file the document that the archive confirmed. Without an id it waits
// for a listing to show it.
// +checklocks:f.Commit
func (v *delivery) ArrivedLocked(ctx context.Context, f *File, up *spool.Upload, id archive.ID) {
	r := up.Record()
	if r.Had != "" {
		v.giveWayLocked(f, up, &r)
		return
	}
	done := "archived"
	if r.Inbox {
		done = "stored in the inbox:"
	}
	v.s.Service.Log.WithField("path", archive.Printable(f.Where())).WithField("document", int64(id)).
		Infof("%s %d bytes", done, r.Size)
	if err := up.Open(); err == nil { // for those who open the file while its bytes move
		defer up.Close() //nolint:errcheck // the bytes are archived
	}
	v.s.settle(up, id)
	if id == 0 && v.s.awaits(up, &r) {
		return // what the folder shows when it is listed tells which document it is
	}
	switch d := f.lastPlaceLocked(); {
	case d == nil: // recovered and not shown yet
		v.s.listAgain(&r)
	case id != 0:
		d.Outdate()
		v.become(f, d, v.confirmed(&r, id, d))
		f.detach()
	case f.stayUnlisted():
		return
	}
	v.s.conclude(ctx, up, id)
}

// giveWayLocked ends a file that the archive had before, as a document which keeps its name and its
// place: the file's own name goes.
// +checklocks:f.Commit
func (v *delivery) giveWayLocked(f *File, up *spool.Upload, r *spool.Record) {
	v.s.Service.Log.WithField("path", archive.Printable(f.Where())).
		Infof("the archive has it already, as %s (document %d)", r.Had, r.Document)
	v.s.Service.Failures.Mend(r)
	d := f.lastPlaceLocked()
	if d == nil {
		v.s.listAgain(r)
		v.s.Discard(up)
		return
	}
	d.Distrust() // it may have the very name
	_, name := f.Place()
	f.Remove()
	v.s.Changed(d, []string{name})
}

// confirmed is the document as far as is known without a listing.
func (v *delivery) confirmed(r *spool.Record, id archive.ID, d *tree.Dir) *archive.Document {
	return d.Kind.Confirmed(r, id, d.Document(id), v.s.Service.Now())
}

// become makes doc what the file stands for.
func (v *delivery) become(f *File, d *tree.Dir, doc *archive.Document) {
	d.Mu.Lock()
	defer d.Mu.Unlock()
	f.Mu.Lock()
	defer f.Mu.Unlock()
	if shown := d.Shown.Document(doc.ID); shown != nil && shown != f.Entry && f.Dir == d {
		d.Shown.Drop(shown) // a listing was quicker: it keeps the name given here
		v.s.Changed(d, []string{shown.Name})
	}
	f.Doc, f.Sized = doc, false
	f.Entry.Doc.Store(doc)
	f.Entry.Keep, f.Entry.ServiceName = v.s.KeepFor(), ""
	if f.Dir == d { // else it was removed, or made way for the listed document, meanwhile
		d.Shown.Add(f.Entry)
	}
}

// deliverQueued tries to archive a file that was accepted before. What is refused stays
// in its folder as failed.
func (v *delivery) deliverQueued(ctx context.Context, f *File, up *spool.Upload) (wait bool, err error) {
	f.Commit.Lock()
	defer f.Commit.Unlock()
	if f.Pending() != up || f.gone() || !up.Record().Queued {
		return false, background.ErrMoot // changed, or removed, meanwhile
	}
	if up.State() == spool.Created { // recalled for a change that did not come
		if err := v.recommitLocked(f, up); err != nil {
			return !errors.Is(err, background.ErrMoot), err
		}
	}
	d, _ := f.Place()
	if err := v.leaveQueuedFolder(up, d); err != nil {
		return false, errors.Join(background.ErrMoot, err)
	}
	var baseline spool.Baseline
	if d != nil {
		baseline = v.s.Baseline(d)
	}
	id, err := spool.DeliverWith(ctx, up, v.s.Service.Archive, baseline, v.s.queuePolicy())
	_ = v.s.Service.Answered(err)
	switch {
	case err == nil:
		v.ArrivedLocked(ctx, f, up, id)
		return false, nil
	case up.Record().Queued:
		v.s.Service.Log.WithField("path", archive.Printable(f.Where())).Infof("waits to be archived: %v", err)
		return true, err
	}
	v.s.Service.Failures.Add("archive", up, f.Where(), err)
	v.giveUpLocked(f, up)
	return false, err
}

// recommitLocked makes what was recalled what it was, unless somebody has begun to change it,
// whose close then decides.
// +checklocks:f.Commit
func (v *delivery) recommitLocked(f *File, up *spool.Upload) error {
	err := up.Recommit()
	var changed *spool.StateError
	switch {
	case errors.As(err, &changed):
		return background.ErrMoot
	case err != nil:
		v.s.Service.Failures.Add("archive", up, f.Where(), err)
		return err
	}
	f.happened(onQueue)
	return nil
}

// leaveQueuedFolder gives an upload the id of its folder where that was made at the moment
// the file was put there. Where the folder failed the upload fails.
func (v *delivery) leaveQueuedFolder(up *spool.Upload, d *tree.Dir) error {
	if up.Record().Within == "" {
		return nil
	}
	if d != nil && d.QueuedAs() == nil {
		return up.Update(d.Aim)
	}
	return v.s.Folders.failIn(up)
}

// errFailed is what a program is told that wrote to a file which failed by the close of
// another one: its bytes are kept, and will not be archived by themselves.
const errFailed = syscall.EIO

// giveUpLocked decides where a failed file is shown. What a close had accepted stays in its
// folder. Else whoever closed it was told, and it leaves: a folder shows what is archived
// or on its way, and a retry can create the name anew. A document stays in any case, with
// its old bytes when it leaves.
// +checklocks:f.Commit
func (v *delivery) giveUpLocked(f *File, up *spool.Upload) {
	if d, name := f.Place(); d != nil {
		d.Distrust() // the service may have it after all, or not even the document
		v.s.Changed(d, []string{name})
	}
	f.Mu.Lock()
	f.happenedLocked(onRefusal)
	stays, document := f.phase == failed, f.Doc != nil
	f.Mu.Unlock()
	switch {
	case stays:
		if err := up.Update(func(r *spool.Record) { r.Visible = true }); err != nil {
			v.s.Service.Failures.Add("show as failed", up, f.Where(), err)
		}
	case document:
		f.detach()
		v.s.letGo(up)
	default:
		f.hide()
	}
}

// abandon fails a file whose bytes are not what they were meant to be. It leaves its
// folder and stays in the list of uploads.
func (v *delivery) abandon(f *File, reason string) {
	f.Commit.Lock()
	defer f.Commit.Unlock()
	v.abandonLocked(f, reason)
}

// abandonLocked is abandon under Commit.
// +checklocks:f.Commit
func (v *delivery) abandonLocked(f *File, reason string) {
	f.Mu.Lock()
	up, gone := f.Up, f.phase == removed
	f.Mu.Unlock()
	if up == nil || gone {
		return
	}
	v.s.Service.Failures.Add("keep as failed", up, f.Where(), errors.New(reason))
	if err := up.Fail(reason, false); err != nil {
		v.s.Service.Failures.Add("keep as failed", up, f.Where(), err)
	}
	v.giveUpLocked(f, up)
}

// finish turns the bytes in the spool into a document, now or, with later, in the
// background, or keeps them as a local file. Its error is what close answers: the file has
// then left its folder and is kept as failed.
func (v *delivery) finish(ctx context.Context, f *File, later bool) error {
	v.s.Service.Work.Begin()
	defer v.s.Service.Work.End()
	f.Commit.Lock()
	defer f.Commit.Unlock()
	f.Mu.Lock()
	up, todo, bad, d, doc, writing := f.Up, f.phase.unfinished(), f.spoiltLocked(), f.Dir, f.Doc, f.writing
	f.Mu.Unlock()
	switch {
	case up == nil || !todo:
		return nil // another close came first
	case d == nil: // removed, or failed before
		return nil
	case bad != nil:
		v.abandonLocked(f, bad.Error())
		return bad
	case up.State() == spool.Failed: // with another close
		f.happened(onRefusal)
		return errFailed
	case up.State() != spool.Created: // another close came first, and took these bytes along
		f.happened(onSeal)
		return nil
	case writing > 0: // by now: their close ends the file
		return f.accept(up)
	}
	_, name := f.Place()
	if doc == nil && (d.StaysLocal(name) || up.Record().Temporary) || up.Size() == 0 {
		f.happened(onKeep)
		return up.Keep()
	}
	id, sent, err := v.SendLocked(ctx, f, up, d, later)
	switch {
	case err != nil:
		v.giveUpLocked(f, up)
	case sent:
		v.ArrivedLocked(ctx, f, up, id)
	}
	return err
}

// SendLocked archives the bytes as their record says, in the directory d, and returns the
// document's id, 0 when the service does not tell it. With later it only queues them, as it
// does where the folder itself is queued. On an error the upload is failed and keeps the
// reason.
// +checklocks:f.Commit
func (v *delivery) SendLocked(ctx context.Context, f *File, up *spool.Upload, d *tree.Dir, later bool) (id archive.ID, sent bool, err error) {
	f.happened(onSeal)
	later = later || v.s.Async || d.QueuedAs() != nil
	refused := v.refusedIn(d)
	err = v.seal(f, up, d, later && refused == nil)
	if err == nil {
		err = refused // which leaves it a whole file
	}
	if err != nil {
		v.s.Service.Failures.Add("archive", up, f.Where(), err)
		return 0, false, errors.Join(err, up.Fail(err.Error(), false))
	}
	if later {
		v.s.queue.Add(up)
		return 0, false, nil
	}
	v.s.sending.Add(1)
	defer v.s.sending.Add(-1)
	if id, err = spool.Deliver(ctx, up, v.s.Service.Archive, v.s.Baseline(d)); v.s.Service.Answered(err) != nil {
		v.s.Service.Failures.Add("archive", up, f.Where(), err)
		return 0, false, err
	}
	return id, true, nil
}

// seal makes the bytes complete, with the directory's defaults, durably. With queued they
// are accepted for the background.
func (v *delivery) seal(f *File, up *spool.Upload, d *tree.Dir, queued bool) error {
	if err := whole.Check(up); err != nil {
		return err
	}
	meant := func(r *spool.Record) {
		d.Aim(r)
		v.applyDefaults(d, r)
	}
	err := up.CommitAs(func(r *spool.Record) { meant(r); r.Queued = queued })
	if err != nil {
		_ = up.Update(meant) // for a retry; err says more
		return err
	}
	if queued {
		f.happened(onQueue)
	}
	return nil
}

// endWriting finishes a file whose last writer has gone, when its closes did not. They
// were answered with success. One who has begun to write meanwhile ends it instead.
func (v *delivery) endWriting(ctx context.Context, f *File) {
	f.Mu.Lock()
	up, todo, doc := f.Up, f.phase.unfinished(), f.Doc
	nothing := up == nil || f.phase == removed || f.writing > 0
	if !nothing && todo {
		f.happenedLocked(onAnswer)
	}
	f.Mu.Unlock()
	switch {
	case nothing:
	case todo:
		if err := v.finish(ctx, f, true); err != nil {
			v.s.Service.Failures.Add("archive after close", up, f.Where(), err)
		}
	case doc == nil && up.State() == spool.Created: // else it is on its way, which is not waited for
		v.keepUnwritten(f)
	}
}

// keepUnwritten keeps a file that was created and closed without a byte as a local one,
// unless a rename has just taken it for the archive.
func (v *delivery) keepUnwritten(f *File) {
	f.Commit.Lock()
	defer f.Commit.Unlock()
	up, todo := f.unfinished()
	if up == nil || todo { // somebody writes by now
		return
	}
	if r := up.Record(); r.State != spool.Created || r.Closed || r.Queued {
		return
	}
	if err := up.Keep(); err != nil {
		v.s.Service.Failures.Add("keep", up, f.Where(), err)
	}
}

// refusedIn is why nothing put into the directory can be archived: the folder was not made,
// and is not tried again by itself. Else it is nil.
func (v *delivery) refusedIn(d *tree.Dir) error {
	up := d.QueuedAs()
	if up == nil || up.State() != spool.Failed {
		return nil
	}
	return errno.Refuse(syscall.EIO, WhyWaits(v.s.Spool, &spool.Record{Within: up.ID(), Queued: true}))
}

// applyDefaults fills in what an upload into the directory takes along unless the file
// says otherwise: of each attribute the value of the nearest directory that has one.
func (v *delivery) applyDefaults(d *tree.Dir, r *spool.Record) {
	for at := d; at != nil; at = at.Above() {
		r.Inherit(v.s.state.Defaults(stateKey(at)))
	}
}

// stateKey is the number under which the state keeps what was set on a directory: its
// folder's id, and numbers that no folder has for the two that the service does not know.
func stateKey(d *tree.Dir) archive.ID {
	const inboxes = -1
	if d.Kind == tree.InboxesDir {
		return inboxes
	}
	return d.ID()
}
