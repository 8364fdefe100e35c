package fs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/fs/internal/background"
	"github.com/archivefs/archivefs/fs/internal/change"
	"github.com/archivefs/archivefs/fs/internal/content"
	"github.com/archivefs/archivefs/fs/internal/control"
	"github.com/archivefs/archivefs/fs/internal/node"
	"github.com/archivefs/archivefs/fs/internal/remote"
	"github.com/archivefs/archivefs/fs/internal/staging"
	"github.com/archivefs/archivefs/fs/internal/tree"
)

// FileSystem is one archive as a file system. It is safe for concurrent use.
type FileSystem struct {
	*content.Contents
	opts Options
	log  logrus.FieldLogger

	staging *staging.Area
	kernel  *node.Kernel
	control *control.Tree

	// work tracks uploads and background work, for which Close waits.
	work background.Work
	// memory returns memory to the system after a walk.
	memory background.Memory
	// stopPrefetch cancels prefetches in flight.
	stopPrefetch context.CancelFunc
}

// New makes a file system. It sends no request to the service.
func New(opts Options) *FileSystem {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.TTL <= 0 {
		opts.TTL = time.Minute
	}
	if opts.Listings <= 0 {
		opts.Listings = 4096
	}
	if opts.Mode == "" {
		opts.Mode = ContentAuto
	}
	opts.List.WithAutoExport = true
	f := &FileSystem{opts: opts, log: opts.Log}
	f.kernel = &node.Kernel{UID: opts.UID, GID: opts.GID, Umask: opts.Umask, Trust: kernelTrust, Memory: &f.memory}
	f.staging = staging.New(staging.Config{
		Spool: opts.Spool, State: opts.State, Async: opts.Async, ReadOnly: opts.ReadOnly, WhileAlive: node.WhileAlive,
		Rewritten: func(doc archive.ID) { f.control.BytesChanged(doc) },
	}, opts.Now)
	var prefetching context.Context
	prefetching, f.stopPrefetch = context.WithCancel(context.Background())
	f.Contents = content.New(prefetching, content.Config{
		Config: remote.Config{
			Archive: opts.Archive, List: opts.List, TTL: opts.TTL, Listings: opts.Listings, RetryFor: opts.RetryFor,
			Known: opts.Known, Spill: opts.Spill, Log: opts.Log, Now: opts.Now, Work: &f.work, Answers: f.staging.Wake,
		},
		Mode: opts.Mode, Content: opts.Content, Facts: opts.Facts, Thumbnails: opts.Thumbnails, ReadAhead: opts.ReadAhead, Near: opts.Near, Memory: &f.memory,
		Staged: &f.staging.Placing, NewLeaf: f.staging.LeafFor, Changed: f.kernel.ForgetNames, Reads: f.kernel.Passthrough.Reads,
		DataChanged: func(doc archive.ID) { f.control.DataChanged(doc) },
	})
	f.control = control.New(&controlMount{f: f, kept: map[string]*staging.File{}}, f.log, opts.Now, opts.TTL)
	f.staging.Contents, f.kernel.Contents = f.Contents, f.Contents
	f.kernel.Staging, f.kernel.Control = f.staging, f.control
	f.kernel.Files = change.New(f.staging, opts.State, opts.AllowDelete)
	if err := f.RereadSearches(); err != nil {
		f.log.Warn(err)
	}
	return f
}

// Away returns why the last request to the service failed to get an answer, nil when it got one.
func (f *FileSystem) Away() *Failure { return f.Service.Away() }

// Check lists the top of the archive, so that a mount with a wrong address or wrong credentials fails
// at once. While the service is away a remembered listing will do; Away then returns the reason.
func (f *FileSystem) Check(ctx context.Context) error {
	return f.Root.Tree.LoadFolders(ctx, f.Root, tree.NeedNames)
}

// RereadSearches reads the saved searches again. After an error the mount keeps those that it has.
func (f *FileSystem) RereadSearches() error {
	if f.opts.ReadSearches == nil {
		return nil
	}
	list, err := f.opts.ReadSearches()
	if err != nil {
		return fmt.Errorf("read the saved searches: %w", err)
	}
	f.control.SetSearches(list)
	return nil
}

// Recover resumes what an earlier mount left in the spool. It does not wait for the service.
func (f *FileSystem) Recover() { f.staging.Recover() }

// Close waits for uploads and background work, at most until ctx is done. What the service cannot take
// now stays in the spool. The file system must be unmounted or detached.
func (f *FileSystem) Close(ctx context.Context) error {
	f.stopPrefetch()
	err := f.work.Wait(ctx)
	return errors.Join(err, f.staging.Close(ctx))
}

// Refresh invalidates all listings, also in the kernel, before their TTL is over, and lists the top of
// the archive. The kernel gets one notification, however many names it has; the attributes of a
// directory change only with its next listing. Cached contents stay: those of archived documents never
// change. While the service is away it returns the reason, and remembered listings are shown.
func (f *FileSystem) Refresh(ctx context.Context) error {
	f.Service.OutdateAll()
	f.control.InvalidateAll()
	f.Root.Tree.DoubtAll(f.Root)
	if err := f.Root.Tree.LoadFolders(ctx, f.Root, tree.NeedNames); err != nil {
		return err
	}
	f.kernel.Epochs.Begin()
	if away := f.Away(); away != nil {
		return errors.New(away.Text)
	}
	return nil
}
