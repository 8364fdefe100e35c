package staging

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/cache"
	"github.com/archivefs/archivefs/fs/internal/background"
	"github.com/archivefs/archivefs/fs/internal/errno"
	"github.com/archivefs/archivefs/fs/internal/tree"
	"github.com/archivefs/archivefs/internal/spool"
	"github.com/archivefs/archivefs/internal/whole"
)

// delivery turns the staged bytes of files into documents, or keeps them as failed.
type delivery struct{ s *Area }

// finish archives the staged bytes, or queues them if later is set, or keeps them as a local file.
// The error is what close returns.
func (v *delivery) finish(ctx context.Context, f *File, later bool) error {
	v.s.Service.Work.Begin()
	defer v.s.Service.Work.End()
	f.Commit.Lock()
	defer f.Commit.Unlock()
	return v.finishLocked(ctx, f, later)
}

// finishLocked is finish under Commit.
// +checklocks:f.Commit
func (v *delivery) finishLocked(ctx context.Context, f *File, later bool) error {
	f.Mu.Lock()
	up, d, doc, writing := f.Up, f.Dir, f.Doc, f.writing
	f.Mu.Unlock()
	switch {
	case up == nil: // another close was faster
		return nil
	case up.State().IsFailed(): // in another close
		return errFailed
	case !up.State().Due() || d == nil: // another close was faster, and took these bytes, too; or they were removed
		return nil
	case up.Spoilt() != nil:
		bad := up.Spoilt()
		v.abandonLocked(f, bad.Error())
		return bad
	case writing > 0: // somebody has begun to write, and their close ends the file
		return f.promise(up)
	}
	_, name := f.Place()
	if doc == nil && (d.StaysLocal(name) || up.Record().Temporary) || up.Size() == 0 {
		err := up.Keep("", func(*spool.Record) {})
		if err == nil && IsHeldBack(up) {
			v.s.Queue.Add(up)
		}
		return err
	}
	id, sent, err := v.SendLocked(ctx, f, up, d, func(*spool.Record) {}, later)
	switch {
	case err != nil:
		v.giveUpLocked(f, up)
	case sent:
		v.ArrivedLocked(ctx, f, up, id)
	}
	return err
}

// Rewrite gives an inbox document the bytes of another one, which remove takes away when they are safe here.
// On an error of remove nothing has changed; after a later one the bytes are kept as a failed upload.
func (v *delivery) Rewrite(ctx context.Context, f, from *File, remove func() error) error {
	v.s.Service.Work.Begin()
	defer v.s.Service.Work.End()
	f.Commit.Lock()
	defer f.Commit.Unlock()
	d, name := f.Place()
	switch {
	case d == nil:
		return syscall.ENOENT
	case f.Pending() != nil:
		return errno.ErrSending
	}
	up, err := v.s.Spool.Create(v.s.People.Sign(ctx, v.s.Record(d, name, f.Document())))
	if err != nil {
		return err
	}
	if err = from.CopyTo(ctx, up); err == nil {
		err = up.Sync(false)
	}
	if err == nil {
		err = remove()
	}
	if err != nil {
		v.s.Discard(up)
		return err
	}
	if err := f.stageIn(up); err != nil {
		return err
	}
	return v.finishLocked(ctx, f, false)
}

// endWriting queues a file whose last writer has left, if none of its closes finished it. Those closes returned
// success. If somebody has begun to write again, their close finishes the file instead.
func (v *delivery) endWriting(ctx context.Context, f *File) {
	f.Mu.Lock()
	up, doc, writing := f.Up, f.Doc, f.writing > 0
	f.Mu.Unlock()
	switch {
	case up == nil || up.Removed() || writing:
	case up.State().Due():
		up.Answered()
		if err := v.finish(ctx, f, true); err != nil {
			v.s.Service.Failures.AddFailed("archive after close", up, f.Where(), err)
		}
	case doc == nil && up.State() == spool.Created: // else it may be in flight; do not wait for it
		v.keepUnwritten(f)
	case up.Record().Rest > 0: // the queue may have left it to this writer
		v.s.Queue.Add(up)
	}
}

// keepUnwritten keeps a file that was created and closed without a write as a local one, unless a
// rename has just handed it to the archive.
func (v *delivery) keepUnwritten(f *File) {
	f.Commit.Lock()
	defer f.Commit.Unlock()
	up := f.Pending()
	if up == nil || up.State() != spool.Created {
		return
	}
	if err := up.Keep("", func(*spool.Record) {}); err != nil {
		v.s.Service.Failures.Add("keep", up, f.Where(), err)
	}
}

