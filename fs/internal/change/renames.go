package change

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"syscall"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/fs/internal/errno"
	"github.com/archivefs/archivefs/fs/internal/names"
	"github.com/archivefs/archivefs/fs/internal/staging"
	"github.com/archivefs/archivefs/fs/internal/tree"
	"github.com/archivefs/archivefs/internal/spool"
)

// renameNoReplace is a flag of renameat2(2).
const renameNoReplace = 1

// Rename moves or renames what has the name in d, as renameat2(2) does. This may archive an inbox
// document, or a file that had a temporary name.
func (c *Files) Rename(ctx context.Context, d *tree.Dir, name string, to *tree.Dir, newName string, flags uint32) error {
	if err := c.Folders.mayHold(to, newName); err != nil {
		return err
	}
	if flags&^renameNoReplace != 0 {
		return errno.Refuse(syscall.EPERM, "names cannot be exchanged")
	}
	e, err := d.Tree.Lookup(ctx, d, name)
	if err != nil {
		return err
	}
	over, err := to.Tree.Lookup(ctx, to, newName)
	if err != nil && errno.Of(err) != syscall.ENOENT {
		return err
	}
	if over != nil && over != e && flags&renameNoReplace != 0 {
		return errno.ErrTaken
	}
	if over == nil {
		over = c.hidden(to, newName) // an editor restores its backup over the hidden document
	}
	if over == e {
		return nil
	}
	target := newName
	if over != nil {
		target = over.Name
	}
	err = c.renameEntry(ctx, d, e, to, target, over)
	if errors.Is(err, errNotLocal) {
		return c.Rename(ctx, d, name, to, newName, flags)
	}
	if err == nil {
		c.forgetShown(d, e, name)
		if over != nil {
			c.forgetShown(to, over, newName)
		}
	}
	return err
}

// hidden returns the document that is hidden under the name, nil if there is none.
func (c *Files) hidden(d *tree.Dir, name string) *tree.Entry {
	d.Mu.Lock()
	defer d.Mu.Unlock()
	return d.Shown.Hidden(name)
}

// renameEntry moves or renames what an entry stands for. over, if not nil, has the new name and is replaced.
func (c *Files) renameEntry(ctx context.Context, d *tree.Dir, e *tree.Entry, to *tree.Dir, newName string, over *tree.Entry) error {
	if up := e.Upload(); up != nil {
		before := up.Record()
		defer staging.LeftFolder(c.s, up, &before)
	}
	switch {
	case e.Dir != nil:
		return c.renameDir(ctx, d, e, to, newName, over)
	case e.Doc.Load() != nil:
		return c.renameDocument(ctx, d, e, to, newName, over)
	}
	return c.renameLocal(ctx, staging.FileAt(e), to, newName, over)
}

// renameDocument renames a document in its folder, or archives an inbox document.
func (c *Files) renameDocument(ctx context.Context, d *tree.Dir, e *tree.Entry, to *tree.Dir, newName string, over *tree.Entry) error {
	switch {
	case to == d && d.Kind() == tree.InboxDir && to.Tree.Working.File(newName) != names.Real && !keepsLocal(to, newName):
		return c.copyAndHide(ctx, d, e, newName, over)
	case to.StaysLocal(newName):
		return errno.Refuse(syscall.EPERM, "temporary names and directories stay on this machine: a document cannot be archived there")
	case over != nil && over.Doc.Load() != nil && to.Kind().Archives():
		return errno.ErrOverArchived
	case over != nil || to == d:
	case d.Kind() != tree.InboxDir:
		return errno.Refuse(syscall.EPERM, "the service has no operation that moves an archived document")
	case !to.Kind().Archives():
		return errno.Refuse(syscall.EPERM, "an inbox document can only be archived: the service has no operation that moves it elsewhere")
	}
	if err := c.s.Delivery.SendNow(ctx, staging.FileOf(d, e)); err != nil {
		return err
	}
	switch {
	case over != nil && over.Doc.Load() != nil && d.Kind() == tree.InboxDir:
		return c.replaceDocument(ctx, d, e, to, over)
	case over != nil:
		return errno.ErrTaken
	}
	if err := c.s.Folders.MakeNow(ctx, to); err != nil {
		return err
	}
	if to == d {
		return c.renameHere(ctx, d, e, newName)
	}
	return c.archiveDocument(ctx, d, e, to, newName)
}

