package fs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/fs/internal/background"
	"github.com/archivefs/archivefs/fs/internal/callers"
	"github.com/archivefs/archivefs/fs/internal/change"
	"github.com/archivefs/archivefs/fs/internal/content"
	"github.com/archivefs/archivefs/fs/internal/control"
	"github.com/archivefs/archivefs/fs/internal/keep"
	"github.com/archivefs/archivefs/fs/internal/names"
	"github.com/archivefs/archivefs/fs/internal/node"
	"github.com/archivefs/archivefs/fs/internal/pictures"
	"github.com/archivefs/archivefs/fs/internal/remote"
	"github.com/archivefs/archivefs/fs/internal/rights"
	"github.com/archivefs/archivefs/fs/internal/staging"
	"github.com/archivefs/archivefs/fs/internal/tree"
	"github.com/archivefs/archivefs/fs/internal/watch"
)

// FileSystem is one archive as a file system. It is safe for concurrent use.
type FileSystem struct {
	*content.Contents
	opts Options
	log  logrus.FieldLogger

	staging *staging.Area
	kernel  *node.Kernel
	watch   watch.Watch[*tree.Dir]
	control *control.Tree
	keeper  *keep.Keeper

	// renewed is when StateDir went on under a renewed API key.
	renewed atomic.Pointer[time.Time]
	// clocks time the requests of the kernel.
	clocks clocks
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
	opts.Mode = cmp.Or(opts.Mode, ContentAuto)
	opts.List.WithAutoExport = true
	f := &FileSystem{opts: opts, log: opts.Log, clocks: newClocks()}
	f.kernel = &node.Kernel{UID: opts.UID, GID: opts.GID, Umask: opts.Umask, Trust: kernelTrust, Memory: &f.memory, Askers: callers.NewAskers(time.Now)}
	people := staging.People{Of: Person}
	if opts.People != nil {
		f.kernel.Guard.Judge = rights.New(rights.Config{People: opts.People, Archive: opts.Archive, Person: Person, TTL: opts.TTL, Now: opts.Now})
		opts.Archive, people.As = f.kernel.Guard.Judge.Share(opts.Archive), rights.As
	}
	f.staging = staging.New(staging.Config{
		Spool: opts.Spool, State: opts.State, Async: opts.Async, Grace: opts.Grace, Number: opts.Number, ReadOnly: opts.ReadOnly, WhileAlive: node.WhileAlive, People: people,
		Rewritten: func(doc archive.ID) { f.control.BytesChanged(doc) },
	}, opts.Now)
	var prefetching context.Context
	prefetching, f.stopPrefetch = context.WithCancel(context.Background())
	f.Contents = content.New(prefetching, content.Config{
		Config: remote.Config{
			Archive: opts.Archive, List: opts.List, TTL: opts.TTL, Listings: opts.Listings, RetryFor: opts.RetryFor, Sleep: opts.Sleep,
			Known: opts.Known, Spill: opts.Spill, Log: opts.Log, Now: opts.Now, Work: &f.work, Answers: f.answered, Notifier: opts.Notifier,
		},
		Mode: opts.Mode, Content: opts.Content, Facts: opts.Facts, DownloadsForThumbnails: opts.Thumbnails == ThumbnailsDownload, Thumbnails: madeThumbnails{f.kernel}, Crawlers: opts.Crawlers, CrawlerNames: opts.CrawlerNames, ReadAhead: opts.ReadAhead, Near: opts.Near, Memory: &f.memory,
		Staged: &f.staging.Placing, NewLeaf: f.staging.LeafFor, NewestPlain: opts.Number, Working: opts.LocalNames, Windows: names.Windows(opts.WindowsNames), Changed: f.changed, Reads: f.kernel.Passthrough.Reads,
		DataChanged: func(doc archive.ID) { f.control.DataChanged(doc) },
	})
	if opts.Thumbnails == ThumbnailsPreview {
		f.kernel.Pictures = f.pictures(prefetching)
	}
	f.control = control.New(&controlMount{f: f, kept: map[string]*staging.File{}}, f.log, opts.Now, opts.TTL)
	f.keeper = keep.New(prefetching, keep.Config{Contents: f.Contents, State: opts.State, Known: opts.Known, Interval: opts.KeepEvery})
	f.staging.Keeper = f.keeper
	f.staging.Contents, f.kernel.Contents = f.Contents, f.Contents
	f.watch.Every, f.watch.List, f.watch.Go, f.watch.Context = opts.Watch, f.relist, f.work.Go, prefetching
	f.kernel.Staging, f.kernel.Control, f.kernel.Watch = f.staging, f.control, &f.watch
	f.kernel.Files = change.New(f.staging, opts.State, opts.AllowDelete)
	if err := f.RereadSearches(); err != nil {
		f.log.Warn(err)
	}
	return f
}

