package content

import (
	"context"
	"slices"
	"sort"
	"syscall"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/cache"
	"github.com/archivefs/archivefs/fs/internal/callers"
	"github.com/archivefs/archivefs/fs/internal/errno"
	"github.com/archivefs/archivefs/fs/internal/prefetch"
	"github.com/archivefs/archivefs/fs/internal/tree"
)

// A search, and a request for a document by its id, return ids of folders that may never have been listed.

// Locate returns the directories of folders by id. wanted maps each id to the name of its mandator
// (archive.InInbox). Unlisted folders are found with at most one request for the inboxes and one for
// the structure, and then listed. Folders that cannot be found are left out.
func (c *Contents) Locate(ctx context.Context, wanted map[archive.ID]string) (map[archive.ID]*tree.Dir, error) {
	found := map[archive.ID]*tree.Dir{}
	c.Root.Tree.Collect(c.Root, wanted, found)
	missing := without(wanted, found)
	if len(missing) == 0 {
		return found, nil
	}
	for _, mandator := range missing {
		if archive.InInbox(mandator) {
			if err := c.locateInboxes(ctx, missing, found); err != nil {
				return found, err
			}
			break
		}
	}
	if missing = without(missing, found); len(missing) == 0 {
		return found, nil
	}
	if err := c.Root.Tree.LoadFolders(ctx, c.Root, tree.NeedNames); err != nil {
		return found, err
	}
	top := c.mandatorOf(missing)
	below, err := c.Walks.Structure(ctx, top.ID())
	if err != nil {
		return found, err
	}
	return found, top.Tree.Follow(ctx, top, below, missing, found)
}

func without(wanted map[archive.ID]string, found map[archive.ID]*tree.Dir) map[archive.ID]string {
	missing := map[archive.ID]string{}
	for id, mandator := range wanted {
		if found[id] == nil && id != 0 {
			missing[id] = mandator
		}
	}
	return missing
}

// locateInboxes adds wanted folders in inboxes to found.
func (c *Contents) locateInboxes(ctx context.Context, wanted map[archive.ID]string, found map[archive.ID]*tree.Dir) error {
	inboxes := c.Root.Get(tree.InboxesName).Dir
	if err := inboxes.Tree.LoadFolders(ctx, inboxes, tree.NeedNames); err != nil {
		return err
	}
	listed, _ := c.Service.Inboxes.Peek(struct{}{})
	folders := make([]archive.Folder, 0, len(listed.Value.Inboxes))
	for _, box := range listed.Value.Inboxes {
		folders = append(folders, box.Folder)
	}
	return inboxes.Tree.Follow(ctx, inboxes, folders, wanted, found)
}

// mandatorOf returns the mandator of all these folders, or the root if there are several or the name
// is missing or ambiguous.
func (c *Contents) mandatorOf(wanted map[archive.ID]string) *tree.Dir {
	names := map[string]bool{}
	for _, mandator := range wanted {
		names[mandator] = true
	}
	c.Root.Mu.Lock()
	defer c.Root.Mu.Unlock()
	var top *tree.Dir
	for _, e := range c.Root.Shown.Folders.List {
		if !names[e.Entry.ServiceName] {
			continue
		}
		if top != nil {
			return c.Root
		}
		top = e.Entry.Dir
	}
	if top == nil || len(names) > 1 {
		return c.Root
	}
	return top
}

// ErrThumbnail and its like refuse an open by a program that nobody waits for. Such programs read every document that they
// come across, most of them completely. A file manager then shows an icon of the file's type; an indexer
// finds a document by its name; a backup program says which files it left out.
var ErrThumbnail = errno.Refuse(syscall.EACCES, "no document is downloaded for a thumbnail (--thumbnails download allows it)")

// Unattended returns why a process may not open the document: that would download it for a program
// that nobody waits for. Cached documents can be read by all.
func (f *File) Unattended(pid uint32) error {
	if f.As != nil || f.Env.config.DownloadsForThumbnails && f.Env.config.Crawlers {
		return nil
	}
	doc := f.Document().ID
	rep := f.Env.Reps.Of(doc)
	if _, here := f.Env.Content.Trusted(cache.Key{Document: doc, Representation: rep}, f.Trust(rep)); here {
		return nil
	}
	if !f.Env.config.DownloadsForThumbnails && callers.Of(pid) == callers.Thumbnailer {
		return ErrThumbnail
	}
	if f.Env.config.Crawlers {
		return nil
	}
	if program := callers.CrawlerOf(pid, f.Env.config.CrawlerNames); program != "" {
		return errno.Refuse(syscall.EACCES, "no document is downloaded for "+archive.Printable(program)+", a search index, a backup or a virus scanner (--crawlers allows it)")
	}
	return nil
}

