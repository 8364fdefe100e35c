package fs

import (
	"context"
	"errors"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/cache"
	"github.com/archivefs/archivefs/fs/internal/background"
	"github.com/archivefs/archivefs/fs/internal/content"
	"github.com/archivefs/archivefs/fs/internal/control"
	"github.com/archivefs/archivefs/fs/internal/errno"
	"github.com/archivefs/archivefs/fs/internal/prefetch"
	"github.com/archivefs/archivefs/fs/internal/remote"
	"github.com/archivefs/archivefs/fs/internal/tree"
	"github.com/archivefs/archivefs/fs/internal/view"
)

// FileSystem is one archive as a file system. It is safe for concurrent use.
type FileSystem struct {
	*content.Contents
	opts Options
	log  logrus.FieldLogger

	staging *staging
	kernel  *kernel
	control *control.Tree

	// work is what Close waits for: uploads and background work.
	work background.Work
	// memory is given back after a walk.
	memory background.Memory
	// stopPrefetch ends what is prefetched.
	stopPrefetch context.CancelFunc
}

// New makes a file system. Nothing is asked of the service before Check or Mount.
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
	f.kernel = &kernel{kernelConfig: kernelConfig{UID: opts.UID, GID: opts.GID, Umask: opts.Umask, Memory: &f.memory}}
	f.staging = newStaging(stagingConfig{
		Spool: opts.Spool, State: opts.State, Async: opts.Async, ReadOnly: opts.ReadOnly, WhileAlive: whileAlive,
		Rewritten: func(doc archive.ID) { f.control.BytesChanged(doc) },
	}, opts.Now)
	f.Contents = f.newContents()
	f.control = control.New(&controlMount{f: f, kept: map[string]*file{}}, f.log, opts.Now, opts.TTL)
	f.staging.Contents, f.kernel.Contents = f.Contents, f.Contents
	f.kernel.staging, f.kernel.control = f.staging, f.control
	f.kernel.files = newChanges(f.staging, opts.AllowDelete)
	return f
}

// newContents makes what files read, and the tree that they stand in.
func (f *FileSystem) newContents() *content.Contents {
	opts := &f.opts
	service := remote.New(remote.Config{
		Archive: opts.Archive, List: opts.List, TTL: opts.TTL, Listings: opts.Listings, RetryFor: opts.RetryFor,
		Known: opts.Known, Log: opts.Log, Now: opts.Now, Work: &f.work, Answers: f.staging.queue.Wake,
	})
	reps := &view.Representations{
		Mode: opts.Mode, Service: opts.Archive, Pause: opts.TTL, Log: opts.Log, Now: opts.Now, Work: &f.work,
		Cached: func(key cache.Key) bool {
			_, ok := opts.Content.Lookup(key)
			return ok
		},
	}
	if opts.Known != nil {
		reps.Kept = opts.Known.Representation()
	}
	var prefetching context.Context
	prefetching, f.stopPrefetch = context.WithCancel(context.Background())
	return &content.Contents{
		Tree: tree.New(tree.Config{
			Service: service, Reps: reps, Lengths: &view.Lengths{Representations: reps, Facts: opts.Facts}, Started: opts.Now(),
			Staged: &f.staging.placing, Changed: f.kernel.forgetNames, Expanded: f.memory.Expanded,
			NewLeaf: func(ino uint64, d *tree.Dir, e *tree.Entry, doc *archive.Document) *tree.Leaf {
				return &newFile(f.staging, ino, d, e, doc, nil).Leaf
			},
		}),
		Settings: content.Settings{
			Content: opts.Content, Facts: opts.Facts, Errnos: errno.NewLog(opts.Log, opts.Now), Thumbnails: opts.Thumbnails,
			Reads: f.kernel.passthrough.reads, DataChanged: func(doc archive.ID) { f.control.DataChanged(doc) },
			Walks: prefetch.NewWalks(prefetching, prefetch.Options{
				Service: opts.Archive, Answered: service.Answered, Folders: service.Children, Documents: service.Documents,
				List: opts.List, Decoded: f.memory.Decoded, Go: f.work.Go, Now: opts.Now,
			}),
			ReadAhead: prefetch.NewReadAhead(prefetching, opts.ReadAhead, f.work.Go, opts.Now),
		},
	}
}

// Away returns why the service could not be asked the last time, nil when it answered.
func (f *FileSystem) Away() *Failure { return f.Service.Away() }

// Check asks the service for the top of its archive, so that a mount with a wrong address
// or wrong credentials fails at once. While the service is away what is known of it will
// do; Away then tells why.
func (f *FileSystem) Check(ctx context.Context) error {
	return f.Root.Tree.LoadFolders(ctx, f.Root, tree.NeedNames)
}

// Recover takes up what an earlier mount left in the spool. It does not wait for the service.
func (f *FileSystem) Recover() { f.staging.recover() }

// Close waits for uploads and background work to end, at most until ctx is done; what the
// service cannot take now stays in the spool. The file system must be unmounted, or out of
// sight.
func (f *FileSystem) Close(ctx context.Context) error {
	f.stopPrefetch()
	err := f.work.Wait(ctx)
	if derr := f.staging.queue.Drain(ctx); !errors.Is(derr, background.ErrAway) {
		err = errors.Join(err, derr)
	}
	return errors.Join(err, f.staging.queue.Close(ctx))
}

// Refresh lets everything that is remembered of the archive's structure be asked for anew when
// somebody looks, before the ttl is over, and asks for the top of it itself. Contents stay:
// those of archived documents never change. It returns why the service cannot be asked; what
// is known is shown then.
func (f *FileSystem) Refresh(ctx context.Context) error {
	f.Service.OutdateAll()
	f.control.InvalidateAll()
	f.Root.Tree.DoubtAll(f.Root)
	if err := f.Root.Tree.LoadFolders(ctx, f.Root, tree.NeedNames); err != nil {
		return err
	}
	f.kernel.forgetAll(f.Root)
	f.kernel.epochs.begin()
	if away := f.Away(); away != nil {
		return errors.New(away.Text)
	}
	return nil
}
