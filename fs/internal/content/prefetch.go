package content

import (
	"context"
	"slices"
	"sort"

	"github.com/archivefs/archivefs/fs/internal/prefetch"
	"github.com/archivefs/archivefs/fs/internal/tree"
)

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

// finds reports whether a name can be looked up without a listing. A name without an extension is taken
// for a folder's.
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

// ByName reports whether a program that opens the directory within the walk gets its documents by name
// only.
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

// fetch prefetches the entry's document into the cache, and reports whether it does: not when the
// document is cached.
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