// replaceDocument renames an inbox document over another one, which keeps its id and gets the bytes. The
// renamed one is deleted: its bytes live on in the other.
func (c *Files) replaceDocument(ctx context.Context, d *tree.Dir, e *tree.Entry, to *tree.Dir, over *tree.Entry) error {
	switch replaced, err := c.mayReplace(to, over.Name, over); {
	case err != nil:
		return err
	case replaced == nil:
		return errno.ErrTaken
	}
	from, doc := e.Doc.Load(), over.Doc.Load()
	err := c.s.Delivery.Rewrite(ctx, staging.FileOf(to, over), staging.FileOf(d, e), func() error {
		err := c.deleteShown(ctx, d, e)
		if err == nil {
			c.moveKeywords(from, doc)
		}
		return err
	})
	c.s.Changed(to, []string{over.Name}) // the kernel gets the renamed document under that name
	return err
}

// moveKeywords adds the keywords that were set on an inbox document to those of another one, which gets its bytes.
func (c *Files) moveKeywords(from, to *archive.Document) {
	keywords, set := c.state.Keywords(from.ID)
	if !set {
		return
	}
	own, _ := c.state.Keywords(to.ID)
	err := errors.Join(c.state.SetKeywords(to.ID, staging.Added(to.Keywords, slices.Concat(own, keywords))), c.state.SetKeywords(from.ID, nil))
	if err != nil {
		c.s.Service.Log.Warnf("keywords of document %d are lost: document %d has its bytes: %v", from.ID, to.ID, err)
	}
}

func (c *Files) renameHere(ctx context.Context, d *tree.Dir, e *tree.Entry, newName string) error {
	shown := e.Doc.Load()
	send := names.ToSend(shown, e.Name, newName)
	if send != "" {
		if err := c.syncRemovals(e); err != nil {
			return err
		}
		id := shown.ID
		err := c.s.Service.Change(ctx, func(ctx context.Context) error {
			return c.s.Service.Archive.Rename(ctx, id, send)
		}, func(ctx context.Context) (bool, error) {
			docs, err := d.Tree.ListAfresh(ctx, d)
			doc := tree.FindDocument(docs, id)
			return doc != nil && doc.Name == send, err
		})
		if err != nil {
			return err
		}
	}
	c.state.SetChanged(shown.ID, c.s.Service.Now())
	d.Mu.Lock()
	defer d.Mu.Unlock()
	if now := d.Shown.Document(shown.ID); now != nil {
		e = now // a listing renamed it already
	}
	d.Shown.Drop(e)
	e = e.Renamed(newName)
	if send != "" {
		doc := *e.Doc.Load()
		doc.Name = send
		e.SetDocument(&doc)
		e.ServiceName, e.Keep = "", c.s.KeepFor()
		d.AmendLocked(doc.ID, &doc)
	}
	d.Shown.Add(e)
	return nil
}

// syncRemovals returns when no crash of the machine can make the next mount look for a document where it
// was uploaded to.
func (c *Files) syncRemovals(e *tree.Entry) error {
	if f := staging.FileAt(e); f != nil {
		f.Commit.Lock() // whoever archived it has removed its upload
		defer f.Commit.Unlock()
	}
	return c.s.Spool.SyncRemovals()
}

// errUnclear says that the inbox still lists a document while the target folder lists a new one
// with its name: another client's, or a copy.
var errUnclear = errors.New("it is unclear whether it was archived")