// Walked is a directory as package prefetch sees it.
type Walked struct {
	*tree.Dir
	Env *Contents
}

// Wants reports whether the directory is walkable and cannot be listed without a request.
func (w Walked) Wants() bool {
	id := w.ID()
	return w.walkable() && (!w.KnowsFolders(tree.NeedListing) && !w.Tree.Service.Children.Fresh(id) ||
		!w.KnowsDocuments(tree.NeedListing) && !w.Tree.Service.Documents.Fresh(id))
}

// walkable reports whether listings of the directory may be prefetched: it is a folder of the archive,
// and the mount shows all its documents.
func (w Walked) walkable() bool {
	return w.Kind().Archives() && !w.IsLocal() && w.Tree.Service.List.CreatedAfter.IsZero()
}

// Line returns the directory and its ancestors, the root last.
func (w Walked) Line() (line []prefetch.Folder) {
	for d := w.Dir; d != nil; d = d.Above() {
		line = append(line, Walked{d, w.Env})
	}
	return line
}

// LookingUp notes a lookup in the directory, and prefetches listings if it is part of a walk.
func (w Walked) LookingUp(ctx context.Context, name string) {
	switch {
	case !w.walkable(), w.finds(name), w.Tree.Working.Stays(name):
	case w.Wants():
		if w.Kind() == tree.MandatorDir && !tree.LooksLikeDocument(name) {
			w.Env.Walks.Entering(w.ID()) //nolint:contextcheck // what begins here outlives the request
		}
		w.Env.Walks.LookingUp(ctx, w.Line())
	default:
		w.Env.Walks.LookingUpPrefetched()
	}
}

// finds reports whether a name can be looked up without a listing. A name without an extension is taken for a folder's.
func (w Walked) finds(name string) bool {
	if !w.KnowsFolders(tree.NeedNames) {
		return false
	}
	e := w.Get(name)
	return e != nil && e.Dir != nil || !tree.LooksLikeDocument(name) || !w.Tree.WantsDocuments(w.Dir, tree.NeedNames)
}

// A walk that only reads names (find, ls -R) needs no attributes of documents, and without them neither
// the kernel nor this process needs an inode for each. So a walk gets only names until somebody looks
// at one of these documents: from then on READDIRPLUS saves it a request for each.

// ByName reports whether a program that opens the directory within the walk gets its documents by name only.
func (w Walked) ByName(by *prefetch.Walk) bool {
	if by.Looks() {
		return false
	}
	w.NamedFor.Store(by)
	return true
}

// Looked notes that somebody looked at a document of the directory.
func (w Walked) Looked() {
	if by := w.NamedFor.Load(); by != nil && w.NamedFor.CompareAndSwap(by, nil) {
		by.Look()
	}
}

// maxSearch bounds the entries that are considered for read-ahead.
const maxSearch = 64

// after returns up to maxSearch entries: those that follow name, then those from the first on.
func after(entries []*tree.Entry, name string) []*tree.Entry {
	at := sort.Search(len(entries), func(i int) bool { return entries[i].Name > name })
	next := entries[at:min(len(entries), at+maxSearch)]
	return append(slices.Clip(next), entries[:min(at, maxSearch-len(next))]...)
}

// fetch prefetches the entry's document into the cache, and reports whether it does: not when the document is cached.
func (w Walked) fetch(e *tree.Entry) bool {
	doc := e.Doc.Load()
	if doc == nil || e.Busy() {
		return false
	}
	f := w.LeafOf(e).Holder.(readableHolder).asReadable()
	key := f.Key()
	if _, there := w.Env.Content.Trusted(key, f.Trust(key.Representation)); there {
		return false
	}
	size, _ := f.CurrentSize() // 0 if unknown: then the answer tells
	return w.Env.ReadAhead.Fetch(w, doc.ID, size, func(ctx context.Context) error { return f.fetchWhole(ctx, key) })
}

// readableHolder is the Holder of a leaf.
type readableHolder interface{ asReadable() *File }

func (f *File) asReadable() *File { return f }
