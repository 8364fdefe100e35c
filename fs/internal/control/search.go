package control

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/pkg/xattr"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/cache"
	"github.com/archivefs/archivefs/fs/internal/errno"
	"github.com/archivefs/archivefs/fs/internal/inode"
	"github.com/archivefs/archivefs/fs/internal/names"
	"github.com/archivefs/archivefs/internal/query"
)

const (
	// maxHits limits the documents that one search shows.
	maxHits = 10_000
	// maxSearches limits the searches whose hits are cached.
	maxSearches = 16
)

// queries has a directory for each query. A lookup sends the query, unless it is a name that
// desktops look up everywhere. It lists nothing: the queries of others are private.
func (t *Tree) queries() *Dir { return &Dir{Ino: inode.Search, Lookup: t.queriesBehind("")} }

// queriesBehind looks up queries that begin so. A query whose quotes are still open goes on behind a slash of the path:
// its directory has hits only of what stands below it.
func (t *Tree) queriesBehind(beginning string) func(ctx context.Context, name string) (Node, error) {
	return func(ctx context.Context, name string) (Node, error) {
		switch {
		case len(name) > names.Max:
			return nil, syscall.ENAMETOOLONG
		case (*names.Rules)(nil).Stays(name), strings.HasPrefix(name, "."):
			return nil, syscall.ENOENT
		}
		asked, path := ask(beginning+name), below(searchName, beginning+name)
		dir := t.results(asked, path)
		if errors.Is(asked.err, query.ErrOpen) {
			dir.Lookup = t.queriesBehind(beginning + name + "/")
		} else if _, err := t.search(ctx, asked); err != nil {
			return nil, failed("search", path, err)
		}
		return dir, nil
	}
}

// question is a search with the key of its hits in the cache.
type question struct {
	key string
	q   query.Query
	err error // of the query
}

func ask(text string) question {
	q, err := query.Parse(text)
	return question{text, q, err}
}

// results has a link for each document that a search finds. Its size is the number of documents, 0
// while the search is not cached.
func (t *Tree) results(asked question, path string) *Dir {
	up := strings.Repeat("../", strings.Count(path, "/")+1)
	return &Dir{
		Ino: inode.OfPath(path), Path: path, Keyword: asked.keyword(),
		Lookup: func(ctx context.Context, name string) (Node, error) {
			found, err := t.search(ctx, asked)
			if err != nil {
				return nil, failed("search", path, err)
			}
			hit, ok := found.byName[name]
			if !ok {
				return nil, syscall.ENOENT
			}
			// With the id in the path, another document under the same name has another inode.
			ino := inode.OfPath(path + "/" + name + "\x00" + hit.Document.String() + " " + hit.Folder.String())
			return t.link(ino, up, hit.Document, hit.Created, func(ctx context.Context) Folder {
				return t.folder(ctx, found, hit.Folder)
			}), nil
		},
		List: func(ctx context.Context) ([]Entry, error) {
			found, err := t.search(ctx, asked)
			if err != nil {
				return nil, failed("search", path, err)
			}
			list := make([]Entry, len(found.names))
			for i, name := range found.names {
				list[i] = Entry{Name: name, Mode: syscall.S_IFLNK}
			}
			return list, nil
		},
		Size: func() int64 {
			known, ok := t.searches.Peek(asked.key)
			if !ok {
				return 0
			}
			return int64(known.Value.total)
		},
		GetAttr: func(ctx context.Context, attr string) ([]byte, error) {
			if attr != hitsAttr {
				return nil, syscall.ENOTSUP
			}
			found, err := t.search(ctx, asked)
			if err != nil {
				return nil, failed("search", path, err)
			}
			return strconv.AppendInt(nil, int64(found.total), 10), nil
		},
	}
}

// hitsAttr is the attribute of a directory of hits with their number. listxattr does not list it: it
// can cost a request.
const hitsAttr = "user.archive.hits"

// search returns the hits of a search, which are trusted as long as a listing.
func (t *Tree) search(ctx context.Context, asked question) (*found, error) {
	if asked.err != nil {
		return nil, errno.Refuse(syscall.EINVAL, archive.Printable(asked.err.Error()))
	}
	got, err := t.searches.Get(ctx, t.keyOf(ctx, asked), func(ctx context.Context) (*found, error) {
		folder, err := t.mount.FolderNamed(ctx, asked.q.In)
		if err != nil {
			return nil, err
		}
		s := asked.q.Search
		s.Folder = folder
		hits, err := t.mount.Search(ctx, s, maxHits)
		if word := asked.keyword(); word != "" {
			hits, err = t.withKept(ctx, word, hits, err)
		}
		if err != nil {
			return nil, err
		}
		if hits.Total > len(hits.List) {
			t.log.Warnf("%d documents are found by %q; the first %d are shown", hits.Total, asked.key, len(hits.List))
		}
		return t.newFound(hits), nil
	})
	if archive.KindOf(err) == archive.KindUnsupported {
		return nil, errno.Refuse(syscall.ENOTSUP, "the service has no search: "+err.Error())
	}
	return got.Value, err
}