// Person returns the user whose program made the request of the kernel with that context; false if the
// context is of no such request, but of work in the background.
func Person(ctx context.Context) (uid uint32, ok bool) { return node.Person(ctx) }

// pictures makes what fills the user's cache of thumbnails, until ctx ends; nil if the user has none.
func (f *FileSystem) pictures(ctx context.Context) *pictures.Maker {
	m, err := pictures.New(ctx, f.opts.Archive, f.work.Go, f.opts.Now, f.log)
	if err != nil {
		f.log.Infof("there are no thumbnails: %v", err)
	}
	return m
}

// Away returns why the last request to the service failed to get an answer, nil when it got one.
func (f *FileSystem) Away() *Failure { return f.Service.Away() }

// Check lists the top of the archive, so that a mount with a wrong address or wrong credentials fails at once; a second
// Check asks anew. While the service is away a remembered listing will do; Away then returns the reason.
func (f *FileSystem) Check(ctx context.Context) error {
	f.Root.Outdate() // an error is remembered, too
	return f.Root.Tree.LoadFolders(ctx, f.Root, tree.NeedNames)
}

// BeginAt has a mount that is made later show only the folder at a path of the archive, and what is below.
// Searches look only there, access by id reaches all documents. The error is ENOENT if there is no such folder.
func (f *FileSystem) BeginAt(ctx context.Context, path string) error {
	top, err := folderAt(ctx, f.Root, strings.FieldsFunc(path, func(r rune) bool { return r == '/' }))
	if err == nil {
		f.Root.Tree.Top.Store(top)
	}
	return err
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

// Recover resumes what an earlier mount left in the spool, and fetches what is kept. It does not wait for the service.
func (f *FileSystem) Recover() {
	staging.Recover(f.staging)
	f.keeper.Start()
}

// Renewed notes when Options.StateDir went on under a renewed API key, for the status. Zero: it did not.
func (f *FileSystem) Renewed(at time.Time) { f.renewed.Store(&at) }

// PeopleChanged says that users have other credentials (Options.People): what waits for them is tried
// again, and the service is asked anew what each of them may see.
func (f *FileSystem) PeopleChanged() {
	f.kernel.Guard.Judge.Reset()
	f.control.InvalidateAll()
	f.staging.Queue.Hasten()
}

// answered is called when the service has answered a request for data.
func (f *FileSystem) answered() {
	f.staging.Queue.Wake()
	f.keeper.Answered()
	f.Vanishing.Answered()
}

// madeThumbnails are the thumbnails that a mount has made for file managers.
type madeThumbnails struct{ k *node.Kernel }

func (m madeThumbnails) Has(path string) bool {
	return m.k.Pictures.Has(filepath.Join(m.k.Top, tree.FromTop(m.k.Root.Tree, path)))
}

func (m madeThumbnails) Remove(path string) {
	m.k.Pictures.Remove(filepath.Join(m.k.Top, tree.FromTop(m.k.Root.Tree, path)))
}

// Close waits for uploads and background work, at most until ctx is done. What the service cannot take
// now stays in the spool. The file system must be unmounted or detached.
func (f *FileSystem) Close(ctx context.Context) error {
	f.stopPrefetch()
	err := f.work.Wait(ctx)
	err = errors.Join(err, f.staging.Close(ctx))
	f.Service.Save()
	return err
}

// Refresh invalidates all listings, also in the kernel, before their TTL is over, and lists the top of
// the archive. The kernel gets one notification, however many names it has; the attributes of a
// directory change only with its next listing. Cached contents stay: those of archived documents never
// change. While the service is away it returns the reason, and remembered listings are shown.
func (f *FileSystem) Refresh(ctx context.Context) error {
	f.Service.OutdateAll()
	f.control.InvalidateAll()
	f.kernel.Guard.Judge.Reset()
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

// relist lists a watched directory again. The error says that the service is away.
func (f *FileSystem) relist(ctx context.Context, d *tree.Dir) error {
	if !d.IsShown() {
		return nil
	}
	if err := d.Tree.Relist(ctx, d); err != nil {
		return err
	}
	if away := f.Away(); away != nil {
		return errors.New(away.Text)
	}
	return nil
}

// changed tells the kernel, and the programs that watch the directory, that names have changed.
func (f *FileSystem) changed(d *tree.Dir, names []string) {
	f.kernel.ForgetNames(d, names)
	if len(names) > 0 && f.watch.Watches(d) {
		f.kernel.Announce(d, names, false)
	}
}

// Reconnect is for another network, or the same one after a sleep: the service is asked for the top of
// the archive at once, and for all that waits for it. The error is that of the listing.
func (f *FileSystem) Reconnect(ctx context.Context) error {
	f.staging.Queue.Hasten()
	f.watch.Hasten()
	f.Root.Outdate()
	return f.Root.Tree.LoadFolders(ctx, f.Root, tree.NeedListing)
}
