// Package content is what files show: the bytes that open handles read of a document, the prefetch of
// the next documents, and whether the kernel reads a cached file itself.
//
// It does not depend on FUSE.
package content

import (
	"context"
	"math"
	"os"
	"sync"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/cache"
	"github.com/archivefs/archivefs/fs/internal/background"
	"github.com/archivefs/archivefs/fs/internal/errno"
	"github.com/archivefs/archivefs/fs/internal/names"
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
	// DownloadsForThumbnails permits downloads of documents for the thumbnails of file managers.
	DownloadsForThumbnails bool
	// Thumbnails are those that the mount itself makes.
	Thumbnails Thumbnails
	// Crawlers permits downloads by search indexers and backup programs; CrawlerNames are further such programs.
	Crawlers     bool
	CrawlerNames []string
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
	// Working is tree.Config.Working.
	Working *names.Rules
	// Windows is tree.Config.Windows.
	Windows names.Windows
	// NewestPlain is tree.Config.NewestPlain.
	NewestPlain bool
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
	// Vanishing forgets what is not in the archive any more.
	Vanishing *Vanishing

	config Config
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
	vanishing := &Vanishing{ctx: ctx}
	contents := new(Contents)
	*contents = Contents{
		Tree: tree.New(tree.Config{
			Service: service, Reps: reps, Lengths: &view.Lengths{Representations: reps, Facts: c.Facts}, Started: c.Now(),
			Staged: c.Staged, Changed: c.Changed, Vanished: vanishing.From, Altered: contents.altered, Expanded: c.Memory.Expanded, NewLeaf: c.NewLeaf, NewestPlain: c.NewestPlain, Working: c.Working, Windows: c.Windows,
		}),
		Content: c.Content, Facts: c.Facts, Errnos: errno.NewLog(c.Log, c.Now),
		Walks: prefetch.NewWalks(ctx, prefetch.Options{
			Service: c.Archive, Answered: service.Answered, Folders: service.Children, Documents: service.Documents,
			List: c.List, Decoded: c.Memory.Decoded, Near: c.Near, Go: c.Work.Go, Now: c.Now,
		}),
		ReadAhead: prefetch.NewReadAhead(ctx, c.ReadAhead, c.Work.Go, c.Now), Vanishing: vanishing, config: c,
	}
	vanishing.c = contents
	if c.Known != nil {
		c.Known.Vanished = vanishing.Documents
	}
	return contents
}

// open opens the content of key. What is kept serves while the service is away, however old it is.
func (c *Contents) open(ctx context.Context, key cache.Key, t cache.Trust) (*cache.Reader, error) {
	r, err := c.request(ctx, key, t)
	if archive.Away(err) {
		if held, ok := c.Content.Kept.Held(key); ok && held.Kept {
			return c.request(ctx, key, cache.Trust{MaxAge: math.MaxInt64})
		}
	}
	return r, err
}

// request opens the content of key, from the service unless t trusts the cached one.
func (c *Contents) request(ctx context.Context, key cache.Key, t cache.Trust) (*cache.Reader, error) {
	r, err := c.Content.Open(ctx, key, t, func(ctx context.Context, w cache.Want) (*archive.Content, error) {
		content, err := c.Service.Archive.Content(ctx, archive.ContentRequest{
			Document: key.Document, Representation: key.Representation, Offset: w.Offset, Length: w.Length, Match: w.Match, NoneMatch: w.NoneMatch,
		})
		return content, c.Service.Answered(err)
	})
	if err == nil && t.Print != 0 {
		c.Facts.Learn(key, t.Print, r.Size())
	}
	return r, err
}

// first opens a document in the first representation that the service has of it.
func (c *Contents) first(doc archive.ID, open func(archive.Representation) (*cache.Reader, error)) (*cache.Reader, error) {
	order := c.Reps.Order()
	if first := c.Reps.Of(doc); first != order[0] {
		if r, err := open(first); err == nil {
			return r, nil // uploaded from here, and still cached as uploaded
		}
	}
	var err error
	for _, rep := range order {
		var r *cache.Reader
		if r, err = open(rep); err == nil {
			c.Reps.Found(rep)
			return r, nil
		}
		if archive.KindOf(err) != archive.KindUnsupported {
			break
		}
		c.Reps.Lacks(rep, doc)
	}
	return nil, err
}

// Renew opens a document as a file of it would be read, but trusts no content that can change while its
// listing stays the same, however young it is. of is the fingerprint of an archived document.
func (c *Contents) Renew(ctx context.Context, doc archive.ID, of archive.Fingerprint) (*cache.Reader, error) {
	return c.first(doc, func(rep archive.Representation) (*cache.Reader, error) {
		return c.request(ctx, cache.Key{Document: doc, Representation: rep}, cache.Trust{Print: of})
	})
}

