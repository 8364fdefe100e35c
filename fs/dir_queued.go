package fs

import (
	"context"
	"errors"
	"syscall"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/fs/internal/background"
	"github.com/archivefs/archivefs/fs/internal/errno"
	"github.com/archivefs/archivefs/fs/internal/names"
	"github.com/archivefs/archivefs/internal/spool"
)

// A folder is queued when it was made here while the service was away. Until the service
// has it, it has an id that no folder has, nothing is asked about it, and what is put into
// it names its upload (spool.Record.Within).

// folderRef is a folder by its id, or by its upload while it is queued.
type folderRef struct {
	id     archive.ID
	within string
}

func refOf(r *spool.Record) folderRef { return folderRef{id: r.Folder, within: r.Within} }

// queuedAs is what makes the folder, nil when the service has it.
func (d *dir) queuedAs() *spool.Upload {
	if d.kind == localDir {
		return d.above().queuedAs()
	}
	return d.queued.Load()
}

// refused is why nothing put into the directory can be archived: the folder was not made,
// and is not tried again by itself. Else it is nil.
func (d *dir) refused() error {
	up := d.queuedAs()
	if up == nil || up.State() != spool.Failed {
		return nil
	}
	return errno.Refuse(syscall.EIO, whyWaits(d.fs.staging.spool, &spool.Record{Within: up.ID(), Queued: true}))
}

// isLocal reports whether the service knows nothing of the directory.
func (d *dir) isLocal() bool { return d.kind == localDir || d.queued.Load() != nil }

// aim makes a record one of the directory's folder.
func (d *dir) aim(r *spool.Record) {
	if up := d.queuedAs(); up != nil {
		r.Folder, r.Within = 0, up.ID()
		return
	}
	r.Folder, r.Within = d.id(), ""
}

// recentlyAway is how long a service that was found away is not asked for a folder.
const recentlyAway = 5 * time.Second

// queuesFolders reports whether a new folder is queued without asking the service.
func (c *folderChanges) queuesFolders(d *dir) bool {
	if d.queuedAs() != nil {
		return true
	}
	away := c.fs.service.Away()
	return c.fs.opts.Async && away != nil && c.fs.now().Sub(away.Time) < recentlyAway
}

// queueFolder makes a folder that the service is to have later. doubtful says that it was
// asked for it and may have made it.
func (c *folderChanges) queueFolder(d *dir, name string, doubtful bool) (*entry, error) {
	up, err := c.fs.staging.spool.CreateFolder(c.fs.record(d, name, nil), doubtful)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	e := d.fs.placing.showQueuedLocked(d, up)
	d.mu.Unlock()
	c.fs.staging.queue.Add(up)
	return e, nil
}

// showQueuedLocked shows a queued folder; nil when the service has it by now. The caller
// holds mu.
func (p *placing) showQueuedLocked(d *dir, up *spool.Upload) *entry {
	ino := p.fs.inodes.Local()
	e := &entry{name: names.Numbered(up.Record().Name, d.shown.taken)}
	e.dir = newDir(p.fs, d.kind.below(), -archive.ID(ino), ino, d, e.name) //nolint:gosec // a counter
	e.dir.queued.Store(up)
	p.fs.staging.mu.Lock()
	defer p.fs.staging.mu.Unlock()
	if up.State() == spool.Confirmed {
		return nil
	}
	p.fs.staging.queuedDirs[up.ID()] = e.dir
	d.shown.add(e)
	return e
}

// folderMaker makes a queued folder at the service (spool.FolderMaker).
type folderMaker struct {
	fs     *FileSystem
	parent archive.ID
	inbox  bool
	name   string
}

// Find implements spool.FolderMaker.
func (m *folderMaker) Find(ctx context.Context) (archive.ID, error) {
	list, err := m.siblings(ctx)
	if err != nil {
		return 0, err
	}
	for _, f := range list {
		if f.Name == m.name {
			return f.ID, nil
		}
	}
	return 0, nil
}

func (m *folderMaker) siblings(ctx context.Context) ([]archive.Folder, error) {
	if !m.inbox {
		s, err := m.fs.service.Archive.Children(ctx, m.parent)
		return s.Folders, err
	}
	boxes, err := m.fs.service.Archive.Inboxes(ctx)
	if err != nil {
		return nil, err
	}
	parent, ok := findInbox(boxes.Inboxes, m.parent)
	if !ok {
		return nil, &archive.Error{Op: "inboxes", Kind: archive.KindNotFound}
	}
	return parent.Children, nil
}

// Make implements spool.FolderMaker.
func (m *folderMaker) Make(ctx context.Context) (archive.ID, error) {
	f, err := m.fs.service.Archive.CreateFolder(ctx, m.parent, m.name)
	return f.ID, err
}

// lockFolder keeps a queued folder from being made, renamed and removed until unlock. It is
// made under file.commit of what stands for it, as files are archived.
func (s *staging) lockFolder(up *spool.Upload) (unlock func()) {
	held := s.holder(up)
	held.commit.Lock()
	return held.commit.Unlock
}