// archiveDocument moves an inbox document into a folder of the archive, with the keywords that were
// set on it, else those that the folder gives to what is put there. Open handles keep their file, even if the service gives the document a new id.
func (c *Files) archiveDocument(ctx context.Context, d *tree.Dir, e *tree.Entry, to *tree.Dir, newName string) error {
	if err := c.syncRemovals(e); err != nil {
		return err
	}
	if err := to.Tree.LoadDocuments(ctx, to, tree.NeedNames); err != nil {
		return err
	}
	inbox := *e.Doc.Load()
	keywords, own := c.state.Keywords(inbox.ID)
	if !own {
		keywords = c.s.Defaults(to).Keywords
	}
	target := archive.ArchiveTarget{Folder: to.ID(), Name: names.ToSend(&inbox, e.Name, newName), Keywords: staging.Added(inbox.Keywords, keywords)}
	before := c.documentIDs(to)
	var archived *archive.Document
	look := func(ctx context.Context) (bool, error) {
		docs, err := c.s.Service.ListAfresh(ctx, to.ID())
		archived = newDocument(docs, before, &inbox, target.Name)
		return archived != nil, err
	}
	took := func(ctx context.Context) (bool, error) {
		to.Distrust()
		docs, err := d.Tree.ListAfresh(ctx, d)
		switch {
		case err != nil:
			return false, err
		case tree.FindDocument(docs, inbox.ID) == nil:
			return c.s.Service.LookLate(ctx, func(ctx context.Context) (bool, error) {
				found, err := look(ctx)
				return found && archived.Name == nameOr(target.Name, &inbox), err
			})
		}
		if found, err := look(ctx); err != nil || found {
			return false, errors.Join(errUnclear, err)
		}
		return false, nil
	}
	err := c.s.Service.Change(ctx, func(ctx context.Context) error {
		return c.s.Service.Archive.Archive(ctx, inbox.ID, target)
	}, took)
	if err != nil {
		if archive.KindOf(err) == archive.KindNotFound {
			d.Distrust()
			to.Distrust()
		}
		return err
	}
	if archived == nil {
		if _, err := look(ctx); err != nil {
			c.s.Service.Log.Warnf("list after archiving: %v", err) // it is archived nevertheless
		}
	}
	if own {
		if err := c.state.SetKeywords(inbox.ID, nil); err != nil {
			c.s.Service.Log.Warnf("forget keywords of document %s: %v", inbox.ID, err)
		}
	}
	if archived != nil {
		c.state.SetChanged(archived.ID, c.s.Service.Now())
		c.s.Keeper.Archived(inbox.ID, archived.ID, to)
	}
	c.moveDocument(d, e, to, newName, archived)
	log := c.s.Service.Log.WithField("path", archive.Printable(to.PathOf(newName)))
	if archived != nil {
		log = log.WithField("document", archived.ID)
	}
	log.Infof("archived; it was document %s of an inbox", inbox.ID)
	if archived == nil {
		to.Distrust()
		c.s.Changed(to, []string{newName}) // the kernel has the inbox document under that name
	}
	return nil
}

func (c *Files) documentIDs(d *tree.Dir) map[archive.ID]bool {
	d.Mu.Lock()
	defer d.Mu.Unlock()
	return d.Shown.Here().Docs.IDs()
}

// newDocument finds what an inbox document has become in the listing of its target: the document
// with its id, else a new one with the requested name, else nil.
func newDocument(docs []archive.Document, before map[archive.ID]bool, inbox *archive.Document, name string) *archive.Document {
	name = nameOr(name, inbox)
	var found *archive.Document
	for i := range docs {
		doc := &docs[i]
		switch {
		case before[doc.ID]:
		case doc.ID == inbox.ID:
			return doc
		case doc.Name == name:
			found = doc
		}
	}
	return found
}

// nameOr returns name or, if that is empty, the name that the document has.
func nameOr(name string, doc *archive.Document) string {
	if name == "" {
		return doc.Name
	}
	return name
}