// SendLocked archives the bytes in the directory d, as their record says when edit has changed it. It returns the
// document's id, 0 if the service does not return one. If later is set, if writes are asynchronous, or if the folder is
// queued, it only queues the bytes, and sent is false. On an error the upload is failed and has the reason.
// +checklocks:f.Commit
func (v *delivery) SendLocked(ctx context.Context, f *File, up *spool.Upload, d *tree.Dir, edit func(*spool.Record), later bool) (id archive.ID, sent bool, err error) {
	meant := v.meant(d, edit)
	r := up.Record()
	meant(&r)
	later = later || v.s.Async || d.QueuedAs() != nil || r.Rest > 0
	refused := v.refusedIn(d)
	err = v.seal(ctx, up, meant, later && refused == nil, r.Rest)
	if err == nil {
		err = refused // after seal, so that the file counts as complete
	}
	if err != nil {
		v.s.Service.Failures.AddFailed("archive", up, f.Where(), err)
		return 0, false, errors.Join(err, up.Fail(err.Error(), false), up.Update(meant)) // a retry asks for what was meant
	}
	if later {
		v.s.queued.Store(time.Now().UnixNano())
		v.s.Queue.Add(up)
		return 0, false, nil
	}
	v.s.sending.Add(1)
	defer v.s.sending.Add(-1)
	if id, err = v.sendAgain(ctx, up, v.s.Baseline(d)); v.s.Service.Answered(err) != nil {
		v.s.Service.Failures.AddFailed("archive", up, f.Where(), err)
	}
	return id, err == nil, err
}

// sendAgain sends the bytes in the place of the same that failed or were cut off earlier. Where the look for those
// finds them, nothing is sent.
func (v *delivery) sendAgain(ctx context.Context, up *spool.Upload, baseline spool.Baseline) (id archive.ID, err error) {
	var continued []*spool.Upload
	for _, earlier := range v.s.doubts.continued(up) {
		was := earlier.Record()
		if found(&was) && v.shows(ctx, was.Folder, was.Document) {
			return was.Document, nil
		}
		if unanswered(&was) {
			if id, err = spool.Resolve(ctx, earlier, v.s.Service.Archive, false); err == nil {
				v.s.conclude(ctx, earlier, id)
				return id, nil
			}
		}
		if continues(up, earlier) {
			continued = append(continued, earlier)
		}
	}
	id, err = spool.Deliver(ctx, up, v.s.Service.Archive, baseline)
	for _, earlier := range continued {
		if err == nil {
			was := earlier.Record()
			v.s.Service.Failures.Mend(&was)
			v.s.Discard(earlier)
		}
	}
	return id, err
}

// meant returns the edit of a record that is for d.
func (v *delivery) meant(d *tree.Dir, edit func(*spool.Record)) func(*spool.Record) {
	return func(r *spool.Record) {
		edit(r)
		d.Aim(r)
		r.Inherit(v.s.Defaults(d))
		if r.Rest = max(r.Rest, v.s.Grace); r.Doubted {
			r.Rest = max(r.Rest, Doubt)
		}
	}
}

// refusedIn returns why nothing in the directory can be archived: its queued folder failed and
// waits for a retry. Otherwise it returns nil.
func (v *delivery) refusedIn(d *tree.Dir) error {
	up := d.QueuedAs()
	if up == nil || !up.State().IsFailed() {
		return nil
	}
	return errno.Refuse(syscall.EIO, WhyWaits(v.s.Spool, &spool.Record{Within: up.ID(), State: spool.Queued}))
}

// seal checks that the bytes are complete, and commits the record as meant changes it, for the queue if
// queued is set. What is to rest there is checked after it (attempt): scanners, for example, close a file
// after each page and open it again for the next one.
func (v *delivery) seal(ctx context.Context, up *spool.Upload, meant func(*spool.Record), queued bool, rest time.Duration) error {
	if !queued || rest == 0 {
		if err := whole.Check(up); err != nil {
			return err
		}
	}
	err := up.Commit(queued, func(r *spool.Record) {
		meant(r)
		r.By(v.s.People.Of(ctx))
	})
	if err == nil && up.Record().Written != "" {
		v.s.repeats.note(up)
	}
	return err
}

// Defaults returns the attributes of what is put into a directory and does not set them itself. Each comes
// from the nearest directory that has a value for it.
func (s *Area) Defaults(d *tree.Dir) (all archive.Attributes) {
	for at := d; at != nil; at = at.Above() {
		all.Inherit(s.State.Defaults(stateKey(at)))
	}
	return all
}