// keyOf is the key of the hits that are for the user of a request.
func (t *Tree) keyOf(ctx context.Context, asked question) string {
	if as := t.mount.Whose(ctx); as != "" {
		return as + "\x00\x00" + asked.key
	}
	return asked.key
}

// found has the hits of a search. Links have the names of the documents, made unique as in a
// folder. They get no extension, because hits do not say what documents contain.
type found struct {
	names  []string // sorted
	total  int      // how many documents match, with those that have no link
	byName map[string]*archive.Hit
	wanted map[archive.ID]string // the folders of the hits, with their mandators
	// located has these folders. The first READLINK locates all of them.
	located *cache.Listings[struct{}, map[archive.ID]Folder]
}

func (t *Tree) newFound(of archive.Hits) *found {
	hits := slices.Clone(of.List)
	s := &found{
		total: max(of.Total, len(hits)), byName: make(map[string]*archive.Hit, len(hits)), wanted: map[archive.ID]string{},
		located: cache.NewListings[struct{}, map[archive.ID]Folder](1, t.ttl, t.now),
	}
	slices.SortFunc(hits, func(a, b archive.Hit) int { return cmp.Compare(a.Document, b.Document) })
	taken := func(name string) bool { return s.byName[name] != nil }
	for i := range hits {
		hit := &hits[i]
		name := names.OfDocument(&archive.Document{ID: hit.Document, Name: hit.Name}, "", taken)
		s.names, s.byName[name] = append(s.names, name), hit
		s.wanted[hit.Folder] = hit.Mandator
	}
	slices.Sort(s.names)
	return s
}

// folder returns the folder of a hit, nil if it is not found. Its requests continue when the caller
// leaves: their answers serve the next one.
func (t *Tree) folder(ctx context.Context, s *found, id archive.ID) Folder {
	got, err := s.located.Get(ctx, struct{}{}, func(ctx context.Context) (map[archive.ID]Folder, error) {
		return t.mount.Locate(context.WithoutCancel(ctx), s.wanted)
	})
	if err != nil {
		t.log.Debugf("find the folders of hits: %v", err)
	}
	return got.Value[id]
}

// SearchesName is the name of the directory of saved searches at the top of the mount.
const SearchesName = "searches"

// Saved is a saved search: a query with the name of its directory.
type Saved struct{ Name, Query string }

// SetSearches replaces the saved searches. It keeps the slice.
func (t *Tree) SetSearches(list []Saved) { t.saved.Store(&list) }

// Searches returns the directory of the saved searches, nil without any. It is not part of the control
// directory, and is listed. A search is sent to the service when its own directory is opened, or a
// name in it is looked up; nothing above that sends one.
func (t *Tree) Searches() *Dir {
	if len(t.savedSearches()) == 0 {
		return nil
	}
	return &Dir{
		Ino: inode.Searches, Path: SearchesName,
		Lookup: func(_ context.Context, name string) (Node, error) {
			list := t.savedSearches()
			i := slices.IndexFunc(list, func(s Saved) bool { return s.Name == name })
			if i < 0 {
				i = slices.IndexFunc(list, func(s Saved) bool { return names.Composed(s.Name) == names.Composed(name) })
			}
			if i < 0 {
				return nil, syscall.ENOENT
			}
			dir := t.results(ask(list[i].Query), SearchesName+"/"+list[i].Name)
			dir.Ino = list[i].ino()
			return dir, nil
		},
		List: func(context.Context) ([]Entry, error) {
			var entries []Entry
			for _, s := range t.savedSearches() {
				entries = append(entries, Entry{Name: s.Name, Mode: syscall.S_IFDIR, Ino: s.ino()})
			}
			return entries, nil
		},
	}
}

func (t *Tree) savedSearches() []Saved {
	if list := t.saved.Load(); list != nil {
		return *list
	}
	return nil
}

// ino is the inode number of the directory. Another query under the same name has another one.
func (s *Saved) ino() uint64 { return inode.OfPath(SearchesName + "/" + s.Name + "\x00" + s.Query) }

// rereadAttr is set on the control directory after the saved searches in the configuration changed.
const rereadAttr = "user.archive.searches"