// makeQueued is the queue's attempt at a folder.
func (s *staging) makeQueued(ctx context.Context, up *spool.Upload) (wait bool, err error) {
	defer s.lockFolder(up)()
	r := up.Record()
	if _, there := s.spool.Get(up.ID()); !there || !r.Queued {
		return false, background.ErrMoot // removed, or failed
	}
	if r.Within != "" {
		return false, errors.Join(background.ErrMoot, s.failInFolder(up))
	}
	id, err := s.spool.DeliverFolder(ctx, up, &folderMaker{fs: s.fs, parent: r.Folder, inbox: r.Inbox, name: r.Name}, s.queuePolicy())
	_ = s.fs.service.Answered(err)
	switch {
	case err == nil:
		s.folderMade(up, id)
		return false, nil
	case up.Record().Queued:
		return true, err
	}
	s.fs.service.Failures.Add("make folder", up, r.Path+"/"+r.Name, err)
	return false, err
}

// folderMade turns a queued folder into the one that the service has, and what lies in it
// into files of that.
func (s *staging) folderMade(up *spool.Upload, id archive.ID) {
	s.mu.Lock()
	d := s.queuedDirs[up.ID()]
	delete(s.queuedDirs, up.ID())
	from, to := folderRef{within: up.ID()}, folderRef{id: id}
	s.waiting[to] = append(s.waiting[to], s.waiting[from]...)
	delete(s.waiting, from)
	s.mu.Unlock()
	if d != nil {
		d.fs.placing.made(d, id)
	}
	for _, inside := range s.spool.List() {
		if inside.Record().Within == up.ID() {
			if err := inside.Update(func(r *spool.Record) { r.Folder, r.Within = id, "" }); err != nil {
				s.fs.service.Failures.Add("file into its folder", inside, inside.Record().Path+"/"+inside.Record().Name, err)
			}
		}
	}
	r := up.Record()
	s.fs.service.Failures.Mend(&r)
	s.outdate(r.Folder)
	s.fs.service.OutdateInboxes()
	s.discard(up)
	s.queue.Resume()
}

// made gives a queued directory the id of its folder. A listing that was quicker shows it
// under another name, which goes.
func (p *placing) made(d *dir, id archive.ID) {
	parent, name := d.place()
	parent.mu.Lock()
	e := parent.shown.get(name)
	if listed := parent.shown.folders.get(id); listed != nil && listed != e {
		parent.shown.drop(listed)
		p.fs.kernel.forgetNames(parent, []string{listed.name})
	}
	parent.shown.folders.remove(d.id())
	d.folder.Store(int64(id))
	if e != nil && e.dir == d {
		e.told, e.keep = "", p.fs.keepFor()
		parent.shown.folders.put(id, e)
	}
	d.mu.Lock()
	d.subs, d.files = merged{}, merged{}
	d.queued.Store(nil) // from here on the service is asked
	d.mu.Unlock()
	parent.mu.Unlock()
	parent.outdate()
}

// removeQueued removes a queued folder, which must be empty, before the service has it.
// While it is being made that is waited for.
func (c *folderChanges) removeQueued(d *dir, e *entry) error {
	up := e.dir.queuedAs()
	if up == nil {
		return errno.ErrNotRemoved
	}
	defer c.fs.staging.lockFolder(up)()
	return c.removeQueuedLocked(d, e, up)
}

// removeQueuedLocked is removeQueued for callers that hold the folder locked.
func (c *folderChanges) removeQueuedLocked(d *dir, e *entry, up *spool.Upload) error {
	switch {
	case e.dir.queuedAs() == nil:
		return errno.ErrNotRemoved // it was made meanwhile
	case up.State() == spool.Sending:
		return errno.ErrMayHave
	}
	if err := up.Remove(); err != nil {
		return err
	}
	d.drop(e)
	c.fs.staging.letGo(up)
	c.fs.staging.mu.Lock()
	defer c.fs.staging.mu.Unlock()
	delete(c.fs.staging.queuedDirs, up.ID())
	return nil
}

// renameQueued gives a queued folder another place or name. While it is being made that is
// waited for.
func (c *folderChanges) renameQueued(d *dir, e *entry, to *dir, newName string) error {
	up := e.dir.queuedAs()
	if up == nil {
		return errno.ErrNotMoved
	}
	if err := mayBeFolder(newName); err != nil {
		return err
	}
	defer c.fs.staging.lockFolder(up)()
	to.mu.Lock()
	free := to.free
	to.mu.Unlock()
	switch {
	case e.dir.queuedAs() == nil:
		return errno.ErrNotMoved // it was made meanwhile
	case !free:
		return errno.ErrNotFree
	case to.kind == localDir, names.IsJunkDir(newName), to.kind.below() != e.dir.kind:
		return errno.Refuse(syscall.EPERM, "a folder that waits to be made becomes one of the same kind, or none")
	case up.State() == spool.Sending:
		return errno.ErrMayHave
	}
	if err := up.Update(func(r *spool.Record) { retarget(r, c.fs.record(to, newName, nil)) }); err != nil {
		return err
	}
	d.drop(e)
	e.dir.moveTo(to, newName)
	to.add(e.renamed(newName))
	c.retarget(e.dir)
	if up.Record().Queued {
		c.fs.staging.queue.Add(up) // it may have left a folder that is not made
	}
	return nil
}

// retargetFolder writes the place of a queued folder, which a folder above left, into its
// record.
func (c *folderChanges) retargetFolder(d *dir) {
	up := d.queued.Load()
	if up == nil {
		return
	}
	above := d.above()
	if err := up.Update(func(r *spool.Record) { r.Path = above.path() }); err != nil {
		c.fs.service.Failures.Add("rename", up, d.path(), err)
	}
}