// moveDocument shows e in the directory to, as the document doc. If doc is nil the service does not
// list it yet, and the next listing will show it.
func (c *Files) moveDocument(d *tree.Dir, e *tree.Entry, to *tree.Dir, name string, doc *archive.Document) {
	f := staging.FileOf(d, e)
	d.Mu.Lock()
	if now := d.Shown.Document(e.Doc.Load().ID); now != nil {
		e = now // a listing renamed it meanwhile
	}
	d.Shown.Drop(e)
	d.AmendLocked(e.Doc.Load().ID, nil)
	d.Mu.Unlock()
	to.Mu.Lock()
	defer to.Mu.Unlock()
	f.Mu.Lock()
	defer f.Mu.Unlock()
	if doc == nil {
		f.Dir = nil
		return
	}
	if shown := to.Shown.Document(doc.ID); shown != nil {
		to.Shown.Drop(shown) // a listing was faster
	}
	shown := tree.NewEntry(name, doc, &f.Leaf)
	shown.ServiceName, shown.Keep = doc.Name, c.s.KeepFor()
	f.Dir, f.Doc, f.Entry = to, doc, shown
	to.Shown.Add(shown)
	to.AmendLocked(doc.ID, doc)
}

// copyAndHide renames an inbox document to a temporary name in its folder. Editors (vim, Emacs) do that to save a
// backup before they create the file again. The temporary name becomes a local copy. The document does not change at
// the service. It is hidden until a file created under its name replaces its content, or until the next listing shows
// it again. If the rename failed, vim would copy the document and remove it.
func (c *Files) copyAndHide(ctx context.Context, d *tree.Dir, e *tree.Entry, newName string, over *tree.Entry) error {
	if c.s.Service.Archive.LacksReplace() {
		return errno.ErrNoReplace
	}
	f := staging.FileOf(d, e)
	f.Commit.Lock()
	defer f.Commit.Unlock()
	replaced, err := c.mayReplace(d, newName, over)
	switch {
	case err != nil:
		return errno.Refuse(syscall.EPERM, err.Error())
	case replaced != nil:
		return errno.Refuse(syscall.EPERM, "a document has the temporary name")
	case f.Pending() != nil:
		return errno.Refuse(syscall.EPERM, "the document is being written")
	}
	r := c.s.Record(d, newName, nil)
	r.Temporary, r.Rest = true, 0
	up, err := c.s.Spool.Create(r)
	if err != nil {
		return err
	}
	if err := f.CopyTo(ctx, up); err != nil {
		c.s.Discard(up)
		return err
	}
	if err := up.Keep("", func(*spool.Record) {}); err != nil {
		c.s.Discard(up)
		return err
	}
	if over != nil {
		staging.FileAt(over).Remove()
	}
	d.Mu.Lock()
	defer d.Mu.Unlock()
	f.Mu.Lock()
	defer f.Mu.Unlock()
	for range f.Handles {
		if err := up.Open(); err != nil {
			c.s.Discard(up)
			return err
		}
	}
	shown := f.Entry
	d.Shown.Drop(shown)
	c.hideLocked(d, shown, f.Doc)
	f.Doc, f.Up = nil, up
	c.s.Hold(up, f)
	f.Entry = tree.NewEntry(newName, nil, &f.Leaf)
	d.Shown.Add(f.Entry)
	return nil
}

// hideLocked hides a document under its name.
// +checklocks:d.Mu
func (c *Files) hideLocked(d *tree.Dir, shown *tree.Entry, doc *archive.Document) {
	hidden := tree.NewEntry(shown.Name, doc, nil)
	hidden.ServiceName, hidden.Keep = shown.ServiceName, shown.Keep
	// It gets another inode. Open handles stay with the old one, and so with the copy.
	hidden.File.Store(&staging.NewFile(c.s, c.s.Inodes.Local(), d, hidden, doc, nil).Leaf)
	d.Shown.Hide(hidden)
}

// errNotLocal says that a file was archived or failed while its rename waited for Commit.
var errNotLocal = errors.New("the file is not local any more")

// renameLocal renames a file that is not archived. A rename from a temporary name to a real one archives it; on an
// error the file keeps the temporary name. The rename waits for an upload in flight. A queued file is archived under
// its new name, or taken back from the queue if that is a temporary one.
func (c *Files) renameLocal(ctx context.Context, f *staging.File, to *tree.Dir, newName string, over *tree.Entry) error {
	c.s.Service.Work.Begin()
	defer c.s.Service.Work.End()
	var other *staging.File
	if over != nil && over.Dir == nil {
		other = staging.FileOf(to, over)
	}
	if other == nil || other == f {
		f.Commit.Lock()
		defer f.Commit.Unlock()
	} else {
		lockCommits(f, other)
		defer f.Commit.Unlock()
		defer other.Commit.Unlock()
	}
	return c.renameLocalLocked(ctx, f, to, newName, over, other)
}

