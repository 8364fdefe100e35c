package content

import (
	"context"
	"os"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/cache"
	"github.com/archivefs/archivefs/fs/internal/background"
	"github.com/archivefs/archivefs/fs/internal/errno"
	"github.com/archivefs/archivefs/fs/internal/prefetch"
	"github.com/archivefs/archivefs/fs/internal/remote"
	"github.com/archivefs/archivefs/fs/internal/tree"
	"github.com/archivefs/archivefs/fs/internal/view"
)

// Config configures Contents. The functions return at once.
type Config struct {
	// Config is of the service that the contents are from.
	remote.Config
	Mode    view.Mode
	Content *cache.Content
	Facts   *cache.Facts
	// Thumbnails lets file managers have documents downloaded to make thumbnails of them.
	Thumbnails bool
	// ReadAhead is how many documents are prefetched at a time; 0: none is.
	ReadAhead int
	Memory    *background.Memory
	// Staged is what waits on this machine to be shown.
	Staged tree.Staged
	// Changed tells the kernel that names of a directory changed.
	Changed func(d *tree.Dir, names []string)
	// NewLeaf makes the file of a document's entry.
	NewLeaf func(ino uint64, d *tree.Dir, e *tree.Entry, doc *archive.Document) *tree.Leaf
	// Reads reports whether the kernel reads a file of the cache itself.
	Reads func(*os.File) bool
	// DataChanged says that what is cached of a document's data is no longer right.
	DataChanged func(doc archive.ID)
}

// Contents is what files read: the cache, what fills it, and the tree that they stand in.
type Contents struct {
	*tree.Tree
	Content *cache.Content
	Facts   *cache.Facts
	Errnos  *errno.Log
	// Walks and ReadAhead prefetch listings and contents.
	Walks     *prefetch.Walks
	ReadAhead *prefetch.ReadAhead

	thumbnails  bool
	reads       func(*os.File) bool
	dataChanged func(doc archive.ID)
}

// New makes the contents of a tree of which nothing is listed yet. What is prefetched ends with ctx.
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
			List: c.List, Decoded: c.Memory.Decoded, Go: c.Work.Go, Now: c.Now,
		}),
		ReadAhead:  prefetch.NewReadAhead(ctx, c.ReadAhead, c.Work.Go, c.Now),
		thumbnails: c.Thumbnails, reads: c.Reads, dataChanged: c.DataChanged,
	}
}
