package content

import (
	"context"
	"os"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/cache"
	"github.com/archivefs/archivefs/fs/internal/background"
	"github.com/archivefs/archivefs/fs/internal/errno"
	"github.com/archivefs/archivefs/fs/internal/prefetch"
	"github.com/archivefs/archivefs/fs/internal/remote"
	"github.com/archivefs/archivefs/fs/internal/tree"
	"github.com/archivefs/archivefs/fs/internal/view"
)

// Config configures Contents. The functions do not block.
type Config struct {
	// Config configures the service that the contents come from.
	remote.Config
	Mode    view.Mode
	Content *cache.Content
	Facts   *cache.Facts
	// Thumbnails permits downloads of documents for the thumbnails of file managers.
	Thumbnails bool
	// Crawlers permits downloads of documents by search indexers and backup programs.
	Crawlers bool
	// ReadAhead is how many document prefetches may be in flight; 0 disables them.
	ReadAhead int
	// Near is prefetch.Options.Near.
	Near   time.Duration
	Memory *background.Memory
	// Staged is what waits on this machine to be archived.
	Staged tree.Staged
	// Changed makes the kernel look up names of a directory again.
	Changed func(d *tree.Dir, names []string)
	// NewLeaf makes the file of a document's entry.
	NewLeaf func(ino uint64, d *tree.Dir, e *tree.Entry, doc *archive.Document) *tree.Leaf
	// Reads reports whether the kernel can read a cached file itself.
	Reads func(*os.File) bool
	// DataChanged is called when the cached data of a document is outdated.
	DataChanged func(doc archive.ID)
}

// Contents is what files read: the cache, what fills it, and the tree of the files.
type Contents struct {
	*tree.Tree
	Content *cache.Content
	Facts   *cache.Facts
	Errnos  *errno.Log
	// Walks and ReadAhead prefetch listings and contents.
	Walks     *prefetch.Walks
	ReadAhead *prefetch.ReadAhead

	thumbnails  bool
	crawlers    bool
	reads       func(*os.File) bool
	dataChanged func(doc archive.ID)
}

// New makes the contents of a tree without listings. Prefetches end with ctx.
func New(ctx context.Context, c Config) *Contents {
	service := remote.New(c.Config)
	reps := &view.Representations{
		Mode: c.Mode, Service: c.Archive, Pause: c.TTL, Log: c.Log, Now: c.Now, Work: c.Work,
		Cached: func(key cache.Key) bool {
			_, ok := c.Content.Lookup(key)
			return ok
		},
	}
	if c.Known != nil {
		reps.Kept = c.Known.Representation()
	}
	return &Contents{
		Tree: tree.New(tree.Config{
			Service: service, Reps: reps, Lengths: &view.Lengths{Representations: reps, Facts: c.Facts}, Started: c.Now(),
			Staged: c.Staged, Changed: c.Changed, Expanded: c.Memory.Expanded, NewLeaf: c.NewLeaf,
		}),
		Content: c.Content, Facts: c.Facts, Errnos: errno.NewLog(c.Log, c.Now),
		Walks: prefetch.NewWalks(ctx, prefetch.Options{
			Service: c.Archive, Answered: service.Answered, Folders: service.Children, Documents: service.Documents,
			List: c.List, Decoded: c.Memory.Decoded, Near: c.Near, Go: c.Work.Go, Now: c.Now,
		}),
		ReadAhead:  prefetch.NewReadAhead(ctx, c.ReadAhead, c.Work.Go, c.Now),
		thumbnails: c.Thumbnails, crawlers: c.Crawlers, reads: c.Reads, dataChanged: c.DataChanged,
	}
}