// lockCommits locks Commit of two files, in the order of their inode numbers.
// +checklocksacquire:a.Commit
// +checklocksacquire:b.Commit
func lockCommits(a, b *staging.File) {
	if b.Ino < a.Ino {
		b.Commit.Lock()
		a.Commit.Lock()
		return
	}
	a.Commit.Lock()
	b.Commit.Lock()
}

// renameLocalLocked is renameLocal under Commit of the file, and of other, which is the file of over, or nil.
// +checklocks:f.Commit
func (c *Files) renameLocalLocked(ctx context.Context, f *staging.File, to *tree.Dir, newName string, over *tree.Entry, other *staging.File) error {
	up := f.Pending()
	if d, _ := f.Place(); up == nil || d == nil {
		return errNotLocal
	}
	before := up.Record()
	replaced, err := c.mayReplace(to, newName, over)
	if never := errors.Is(err, errno.ErrOverArchived) || errors.Is(err, errno.ErrNoReplace); never && staging.Doubts(&before) {
		return errors.Join(err, c.keepRefused(f, up, fmt.Errorf("it was to become %s: %w", archive.Printable(to.PathOf(newName)), err))) // its name alone says that it is no document
	}
	place := c.s.Record(to, newName, replaced)
	if newName == before.Name { // it was perhaps created as programs create temporary files
		place.Temporary, place.Doubted = place.Temporary || before.Temporary, place.Doubted || before.Doubted
	}
	local := place.Temporary || to.StaysLocal(newName)
	sends := before.State.InQueue() && before.Rest > 0 && place.Rest == 0 && !local // its close was not told
	if err == nil {
		err = c.recallForLocked(f, up, other, local || sends)
	}
	if err != nil {
		return err
	}
	move := func(r *spool.Record) { retarget(r, place) }
	switch {
	case sends || !local && f.Ready(up):
		return c.sendAsLocked(ctx, f, up, before, move, to, newName, over, replaced)
	case local && up.State() == spool.Recalled:
		err = up.Keep("", move)
	default:
		err = up.Update(move)
	}
	if err != nil {
		return err
	}
	c.moveToLocked(f, to, newName, over, replaced)
	if up.State().InQueue() {
		c.s.Queue.Add(up) // it may have waited for the folder that it has left
	}
	return nil
}

// keepRefused keeps a file local that was to replace a document which cannot be replaced.
// +checklocks:f.Commit
func (c *Files) keepRefused(f *staging.File, up *spool.Upload, why error) error {
	if err := f.RecallLocked(up); err != nil {
		return err
	}
	return up.Keep(why.Error(), func(r *spool.Record) { r.Temporary, r.Rest = true, 0 })
}

// mayReplace returns an error if a local file cannot replace over. If over is an inbox document,
// which gets the new bytes, mayReplace returns that.
func (c *Files) mayReplace(d *tree.Dir, name string, over *tree.Entry) (*archive.Document, error) {
	if over == nil {
		return nil, nil
	}
	doc := over.Doc.Load()
	switch {
	case over.Dir != nil:
		return nil, syscall.EISDIR
	case doc != nil && d.Kind() != tree.InboxDir:
		return nil, errno.ErrOverArchived
	case doc != nil && d.StaysLocal(name):
		return nil, errno.Refuse(syscall.EPERM, "a document has the temporary name")
	case staging.FileOf(d, over).StaysBeside():
		return nil, nil
	case doc != nil && c.s.Service.Archive.LacksReplace():
		return nil, errno.ErrNoReplace
	case doc != nil && over.Busy():
		return nil, errno.ErrSending
	case doc != nil:
		return doc, nil
	}
	if up := staging.FileAt(over).Pending(); up != nil {
		if s := up.State(); !s.Written() && !s.IsFailed() && (!s.InQueue() || !s.IsUnsent()) {
			return nil, errno.ErrMayHave
		}
	}
	return nil, nil
}