// RereadSearches makes the mount at dir read the saved searches again.
func RereadSearches(dir string) error {
	if err := xattr.Set(filepath.Join(dir, Name), rereadAttr, []byte("reread")); err != nil {
		return fmt.Errorf("make the mount at %s read its searches again: %w", dir, err)
	}
	return nil
}

// uploads has the bytes of files that are not archived. Local files can be opened by name and are
// not listed. An id without a name is a link to the full name. Removing a file discards the upload.
func (t *Tree) uploads() *Dir {
	return &Dir{
		Ino: inode.Uploads,
		Lookup: func(_ context.Context, name string) (Node, error) {
			if up, ok := t.upload(name); ok {
				return t.mount.UploadFile(up.ID)
			}
			up, ok := t.mount.Upload(name)
			if !ok {
				return nil, syscall.ENOENT
			}
			return &Link{
				Ino: inode.OfPath(below(uploadsName, name) + "\x00" + up.Name), Size: int64(len(up.Name)), Time: up.Changed,
				Target: func(context.Context) (string, error) { return up.Name, nil },
			}, nil
		},
		List: func(context.Context) ([]Entry, error) {
			var list []Entry
			for _, up := range t.mount.Pending() {
				list = append(list, Entry{Name: up.Name, Mode: syscall.S_IFREG})
			}
			return list, nil
		},
		Remove: func(name string) error {
			up, ok := t.upload(name)
			if !ok {
				return syscall.ENOENT
			}
			if err := t.mount.Discard(up.ID); err != nil {
				return failed("discard", name, err)
			}
			return nil
		},
	}
}

func (t *Tree) upload(name string) (Upload, bool) {
	id, _, _ := strings.Cut(name, " ")
	up, ok := t.mount.Upload(id)
	return up, ok && up.Name == name
}

// maxKept limits the inbox documents that are shown for a keyword that the service does not know of:
// each can take a request.
const maxKept = 100

// keywords has a directory for each keyword, with the documents that have it. Like queries it lists nothing.
func (t *Tree) keywords() *Dir {
	return &Dir{Ino: inode.ByKeyword, Lookup: func(ctx context.Context, name string) (Node, error) {
		if (*names.Rules)(nil).Stays(name) || strings.HasPrefix(name, ".") || strings.TrimSpace(name) != name {
			return nil, syscall.ENOENT
		}
		asked, path := ofKeyword(name), below(byKeywordName, name)
		if _, err := t.search(ctx, asked); err != nil {
			return nil, failed("search", path, err)
		}
		return t.results(asked, path), nil
	}}
}

// ofKeyword asks for the documents with a keyword, which may have characters that a query cannot express.
func ofKeyword(word string) question {
	return question{key: "\x00" + word, q: query.Query{Search: archive.Search{Keywords: []string{word}}}}
}

// keyword is the keyword, if the question asks for one and nothing else.
func (a question) keyword() string {
	if len(a.q.Keywords) != 1 || !reflect.DeepEqual(a.q, query.Query{Search: archive.Search{Keywords: a.q.Keywords}}) {
		return ""
	}
	return a.q.Keywords[0]
}

// withKept adds the inbox documents to hits for which the mount keeps the keyword: the service does
// not know of it until they are archived. Where it has no search they are all that is found.
func (t *Tree) withKept(ctx context.Context, word string, hits archive.Hits, err error) (archive.Hits, error) {
	if archive.KindOf(err) == archive.KindUnsupported {
		t.log.Warnf("the service has no search: of the documents with the keyword %q only those are shown that are in an inbox and were given it here",
			archive.Printable(word))
		err = nil
	}
	if err != nil {
		return hits, err
	}
	kept := t.mount.WithKeyword(word)
	for _, id := range kept[:min(len(kept), maxKept)] {
		if slices.ContainsFunc(hits.List, func(h archive.Hit) bool { return h.Document == id }) {
			continue
		}
		a, err := t.about(ctx, id)
		if k := archive.KindOf(err); k == archive.KindNotFound || k == archive.KindForbidden {
			continue // somebody removed or archived it, or it is not for this user
		}
		if err != nil {
			return hits, err
		}
		hits.List = append(hits.List, archive.Hit{
			Document: id, Name: a.doc.Name, Pages: a.doc.Pages, Created: a.doc.Created, Folder: a.doc.Folder, Mandator: a.mandator,
		})
		hits.Total++
	}
	return hits, nil
}

// KeywordAdded drops the hits that lack a document which was given a keyword.
func (t *Tree) KeywordAdded() { t.searches.InvalidateAll() }
