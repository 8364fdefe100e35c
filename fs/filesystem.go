package fs

import (
	"context"
	"errors"
	"syscall"
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
	"github.com/archivefs/archivefs/internal/closing"
)

// FileSystem is the state that all nodes share. It is safe for concurrent use.
type FileSystem struct {
	*content.Contents
	opts   Options
	log    logrus.FieldLogger
	mounts closing.Mounts

	// passthrough says whether the kernel reads the cache itself.
	passthrough passthrough
	// epochs make the kernel look up names again.
	epochs epochs
	// handles are the open files.
	handles handles
	// control is the control directory.
	control *control.Tree
	// work is what Close waits for: uploads and background work.
	work background.Work

	// stopPrefetch ends what is prefetched.
	stopPrefetch context.CancelFunc
	// memory is given back after a walk.
	memory memory
	// forgotten are directories to be folded.
	forgotten forgotten

	// staging is what waits on this machine for the archive.
	staging staging
	// kernel is what the kernel is told.
	kernel kernel
	// delivery turns the bytes of files into documents.
	delivery delivery
	// placing shows in the tree what is staged.
	placing placing
	// folders and files are what mkdir, create, rename, rmdir and unlink do.
	folders folderChanges
	files   fileChanges
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
	f.kernel, f.delivery, f.placing = kernel{f}, delivery{f}, placing{f}
	f.folders, f.files = folderChanges{f}, fileChanges{f}
	f.staging.init(f, opts.Spool, opts.Now)
	service := remote.New(remote.Config{
		Archive: opts.Archive, List: opts.List, TTL: opts.TTL, Listings: opts.Listings, RetryFor: opts.RetryFor,
		Known: opts.Known, Log: opts.Log, Now: opts.Now, Work: &f.work, Answers: f.staging.queue.Wake,
	})
	reps := &view.Representations{
		Mode: opts.Mode, Service: opts.Archive, Cached: f.cached, Pause: opts.TTL, Log: opts.Log, Now: opts.Now, Work: &f.work,
	}
	if opts.Known != nil {
		reps.Kept = opts.Known.Representation()
	}
	var prefetching context.Context
	prefetching, f.stopPrefetch = context.WithCancel(context.Background())
	f.Contents = &content.Contents{
		Tree: tree.New(tree.Config{
			Service: service, Reps: reps, Lengths: &view.Lengths{Representations: reps, Facts: opts.Facts}, Started: opts.Now(),
			Staged: &f.placing, Changed: f.kernel.forgetNames, Expanded: f.memory.unfolds,
			NewLeaf: func(ino uint64, d *tree.Dir, e *tree.Entry, doc *archive.Document) *tree.Leaf {
				return &newFile(f, ino, d, e, doc, nil).Leaf
			},
		}),
		Settings: content.Settings{
			Content: opts.Content, Facts: opts.Facts, Errnos: errno.NewLog(opts.Log, opts.Now), Thumbnails: opts.Thumbnails,
			Reads: f.passthrough.reads, DataChanged: func(doc archive.ID) { f.control.DataChanged(doc) },
			Walks: prefetch.NewWalks(prefetching, prefetch.Options{
				Service: opts.Archive, Answered: service.Answered, Folders: service.Children, Documents: service.Documents,
				List: opts.List, Decoded: f.memory.decoded, Go: f.work.Go, Now: opts.Now,
			}),
			ReadAhead: prefetch.NewReadAhead(prefetching, opts.ReadAhead, f.work.Go, opts.Now),
		},
	}
	f.control = control.New(&controlMount{f: f, kept: map[string]*file{}}, f.log, opts.Now, opts.TTL)
	return f
}

// Away returns why the service could not be asked the last time, nil when it answered.
func (f *FileSystem) Away() *Failure { return f.Service.Away() }

func (f *FileSystem) cached(key cache.Key) bool {
	_, ok := f.Content.Lookup(key)
	return ok
}

func (f *FileSystem) now() time.Time { return f.Service.Now() }

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

// detached is the context of a change that goes on when the request that began it is
// interrupted.
func detached(ctx context.Context) context.Context { return context.WithoutCancel(ctx) }

// mayChange refuses changes on a read-only mount.
func (f *FileSystem) mayChange() error {
	if f.opts.ReadOnly {
		return errno.Refuse(syscall.EROFS, "the mount is read-only")
	}
	return nil
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
	f.epochs.begin()
	if away := f.Away(); away != nil {
		return errors.New(away.Text)
	}
	return nil
}