// releaseTime is how long a RELEASE may come after its close, which is looked for at pauses.
const releaseTime, releasePause = time.Second, 10 * time.Millisecond

// SendNow archives at once what waits to replace a document that is about to be moved, or says why not.
func (v *delivery) SendNow(ctx context.Context, f *File) error {
	up := f.Pending()
	if up == nil {
		return nil
	}
	for waited := time.Duration(0); ; waited += releasePause { // RELEASE comes some time after the close
		open, _ := f.Writing()
		if !open && up.State().InQueue() {
			break
		}
		if !open && !up.State().Due() || waited > releaseTime {
			return errno.Refuse(syscall.EBUSY, "it has new content on this machine, or was emptied: write it in full first")
		}
		time.Sleep(releasePause)
	}
	_, err := v.s.attempt(v.s.People.behalf(context.WithoutCancel(ctx), up), up)
	if f.Pending() == up {
		return cmp.Or(err, errno.ErrSending)
	}
	return nil
}

// attempt is one attempt of the queue at a file. If the service refuses the file, it stays in its folder as failed.
func (v *delivery) attempt(ctx context.Context, f *File, up *spool.Upload) (wait bool, err error) {
	f.Commit.Lock()
	defer f.Commit.Unlock()
	if f.Pending() != up || up.Removed() || !up.State().InQueue() {
		return false, background.ErrMoot // changed or removed meanwhile
	}
	if up.State() == spool.Recalled {
		var changed *spool.StateError
		switch err := up.Recommit(); {
		case errors.As(err, &changed): // somebody has begun, and their close decides
			return false, background.ErrMoot
		case err != nil:
			v.s.Service.Failures.Add("archive", up, f.Where(), err)
			return true, err
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
	if err := up.Open(); err == nil { // once for all that reads the bytes
		defer up.Close() //nolint:errcheck // read only
	}
	if up.State() == spool.Resting {
		if err := v.restedLocked(ctx, f, up); err != nil {
			return false, errors.Join(err, background.ErrMoot) // a move that sends it returns the first
		}
	}
	id, err := spool.DeliverWith(ctx, up, v.s.Service.Archive, baseline, v.s.queuePolicy())
	_ = v.s.Service.Answered(err)
	switch {
	case err == nil:
		v.ArrivedLocked(ctx, f, up, id)
		return false, nil
	case up.State().InQueue():
		v.s.Service.Log.WithField("path", archive.Printable(f.Where())).Infof("waits to be archived: %v", err)
		return true, err
	}
	v.s.Service.Failures.AddFailed("archive", up, f.Where(), err)
	v.giveUpLocked(f, up)
	return false, err
}

// restedLocked checks a file that has been left alone for a while. It returns background.ErrMoot if a writer still has
// it open, whose close decides, or if its device writes it again: what is already whole waits for that, and what was
// written again is dropped. A file that lacks its end stays in its folder as failed.
// +checklocks:f.Commit
func (v *delivery) restedLocked(ctx context.Context, f *File, up *spool.Upload) error {
	if written, _ := f.Writing(); written {
		return background.ErrMoot
	}
	r := up.Record()
	err := cmp.Or(r.Lacks(), whole.Check(up))
	there := func(doc archive.ID) bool { return v.shows(ctx, r.Folder, doc) } // whoever has moved or removed it wants another one
	switch {
	case v.s.repeats.cover(up, err != nil, there):
		v.s.Service.Log.WithField("path", archive.Printable(f.Where())).Info("it was written again under its name, and is archived once")
		f.hide()
		f.lastPlaceLocked()
		v.s.Discard(up)
		return background.ErrMoot
	case !v.s.ending.Load() && v.s.repeats.await(up, v.s.Service.Now(), v.s.Grace):
		v.s.Queue.Add(up)
		return background.ErrMoot
	case err == nil:
		return nil
	}
	v.KeepLocked(f, up, err)
	return err
}

// shows reports whether the service lists a document in a folder.
func (v *delivery) shows(ctx context.Context, folder, doc archive.ID) bool {
	docs, err := v.s.Service.ListAfresh(ctx, folder)
	return err == nil && tree.FindDocument(docs, doc) != nil
}

// KeepLocked keeps a file in its folder as failed that is not whole.
// +checklocks:f.Commit
func (v *delivery) KeepLocked(f *File, up *spool.Upload, why error) {
	v.s.Service.Failures.AddFailed("archive", up, f.Where(), why)
	if err := up.Fail(why.Error(), true); err != nil {
		v.s.Service.Failures.Add("keep as failed", up, f.Where(), err)
	}
	v.giveUpLocked(f, up)
}

// leaveQueuedFolder gives an upload the id of its folder if that was created while the file was put
// there. If the folder failed, so does the upload.
func (v *delivery) leaveQueuedFolder(up *spool.Upload, d *tree.Dir) error {
	if up.Record().Within == "" {
		return nil
	}
	if d != nil && d.QueuedAs() == nil {
		return up.Update(d.Aim)
	}
	return v.s.Folders.failIn(up)
}

// ArrivedLocked makes the file the document that the archive confirmed. If id is 0, the file waits
// for a listing that shows the document.
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
	v.s.Service.Log.WithField("path", archive.Printable(f.Where())).WithField("document", id).
		Infof("%s %d bytes", done, r.Size)
	if err := up.Open(); err == nil { // a program may open the file while its bytes move
		defer up.Close() //nolint:errcheck // the bytes are archived
	}
	if id == 0 {
		if !v.s.Placing.awaits(up, &r) { // else the first listing of its folder finds the document
			f.stayUnlisted()
		}
		v.s.Queue.Add(up)
		return
	}
	v.s.cacheBytes(up, id)
	if d := f.lastPlaceLocked(); d != nil {
		v.become(f, d, d.Kind().Confirmed(&r, id, d.Document(id), r.Changed), r.Splits())
		f.detach()
	} else { // recovered and not shown yet, or not any more
		v.s.listAgain(&r)
	}
	v.s.conclude(ctx, up, id)
}

// giveWayLocked ends a file that the archive already had (Record.Had). That document keeps its name
// and place; the name of the file disappears.
// +checklocks:f.Commit
func (v *delivery) giveWayLocked(f *File, up *spool.Upload, r *spool.Record) {
	v.s.Service.Log.WithField("path", archive.Printable(f.Where())).
		Infof("the archive has it already, as %s (document %s)", r.Had, r.Document)
	v.s.Service.Failures.Mend(r)
	d := f.lastPlaceLocked()
	if d == nil {
		v.s.listAgain(r)
		v.s.Discard(up)
		return
	}
	d.Distrust() // the document may have the same name
	_, name := f.Place()
	f.Remove()
	v.s.Changed(d, []string{name})
}

// become makes the file stand for doc. If the service may have made others of it, they have to be listed.
func (v *delivery) become(f *File, d *tree.Dir, doc *archive.Document, others bool) {
	d.Mu.Lock()
	defer d.Mu.Unlock()
	f.Mu.Lock()
	defer f.Mu.Unlock()
	if shown := d.Shown.Document(doc.ID); shown != nil && shown != f.Entry && f.Dir == d {
		d.Shown.Drop(shown) // a listing was faster; the document keeps the file's name, unless that is made up
		v.s.Changed(d, []string{shown.Name, f.Entry.Name})
		if shown.Name == doc.Name && f.Entry.Name != doc.Name {
			d.Shown.Drop(f.Entry)
			f.Entry = tree.NewEntry(shown.Name, nil, &f.Leaf)
		}
	}
	f.Doc, f.Sized = doc, false
	f.Entry.Doc.Store(doc)
	f.Entry.Keep, f.Entry.ServiceName = v.s.KeepFor(), ""
	if f.Dir == d { // else it was removed, or gave way to the listed document, meanwhile
		d.Shown.Add(f.Entry)
	}
	if f.Dir != d || others {
		d.Outdate()
		return
	}
	d.AmendLocked(doc.ID, doc)
}

// cacheBytes moves the bytes of a confirmed upload into the content cache, so that reading them back downloads nothing,
// and keeps their modification time. It leaves a document alone that the archive already had (Record.Had).
func (s *Area) cacheBytes(up *spool.Upload, id archive.ID) {
	r := up.Record()
	s.Service.Failures.Mend(&r)
	if id == 0 || r.Had != "" {
		return
	}
	up.Cached.Do(func() { // a listing may find it at the same moment
		s.State.SetModified(id, ModifiedOf(&r), r.Changed)
		key := cache.Key{Document: id, Representation: archive.Original}
		of := archive.Unlisted
		if r.Inbox {
			of = 0
		}
		err := up.Verify() // an upload that was confirmed before a crash of the machine may have lost its data
		if err == nil {
			err = s.Content.Adopt(key, cache.Adoption{Path: up.DataPath(), Body: up, Size: r.Size, Sum: r.SHA256, Print: of})
		}
		if err != nil {
			s.Service.Log.Debugf("cache document %s: %v", id, err)
		}
		if of != 0 {
			s.Facts.Learn(key, of, r.Size)
		}
		if r.Replace != 0 {
			s.Rewritten(id)
		}
	})
}

// conclude ends a confirmed upload: it sets auto-export, which an upload cannot carry, and discards the upload. If the
// service is away or rejects the credentials, the record stays and the next mount tries again.
func (s *Area) conclude(ctx context.Context, up *spool.Upload, id archive.ID) {
	if r := up.Record(); r.AutoExport && id != 0 && r.Had == "" {
		err := s.Service.Archive.SetAutoExport(context.WithoutCancel(ctx), id, true)
		if err != nil {
			s.Service.Failures.Add("set auto-export", up, r.Path+"/"+r.Name, err)
		}
		if archive.Away(err) || archive.KindOf(err) == archive.KindUnauthorized {
			s.letGo(up)
			return
		}
		if d := s.Folder(r.Folder); err == nil && d != nil && d.Document(id) != nil {
			doc := *d.Document(id)
			doc.AutoExport = archive.FlagTrue
			d.Update(&doc)
		} else {
			s.listAgain(&r)
		}
	}
	s.Discard(up)
}

// settle is one attempt of the queue to find the document of an upload that was confirmed without an id, which the next
// listing shows then. What is not listed for too long has failed in doubt, and keeps its bytes.
func (s *Area) settle(ctx context.Context, up *spool.Upload) (wait bool, err error) {
	f := s.Holder(up)
	f.Commit.Lock()
	defer f.Commit.Unlock()
	last := s.Service.Now().After(up.Record().Changed.Add(s.Lag()))
	as, err := spool.Settle(ctx, up, s.Service.Archive, last)
	_ = s.Service.Answered(err)
	r := up.Record()
	switch id := r.Document; {
	case up.Removed():
		return false, background.ErrMoot
	case err == nil:
		if s.cacheBytes(up, id); id == 0 && len(as) == 1 { // certain enough for the time, but not for the content cache
			id = as[0]
			s.State.SetModified(id, ModifiedOf(&r), r.Changed)
		}
		s.listAgain(&r)
		f.hide()
		s.conclude(ctx, up, id)
	case r.State == spool.Confirmed && archive.Away(err):
		return true, err
	case r.State == spool.Confirmed:
		return true, fmt.Errorf("%w so far: %w", err, background.ErrOwn)
	default:
		s.Service.Failures.AddFailed("archive", up, f.Where(), err)
		s.Placing.await(up) // unless it is shown
		s.Delivery.giveUpLocked(f, up)
		s.doubts.plan(up, s.Service.Now())
	}
	return false, err
}

// listAgain makes the next listing show the document of an upload that has no place in the tree.
func (s *Area) listAgain(r *spool.Record) {
	s.Service.Documents.Invalidate(r.Folder)
	if d := s.folderAt(refOf(r)); d != nil {
		d.Distrust()
		s.Changed(d, []string{r.Name})
	}
}

// abandon fails a file whose bytes are not what the program meant.
func (v *delivery) abandon(f *File, reason string) {
	f.Commit.Lock()
	defer f.Commit.Unlock()
	v.abandonLocked(f, reason)
}

// abandonLocked is abandon under Commit.
// +checklocks:f.Commit
func (v *delivery) abandonLocked(f *File, reason string) {
	up := f.Pending()
	if up == nil || up.Removed() {
		return
	}
	v.s.Service.Failures.AddFailed("keep as failed", up, f.Where(), errors.New(reason))
	if err := up.Fail(reason, false); err != nil {
		v.s.Service.Failures.Add("keep as failed", up, f.Where(), err)
	}
	v.giveUpLocked(f, up)
}

// giveUpLocked decides where a failed file is shown. If a close has returned success, the file stays in its folder.
// Otherwise the close returns the error and the file leaves its folder, so that the program can create the name again.
// An inbox document always stays, and shows its old bytes if the new ones leave.
// +checklocks:f.Commit
func (v *delivery) giveUpLocked(f *File, up *spool.Upload) {
	if d, name := f.Place(); d != nil {
		d.Distrust() // the service may have the file after all, or lack the document it replaces
		v.s.Changed(d, []string{name})
	}
	switch {
	case up.State() == spool.Failed:
	case f.Document() != nil:
		f.detach()
		v.s.letGo(up)
	default:
		f.hide()
		v.s.doubts.plan(up, v.s.Service.Now())
	}
}
