package staging

import (
	"context"
	"errors"
	"math"
	"slices"
	"syscall"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/fs/internal/background"
	"github.com/archivefs/archivefs/fs/internal/errno"
	"github.com/archivefs/archivefs/fs/internal/names"
	"github.com/archivefs/archivefs/fs/internal/remote"
	"github.com/archivefs/archivefs/fs/internal/tree"
	"github.com/archivefs/archivefs/internal/spool"
)

// queuedFolders are the folders that were created here and that the service does not have yet.
// Until it has one, the folder has an id that no service gives out, no request mentions it, and the records of its
// contents name its upload (spool.Record.Within). It is created, renamed and removed under Commit
// of the file that stands for it (Area.Holder), as files are archived.
type queuedFolders struct{ s *Area }

// Add queues a new folder and shows it. doubtful says that an earlier request may have created it.
func (q *queuedFolders) Add(ctx context.Context, d *tree.Dir, name string, doubtful bool) (*tree.Entry, error) {
	up, err := q.s.Spool.CreateFolder(q.s.People.Sign(ctx, q.s.Record(d, name, nil)), doubtful)
	if err != nil {
		return nil, err
	}
	d.Mu.Lock()
	e := q.showLocked(d, up)
	d.Mu.Unlock()
	q.s.Queue.Add(up)
	return e, nil
}

// showLocked shows a queued folder. It returns nil if the service has it already.
// +checklocks:d.Mu
func (q *queuedFolders) showLocked(d *tree.Dir, up *spool.Upload) *tree.Entry {
	ino := q.s.Inodes.Local()
	e := &tree.Entry{Name: names.Numbered(up.Record().Name, d.Shown.Taken)}
	e.Dir = tree.NewDir(q.s.Tree, d.Kind().Below(), math.MinInt64+archive.ID(ino), ino, d, e.Name) //nolint:gosec // a counter; archive.NewID gives none so low
	e.Dir.Queued.Store(up)
	q.s.mu.Lock()
	defer q.s.mu.Unlock()
	if up.State() == spool.Confirmed {
		return nil
	}
	q.s.queuedDirs[up.ID()] = e.Dir
	d.Shown.Add(e)
	return e
}

// attempt is one attempt of the queue at a folder.
func (q *queuedFolders) attempt(ctx context.Context, up *spool.Upload) (wait bool, err error) {
	held := q.s.Holder(up)
	held.Commit.Lock()
	defer held.Commit.Unlock()
	r := up.Record()
	if _, there := q.s.Spool.Get(up.ID()); !there || !r.State.InQueue() {
		return false, background.ErrMoot // removed or failed
	}
	if r.Within != "" {
		return false, errors.Join(background.ErrMoot, q.failIn(up))
	}
	id, err := spool.DeliverFolder(ctx, up, &folderMaker{service: q.s.Service.Archive, parent: r.Folder, inbox: r.Inbox, name: r.Name}, q.s.queuePolicy())
	_ = q.s.Service.Answered(err)
	switch {
	case err == nil:
		q.made(up, id)
		return false, nil
	case up.State().InQueue():
		return true, err
	}
	q.s.Service.Failures.AddFailed("make folder", up, r.Path+"/"+r.Name, err)
	return false, err
}

// MakeNow makes a queued folder, and those in which it lies, for something that needs its id now.
func (q *queuedFolders) MakeNow(ctx context.Context, d *tree.Dir) error {
	if d.QueuedAs() == nil {
		return nil
	}
	if err := q.MakeNow(ctx, d.Above()); err != nil {
		return err
	}
	up := d.QueuedAs()
	if up == nil {
		return nil
	}
	_, err := q.s.attempt(q.s.People.behalf(context.WithoutCancel(ctx), up), up)
	switch {
	case d.QueuedAs() == nil:
		return nil
	case up.State().IsFailed():
		return err
	}
	return errno.Refuse(syscall.EBUSY, "the folder is queued, and the service does not have it yet")
}

// made turns a queued folder into the one that the service has, and gives everything in it the id.
func (q *queuedFolders) made(up *spool.Upload, id archive.ID) {
	q.s.mu.Lock()
	d := q.s.queuedDirs[up.ID()]
	delete(q.s.queuedDirs, up.ID())
	from, to := folderRef{within: up.ID()}, folderRef{id: id}
	q.s.waiting[to] = append(q.s.waiting[to], q.s.waiting[from]...)
	delete(q.s.waiting, from)
	q.s.mu.Unlock()
	r := up.Record()
	if d != nil {
		q.giveID(d, id, r.Name)
	}
	for _, inside := range q.s.Spool.List() {
		if inside.Record().Within == up.ID() {
			if err := inside.Update(func(r *spool.Record) {
				if r.Within != up.ID() { // it has just been moved out
					return
				}
				r.Folder, r.Within = id, ""
				if r.Rest > 0 { // it was left alone all the same
					r.Rest = max(over, r.Rest-q.s.Service.Now().Sub(r.Changed))
				}
			}); err != nil {
				q.s.Service.Failures.Add("move into its folder", inside, inside.Record().Path+"/"+inside.Record().Name, err)
			}
		}
	}
	q.s.Service.Failures.Mend(&r)
	if d == nil {
		q.s.Service.Outdate(r.Folder) // also if the tree does not know it yet
		q.s.listAgain(&r)
	}
	q.s.Discard(up)
	q.s.Queue.Resume()
}