// altered is tree.Config.Altered.
func (c *Contents) altered(d *tree.Dir, name string, before, now *archive.Document) {
	c.Content.Kept.Listed(now.ID, before.Fingerprint(), now.Fingerprint())
	if before.Listed() {
		c.config.DataChanged(now.ID)
		c.Service.Work.Go(func() { c.config.Thumbnails.Remove(d.PathOf(name)) })
	}
}

// Cached says how much of the content that a file shows is on this machine.
func (f *File) Cached() (whole, part bool) {
	if f.Pending() != nil {
		return true, false
	}
	key := f.Key()
	_, whole = f.Env.Content.Kept.Held(key)
	return whole, !whole && f.Env.Content.Kept.Partly(key)
}

// A document that listings do not show any more may have been erased, and then nothing of it stays on this
// machine; or it lies in another folder, or is not shown to this user for a while. So the service is asked
// for its id, once, if there is something of it here.

const (
	// mostVanished bounds the documents that wait to be asked for: what is here of others stays until it is evicted.
	mostVanished = 1 << 16
	// vanishedPause is how long the service is not asked after it could not answer.
	vanishedPause = time.Minute
)

// Thumbnails are those that the mount has made for file managers, by the paths of documents from the top of the mount.
type Thumbnails interface {
	Has(path string) bool
	Remove(path string)
}

// vanished is a document that its folder does not show any more.
type vanished struct {
	doc archive.ID
	// dir and name are where it was shown, nil and empty if that is not known.
	dir  *tree.Dir
	name string
}

// Vanishing forgets what there is of documents that do not exist any more.
type Vanishing struct {
	c   *Contents
	ctx context.Context // of the mount

	mu      sync.Mutex
	waiting []vanished // +checklocks:mu
	busy    bool       // +checklocks:mu
	// paused is until when the service is not asked.
	paused time.Time // +checklocks:mu
}

// From notes a document that a directory showed under a name. It does not block.
func (v *Vanishing) From(d *tree.Dir, doc archive.ID, name string) { v.note(vanished{doc, d, name}) }

// Documents notes documents that some folder showed in an earlier mount, or in this one.
func (v *Vanishing) Documents(docs []archive.ID) {
	all := make([]vanished, 0, len(docs))
	for _, doc := range docs {
		all = append(all, vanished{doc: doc})
	}
	v.note(all...)
}

func (v *Vanishing) note(all ...vanished) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.waiting = append(v.waiting, all[:min(len(all), mostVanished-len(v.waiting))]...)
	v.startLocked()
}

// Answered notes that the service answers.
func (v *Vanishing) Answered() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.startLocked()
}

// +checklocks:v.mu
func (v *Vanishing) startLocked() {
	if v.busy || len(v.waiting) == 0 || v.c.Service.Now().Before(v.paused) || v.ctx.Err() != nil {
		return
	}
	v.busy = true
	v.c.Service.Work.Go(v.work)
}

// work asks for what waits until nothing does, or the service cannot answer.
func (v *Vanishing) work() {
	for {
		v.mu.Lock()
		all := v.waiting
		v.waiting, v.busy = nil, len(all) > 0
		v.mu.Unlock()
		if len(all) == 0 {
			return
		}
		if left := v.ask(all); len(left) > 0 {
			v.mu.Lock()
			v.waiting = append(left, v.waiting[:min(len(v.waiting), mostVanished-len(left))]...)
			v.busy, v.paused = false, v.c.Service.Now().Add(vanishedPause)
			v.mu.Unlock()
			return
		}
	}
}

// ask asks for documents of which there is something here. It returns those that are left when the service
// cannot answer.
func (v *Vanishing) ask(all []vanished) (left []vanished) {
	here, previews := v.c.Content.Kept.Documents()
	for i, gone := range all {
		path := ""
		if gone.dir != nil {
			path = gone.dir.PathOf(gone.name)
		}
		if !here[gone.doc] && !previews && !v.c.config.Thumbnails.Has(path) {
			continue
		}
		_, err := v.c.Service.Archive.Data(v.ctx, gone.doc)
		switch err = v.c.Service.Answered(err); {
		case archive.KindOf(err) == archive.KindNotFound:
			v.c.Content.Kept.Forget(gone.doc)
			v.c.config.Thumbnails.Remove(path)
			v.c.Service.Log.WithField("document", gone.doc).Info("it is not in the archive any more: what was here of it is removed")
		case archive.Away(err), archive.KindOf(err) == archive.KindUnauthorized, v.ctx.Err() != nil:
			return all[i:]
		}
	}
	return nil
}
