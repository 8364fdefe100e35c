package change

import (
	"context"
	"syscall"

	"github.com/archivefs/archivefs/fs/internal/errno"
	"github.com/archivefs/archivefs/fs/internal/staging"
	"github.com/archivefs/archivefs/fs/internal/tree"
	"github.com/archivefs/archivefs/internal/spool"
)

// renameDir renames or moves a directory that the service does not have: a local one, or a queued
// folder. It becomes what a directory of that name is in its new place, and what lies in it goes along.
// over, if not nil, has the new name.
func (c *Files) renameDir(ctx context.Context, d *tree.Dir, e *tree.Entry, to *tree.Dir, newName string, over *tree.Entry) error {
	if !e.Dir.IsLocal() {
		return errno.ErrNotMoved
	}
	if !keepsLocal(to, newName) {
		if err := mayBeFolder(newName); err != nil {
			return err
		}
		if err := mayHoldFolders(ctx, to); err != nil {
			return err
		}
	}
	switch {
	case over == nil:
	case over.Dir == nil:
		return syscall.ENOTDIR
	case !over.Dir.IsLocal():
		return errno.ErrTaken
	default:
		if err := c.Folders.Rmdir(ctx, to, over.Name); err != nil {
			return err
		}
	}
	return c.moveTree(ctx, d, e, to, newName)
}

// moveTree is renameDir after its checks, for e and everything in it. It waits for a request in flight that
// creates the folder.
func (c *Files) moveTree(ctx context.Context, d *tree.Dir, e *tree.Entry, to *tree.Dir, newName string) error {
	dir, before := e.Dir, e.Dir.Queued.Load()
	if before != nil {
		held := c.s.Holder(before)
		held.Commit.Lock()
		defer held.Commit.Unlock()
		switch {
		case dir.QueuedAs() == nil:
			return errno.ErrNotMoved // it was created meanwhile
		case before.State().InFlight():
			return errno.ErrMayHave
		}
	}
	kind, up := tree.LocalDir, (*spool.Upload)(nil)
	if !keepsLocal(to, newName) {
		var err error
		if kind, up = to.Kind().Below(), before; up == nil {
			up, err = c.s.Spool.CreateFolder(c.s.People.Sign(ctx, c.s.Record(to, newName, nil)), false)
		} else {
			err = up.Update(func(r *spool.Record) { retarget(r, c.s.Record(to, newName, nil)) })
		}
		if err != nil {
			return err
		}
	}
	d.Drop(e)
	dir.MoveTo(to, newName, kind, up)
	to.Add(e.Renamed(newName))
	for _, in := range dir.Entries() {
		c.moveAlong(ctx, dir, in)
	}
	if up != nil && up == before { // what failed, and is shown no more, is listed and exported where its folder is
		for _, in := range c.s.Spool.List() {
			if r := in.Record(); r.Within == up.ID() && r.State.IsFailed() {
				if err := in.Update(func(r *spool.Record) { r.Path = dir.Path() }); err != nil {
					return err
				}
			}
		}
	}
	return c.s.Folders.Replaced(dir, before, up)
}

// moveAlong gives what lies in a moved directory its new place.
func (c *Files) moveAlong(ctx context.Context, dir *tree.Dir, in *tree.Entry) {
	var err error
	if in.Dir != nil {
		err = c.moveTree(ctx, dir, in, dir, in.Name)
	} else {
		err = c.renameLocal(ctx, staging.FileAt(in), dir, in.Name, nil)
	}
	if up := in.Upload(); err != nil && up != nil {
		c.s.Service.Failures.Add("rename", up, dir.PathOf(in.Name), err)
	}
}