// recallForLocked takes back from the queue what a rename removes from it: other, which is replaced, and the file
// itself if it is to stay local. Commit of other, which may be nil, is locked as well, which checklocks cannot express.
// +checklocks:f.Commit
func (c *Files) recallForLocked(f *staging.File, up *spool.Upload, other *staging.File, local bool) error {
	if local && up.State().InQueue() {
		if err := f.RecallLocked(up); err != nil {
			return err
		}
	}
	if other == nil || other.StaysBeside() {
		return nil
	}
	if up := other.Pending(); up != nil && up.State().InQueue() {
		return other.RecallLocked(up) // +checklocksignore
	}
	return nil
}

// sendAsLocked archives the file under its new name, which move gives it, and moves it there. On an error the
// file is left as it was. What is known not to be whole fails there. Whenever the program is killed, the
// record has the old name, or is that of an upload: under a document's name nothing stays local.
// +checklocks:f.Commit
func (c *Files) sendAsLocked(ctx context.Context, f *staging.File, up *spool.Upload, before spool.Record, move func(*spool.Record), to *tree.Dir, newName string, over *tree.Entry, replaced *archive.Document) error {
	if before.Stopped { // rsync shows what it had got to, and goes on from there
		if err := errors.Join(up.Reopen(), up.Update(move)); err != nil {
			return err
		}
		c.moveToLocked(f, to, newName, over, replaced)
		c.s.Delivery.KeepLocked(f, up, before.Lacks())
		return nil
	}
	id, sent, err := c.s.Delivery.SendLocked(ctx, f, up, to, move, false)
	if err != nil {
		return c.takeBackLocked(f, up, before, err)
	}
	c.moveToLocked(f, to, newName, over, replaced)
	if sent {
		c.s.Delivery.ArrivedLocked(ctx, f, up, id)
	}
	return nil
}

// takeBackLocked restores a file that could not be archived to what it was before the rename: queued, or
// local with the reason.
// +checklocks:f.Commit
func (c *Files) takeBackLocked(f *staging.File, up *spool.Upload, before spool.Record, err error) error {
	never := before.Doubted && archive.KindOf(err) == archive.KindUnsupported // as keepRefused
	if never {
		before.Temporary, before.Rest = true, 0
	}
	if before.State.InQueue() && !never {
		kerr := up.Update(func(r *spool.Record) { retarget(r, before) })
		return errors.Join(err, kerr, c.s.RetryLocked(f, up, true))
	}
	if kerr := up.Reopen(); kerr != nil {
		return errors.Join(err, kerr)
	}
	return errors.Join(err, up.Keep(err.Error(), func(r *spool.Record) { retarget(r, before) }))
}

// retarget gives a record the place and name of another.
func retarget(r *spool.Record, place spool.Record) {
	r.Folder, r.Within, r.Inbox, r.Path, r.Local = place.Folder, place.Within, place.Inbox, place.Path, place.Local
	r.Name, r.DocumentName, r.Replace, r.Temporary, r.Rest, r.Doubted = place.Name, place.DocumentName, place.Replace, place.Temporary, place.Rest, place.Doubted
	r.Written = cmp.Or(r.Written, place.Written)
}

// moveToLocked shows the file under another name, in place of over. If replaced is not nil, the
// file stands for that document and holds its new bytes.
// +checklocks:f.Commit
func (c *Files) moveToLocked(f *staging.File, to *tree.Dir, name string, over *tree.Entry, replaced *archive.Document) {
	switch {
	case over == nil:
	case staging.FileOf(to, over).StaysBeside():
		c.s.StepAside(to, over)
	default:
		staging.FileOf(to, over).Remove()
	}
	from, _ := f.Place()
	if from == nil {
		return
	}
	f.Mu.Lock()
	shown := f.Entry
	f.Dir = to
	f.Mu.Unlock()
	from.Drop(shown)
	to.Mu.Lock()
	defer to.Mu.Unlock()
	shown = shown.Renamed(name)
	if replaced != nil {
		shown.SetDocument(replaced)
		shown.ServiceName = over.ServiceName
	}
	to.Shown.Add(shown)
}
