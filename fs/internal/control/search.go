package control

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"syscall"

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
func (t *Tree) queries() *Dir {
	return &Dir{Ino: inode.Search, Lookup: func(ctx context.Context, name string) (Node, error) {
		switch {
		case len(name) > names.Max:
			return nil, syscall.ENAMETOOLONG
		case (*names.Rules)(nil).Stays(name), strings.HasPrefix(name, "."):
			return nil, syscall.ENOENT
		}
		asked, path := ask(name), below(searchName, name)
		if _, err := t.search(ctx, asked); err != nil {
			return nil, failed("search", path, err)
		}
		return t.results(asked, path), nil
	}}
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
