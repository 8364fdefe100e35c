package fs

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/sirupsen/logrus"
	"golang.org/x/sync/singleflight"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/cache"
	"github.com/archivefs/archivefs/fs/internal/background"
	"github.com/archivefs/archivefs/fs/internal/errno"
	"github.com/archivefs/archivefs/fs/internal/inode"
	"github.com/archivefs/archivefs/fs/internal/prefetch"
	"github.com/archivefs/archivefs/internal/closing"
	"github.com/archivefs/archivefs/internal/spool"
)

// Names at the top of the mount that are not mandators.
const (
	inboxesName = "inboxes"
	controlName = ".archivefs"
)

// FileSystem is the state that all nodes share. It is safe for concurrent use.
type FileSystem struct {
	opts    Options
	archive Archive
	content *cache.Content
	facts   *cache.Facts
	spool   *spool.Spool
	log     logrus.FieldLogger
	started time.Time
	inodes  inode.Numbers
	root    *dir
	mounts  closing.Mounts

	children  *cache.Listings[archive.ID, archive.Structure]
	documents *cache.Listings[archive.ID, []archive.Document]
	inboxes   *cache.Listings[struct{}, archive.Inboxes]
	abouts    *cache.Listings[archive.ID, about]
	searches  *cache.Listings[string, *found]
	// readAs outlives the mount with what ContentAuto came to; nil where nothing does.
	readAs cache.Store[struct{}, archive.Representation]

	// rep is the representation that ContentAuto came to, 0 while it is not known.
	rep atomic.Uint32
	// evidence is what it rests on.
	evidence evidence
	// probing finds it out, once for all who wait for it.
	probing singleflight.Group
	// passthrough says whether the kernel reads the cache itself.
	passthrough passthrough
	// heads judges the lengths that are asked for.
	heads heads
	// away is why the service could not be asked the last time, nil when it answered.
	away atomic.Pointer[Failure]
	// epochs make the kernel look up names again.
	epochs epochs
	// sending counts uploads under way.
	sending atomic.Int64
	// handles are the open files.
	handles handles
	// waited says that somebody waited for uploads and unmounts.
	waited atomic.Bool
	// queue is what is archived in the background.
	queue *background.Queue[*spool.Upload]
	// errnos makes errnos of errors, and logs those.
	errnos *errno.Log
	// work is what Close waits for: uploads and background work.
	work background.Work

	// walks and readAhead prefetch listings and contents, until stopPrefetch.
	walks        *prefetch.Walks
	readAhead    *prefetch.ReadAhead
	stopPrefetch context.CancelFunc
	// memory is given back after a walk.
	memory memory
	// whole are the large lists of documents.
	whole wholeLists
	// forgotten are directories to be folded.
	forgotten forgotten

	mu         sync.Mutex
	waiting    map[folderRef][]*spool.Upload // recovered and not shown yet, by folder; guarded by mu
	holders    map[string]*file              // what stands for an upload, by its id; guarded by mu
	queuedDirs map[string]*dir               // folders that are queued, by their upload; guarded by mu
	cutOff     map[string]bool               // uploads whose close an earlier mount did not answer, by id; guarded by mu
	kept       map[string]*file              // uploads shown in the control directory, by id; guarded by mu
	failures   []Failure                     // the newest, last first; guarded by mu
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
	f := &FileSystem{
		opts: opts, archive: opts.Archive, content: opts.Content, facts: opts.Facts,
		spool: opts.Spool, log: opts.Log, started: opts.Now(),
		waiting: map[folderRef][]*spool.Upload{}, holders: map[string]*file{}, queuedDirs: map[string]*dir{}, cutOff: map[string]bool{}, kept: map[string]*file{},
	}
	f.errnos = errno.NewLog(f.log, f.now)
	f.queue = background.New(f.deliverQueued, f.deliverable, f.now)
	f.children = cache.NewListings[archive.ID, archive.Structure](opts.Listings, opts.TTL, opts.Now)
	f.documents = cache.NewListings[archive.ID, []archive.Document](opts.Listings, opts.TTL, opts.Now)
	f.children.Pack(cache.PackedFolders())
	f.documents.Pack(cache.PackedDocuments())
	f.inboxes = cache.NewListings[struct{}, archive.Inboxes](1, opts.TTL, opts.Now)
	f.abouts = cache.NewListings[archive.ID, about](maxAbouts, opts.TTL, opts.Now)
	f.searches = cache.NewListings[string, *found](maxSearches, opts.TTL, opts.Now)
	f.keepKnown(opts.Known)
	var prefetching context.Context
	prefetching, f.stopPrefetch = context.WithCancel(context.Background())
	f.walks = prefetch.NewWalks(prefetching, prefetch.Options{
		Service: f.archive, Answered: f.answered, Folders: f.children, Documents: f.documents,
		List: opts.List, Decoded: f.memory.decoded, Go: f.work.Go, Now: f.now,
	})
	f.readAhead = prefetch.NewReadAhead(prefetching, opts.ReadAhead, f.work.Go, f.now)
	f.root = newDir(f, rootDir, 0, inode.Root, nil, "")
	inboxes := newDir(f, inboxesDir, 0, inode.Inboxes, f.root, inboxesName)
	f.root.here().names.put(&entry{name: inboxesName, dir: inboxes})
	return f
}

func (f *FileSystem) now() time.Time { return f.opts.Now() }

// Check asks the service for the top of its archive, so that a mount with a wrong address
// or wrong credentials fails at once. While the service is away what is known of it will
// do; Away then tells why.
func (f *FileSystem) Check(ctx context.Context) error {
	return f.root.loadFolders(ctx, needNames)
}

// Close waits for uploads and background work to end, at most until ctx is done; what the
// service cannot take now stays in the spool. The file system must be unmounted, or out of
// sight.
func (f *FileSystem) Close(ctx context.Context) error {
	f.stopPrefetch()
	err := f.work.Wait(ctx)
	if derr := f.queue.Drain(ctx); !errors.Is(derr, background.ErrAway) {
		err = errors.Join(err, derr)
	}
	return errors.Join(err, f.queue.Close(ctx))
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
