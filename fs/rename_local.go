package fs

import (
	"context"
	"errors"
	"syscall"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/fs/internal/errno"
	"github.com/archivefs/archivefs/internal/spool"
)

// errSettled says that a file was archived, or failed, while its rename waited for that.
var errSettled = errors.New("the file is not local any more")

// renameLocal gives a file that is not archived another name. Out of a temporary name into
// a real one archives it: errors reach the caller and leave the file where it was. What is
// being sent is waited for; what is queued goes on to the archive under its new name, or is
// taken back when that is a temporary one.
func (c *fileChanges) renameLocal(ctx context.Context, f *file, to *dir, newName string, over *entry) error {
	c.fs.work.Begin()
	defer c.fs.work.End()
	var other *file
	if over != nil && over.dir == nil {
		other = to.fileOf(over)
	}
	defer lockCommits(f, other)()
	up := f.pending()
	if d, _ := f.place(); up == nil || d == nil {
		return errSettled
	}
	replaced, err := to.fs.files.mayReplace(to, newName, over)
	if err == nil {
		err = c.recallFor(f, up, other, to.staysLocal(newName))
	}
	if err != nil {
		return err
	}
	before := up.Record()
	err = up.Update(func(r *spool.Record) {
		retarget(r, c.fs.record(to, newName, replaced))
		r.Queued = r.Queued && !to.staysLocal(newName)
	})
	switch {
	case err != nil:
		return err
	case c.ready(f, up, to, newName):
		return c.sendAs(ctx, f, up, before, to, newName, over, replaced)
	}
	c.moveTo(f, to, newName, over, replaced)
	if up.Record().Queued {
		c.fs.staging.queue.Add(up) // it may have left a folder that is not made
	}
	return nil
}

// lockCommits locks commit of both files, of which the second may be nil, so that neither
// is sent.
func lockCommits(a, b *file) (unlock func()) {
	if b == nil || a == b {
		a.commit.Lock()
		return a.commit.Unlock
	}
	if b.ino < a.ino {
		a, b = b, a
	}
	a.commit.Lock()
	b.commit.Lock()
	return func() {
		b.commit.Unlock()
		a.commit.Unlock()
	}
}

// recallFor takes back from the queue what a rename puts an end to: what is replaced, and
// the file itself when it is to stay local. The caller holds commit of both.
func (c *fileChanges) recallFor(f *file, up *spool.Upload, other *file, local bool) error {
	if local && up.Record().Queued {
		if err := f.recallLocked(up); err != nil {
			return err
		}
	}
	if other == nil {
		return nil
	}
	if up := other.pending(); up != nil && up.Record().Queued {
		return other.recallLocked(up)
	}
	return nil
}

// sendAs archives the file under its new name, which it then has; on an error it is what it
// was before. The caller holds commit.
func (c *fileChanges) sendAs(ctx context.Context, f *file, up *spool.Upload, before spool.Record, to *dir, newName string, over *entry, replaced *archive.Document) error {
	id, sent, err := f.fs.delivery.send(ctx, f, up, to, false)
	if err != nil {
		return c.takeBack(f, up, before, err)
	}
	c.moveTo(f, to, newName, over, replaced)
	if sent {
		f.fs.delivery.arrived(ctx, f, up, id)
	}
	return nil
}

// retarget gives a record another place and name.
func retarget(r *spool.Record, place spool.Record) {
	r.Folder, r.Within, r.Inbox, r.Path, r.Local = place.Folder, place.Within, place.Inbox, place.Path, place.Local
	r.Name, r.DocumentName, r.Replace, r.Temporary = place.Name, place.DocumentName, place.Replace, place.Temporary
}

// ready reports whether a local file becomes a document under the name: not when it is
// empty, nor while somebody still writes to it, whose close then archives it. That a
// handle is released does not count: the kernel tells it some time after the close.
func (c *fileChanges) ready(f *file, up *spool.Upload, to *dir, name string) bool {
	if to.staysLocal(name) || up.Size() == 0 || up.State() != spool.Created || up.Record().Queued {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.writing > 0 {
		f.happenedLocked(onWrite)
		return false
	}
	return true
}

// takeBack makes a file that the archive refused what it was before the rename, and keeps
// the reason.
func (c *fileChanges) takeBack(f *file, up *spool.Upload, before spool.Record, err error) error {
	if kerr := up.Reopen(); kerr != nil {
		return errors.Join(err, kerr)
	}
	if kerr := up.Update(func(r *spool.Record) { retarget(r, before) }); kerr != nil {
		return errors.Join(err, kerr)
	}
	return errors.Join(err, up.KeepRefused(err.Error()))
}

// mayReplace says what a local file may take the name of: a local file, or an inbox
// document, which gets the new bytes and is returned.
func (c *fileChanges) mayReplace(d *dir, name string, over *entry) (*archive.Document, error) {
	if over == nil {
		return nil, nil
	}
	doc := over.doc.Load()
	switch {
	case over.dir != nil:
		return nil, syscall.EISDIR
	case doc != nil && d.kind != inboxDir:
		return nil, errno.ErrOverArchived
	case doc != nil && d.staysLocal(name):
		return nil, errno.Refuse(syscall.EPERM, "a document has the temporary name")
	case doc != nil && c.fs.service.Archive.LacksReplace():
		return nil, errno.ErrNoReplace
	case doc != nil && over.busy():
		return nil, errno.ErrSending
	case doc != nil:
		return doc, nil
	}
	if up := over.file.Load().pending(); up != nil {
		switch s := up.State(); {
		case s == spool.Created, s == spool.Failed, s == spool.Committed && up.Record().Queued:
		default:
			return nil, errno.ErrMayHave
		}
	}
	return nil, nil
}

// moveTo shows the file under another name, in place of over. With replaced it stands for
// that document from now on, whose new bytes it holds. The caller holds commit.
func (c *fileChanges) moveTo(f *file, to *dir, name string, over *entry, replaced *archive.Document) {
	if over != nil {
		to.fileOf(over).remove()
	}
	from, _ := f.place()
	if from == nil {
		return
	}
	f.mu.Lock()
	shown := f.entry
	f.dir = to
	f.mu.Unlock()
	from.drop(shown)
	to.mu.Lock()
	defer to.mu.Unlock()
	shown = shown.renamed(name)
	if replaced != nil {
		shown.setDocument(replaced)
		shown.told = over.told
	}
	to.shown.add(shown)
}