// giveID gives a queued directory the id of its folder, which the service has under a name. If a listing was
// faster and shows the folder under another one, that disappears.
func (q *queuedFolders) giveID(d *tree.Dir, id archive.ID, sent string) {
	parent, name := d.Place()
	parent.Mu.Lock()
	e := parent.Shown.Get(name)
	if listed := parent.Shown.Folders.Get(id); listed != nil && listed != e {
		parent.Shown.Drop(listed)
		q.s.Changed(parent, []string{listed.Name})
	}
	parent.Shown.Folders.Remove(d.ID())
	d.Folder.Store(int64(id))
	if e != nil && e.Dir == d {
		e.ServiceName, e.Keep = "", q.s.KeepFor()
		q.s.AddFolderLocked(parent, e, sent)
	} else {
		parent.Outdate()
	}
	d.Mu.Lock()
	d.Subs, d.Files = tree.Merged{}, tree.Merged{}
	d.Queued.Store(nil) // from here on requests are sent
	d.Mu.Unlock()
	parent.Mu.Unlock()
}

// failIn fails a queued upload whose folder was refused or discarded. If the folder is tried again,
// the upload goes back to the queue instead. The error is never nil.
func (q *queuedFolders) failIn(up *spool.Upload) error {
	r := up.Record()
	folder, there := q.s.Spool.Get(r.Within)
	if there && !folder.State().IsFailed() {
		q.s.Queue.Add(up) // behind its folder
		return background.ErrMoot
	}
	err := errors.New("its folder was discarded")
	if there {
		err = errors.New(WhyWaits(q.s.Spool, &r))
	}
	q.s.Service.Failures.AddFailed("archive", up, r.Path+"/"+r.Name, err)
	return errors.Join(err, up.Fail(err.Error(), false))
}

// Replaced queues the upload now, which makes the folder of d, and forgets the one that was to make it before. Both may
// be nil: a local directory has none. After an error the one before may still make its folder.
func (q *queuedFolders) Replaced(d *tree.Dir, before, now *spool.Upload) error {
	q.s.mu.Lock()
	if before != nil && before != now {
		delete(q.s.queuedDirs, before.ID())
	}
	if now != nil {
		q.s.queuedDirs[now.ID()] = d
	}
	q.s.mu.Unlock()
	if before != nil && before != now {
		if err := before.Remove(); err != nil {
			return err
		}
		q.s.letGo(before)
	}
	if now != nil && now.State().InQueue() { // it may have waited for the folder that it has left
		q.s.Queue.Add(now)
	}
	return nil
}

// forgetLocked discards a queued folder. The folder must be empty, and held must stand for it.
// +checklocks:held.Commit
func (q *queuedFolders) forgetLocked(held *File, up *spool.Upload) error {
	if HoldsUploads(q.s.Spool, up) {
		return errno.ErrHoldsUploads
	}
	q.s.mu.Lock()
	d := q.s.queuedDirs[up.ID()]
	q.s.mu.Unlock()
	if d == nil {
		return up.Remove()
	}
	parent, name := d.Place()
	if e := parent.Get(name); e != nil && e.Dir == d {
		if err := q.RemoveLocked(held, parent, e, up); err != nil {
			return err
		}
		q.s.Changed(parent, []string{name})
	}
	return nil
}

// RemoveLocked removes a queued folder before its request is sent. The folder must be empty, and
// held must stand for it.
// +checklocks:held.Commit
func (q *queuedFolders) RemoveLocked(held *File, d *tree.Dir, e *tree.Entry, up *spool.Upload) error {
	switch {
	case e.Dir.QueuedAs() == nil:
		return errno.ErrNotRemoved // it was created meanwhile
	case up.State().InFlight():
		return errno.ErrMayHave
	}
	if err := up.Remove(); err != nil {
		return err
	}
	d.Drop(e)
	q.s.letGo(up)
	q.s.mu.Lock()
	defer q.s.mu.Unlock()
	delete(q.s.queuedDirs, up.ID())
	return nil
}

// folderMaker creates a queued folder at the service (spool.FolderMaker).
type folderMaker struct {
	service remote.Archive
	parent  archive.ID
	inbox   bool
	name    string
}

func (m *folderMaker) Find(ctx context.Context) (archive.ID, error) {
	list, err := m.siblings(ctx)
	if i := slices.IndexFunc(list, func(f archive.Folder) bool { return f.Name == m.name }); i >= 0 {
		return list[i].ID, err
	}
	return 0, err
}

func (m *folderMaker) siblings(ctx context.Context) ([]archive.Folder, error) {
	if !m.inbox {
		s, err := m.service.Children(ctx, m.parent)
		return s.Folders, err
	}
	boxes, err := m.service.Inboxes(ctx)
	parent, ok := tree.FindInbox(boxes.Inboxes, m.parent)
	if err == nil && !ok {
		err = &archive.Error{Op: "list the inboxes", Kind: archive.KindNotFound}
	}
	return parent.Children, err
}

func (m *folderMaker) Make(ctx context.Context) (archive.ID, error) {
	f, err := m.service.CreateFolder(ctx, m.parent, m.name)
	return f.ID, err
}
