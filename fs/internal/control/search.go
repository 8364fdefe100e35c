package control

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/fs/internal/errno"
	"github.com/archivefs/archivefs/fs/internal/inode"
	"github.com/archivefs/archivefs/fs/internal/names"
	"github.com/archivefs/archivefs/internal/query"
)

const (
	// maxHits bounds the documents that one search shows.
	maxHits = 10_000
	// maxSearches bounds the searches whose hits are remembered.
	maxSearches = 16
	// locateAgain is how long no folders are located after that failed.
	locateAgain = 2 * time.Second
)

// queries has a directory for each query, which a lookup sends. Names that desktops ask for
// everywhere are no queries. It lists nothing: what was searched for is nobody's business.
func (t *Tree) queries() *Dir {
	return &Dir{Ino: inode.Search, Lookup: func(ctx context.Context, name string) (Node, error) {
		switch {
		case len(name) > names.Max:
			return nil, syscall.ENAMETOOLONG
		case names.IsJunk(name), strings.HasPrefix(name, "."):
			return nil, syscall.ENOENT
		}
		path := below(searchName, name)
		if _, err := t.search(ctx, name); err != nil {
			return nil, failed("search", path, err)
		}
		return t.results(name, path), nil
	}}
}

// results has a link for each document that a query finds.
func (t *Tree) results(query, path string) *Dir {
	return &Dir{
		Ino: inode.OfPath(path),
		Lookup: func(ctx context.Context, name string) (Node, error) {
			found, err := t.search(ctx, query)
			if err != nil {
				return nil, failed("search", path, err)
			}
			hit, ok := found.byName[name]
			if !ok {
				return nil, syscall.ENOENT
			}
			// The ids tell apart what a later search finds under the same name.
			ino := inode.OfPath(path + "/" + name + "\x00" + idName(hit.Document) + " " + idName(hit.Folder))
			return t.link(ino, "../../../", hit.Document, hit.Created, func(ctx context.Context) Folder {
				return found.folder(ctx, hit.Folder)
			}), nil
		},
		List: func(ctx context.Context) ([]Entry, error) {
			found, err := t.search(ctx, query)
			if err != nil {
				return nil, failed("search", path, err)
			}
			list := make([]Entry, len(found.names))
			for i, name := range found.names {
				list[i] = Entry{Name: name, Mode: syscall.S_IFLNK}
			}
			return list, nil
		},
	}
}

// search returns what a query finds. It is trusted for as long as a listing.
func (t *Tree) search(ctx context.Context, text string) (*found, error) {
	q, err := query.Parse(text)
	if err != nil {
		return nil, errno.Refuse(syscall.EINVAL, archive.Printable(err.Error()))
	}
	got, err := t.searches.Get(ctx, text, func(ctx context.Context) (*found, error) {
		folder, err := t.mount.FolderNamed(ctx, q.In)
		if err != nil {
			return nil, err
		}
		s := q.Search
		s.Folder = folder
		hits, err := t.mount.Search(ctx, s, maxHits)
		if err != nil {
			return nil, err
		}
		if hits.Total > len(hits.List) {
			t.log.Warnf("%d documents are found by %q; the first %d are shown", hits.Total, text, len(hits.List))
		}
		return newFound(t, hits.List), nil
	})
	if archive.KindOf(err) == archive.KindUnsupported {
		return nil, errno.Refuse(syscall.ENOTSUP, "the service has no search: "+err.Error())
	}
	return got.Value, err
}

// found is what a search found. The names of its links are those of the documents, told apart
// as in a folder. They get no extension, because hits do not tell what documents hold.
type found struct {
	tree   *Tree
	names  []string // sorted
	byName map[string]*archive.Hit
	wanted map[archive.ID]string // the folders of the hits, with their mandators

	locating singleflight.Group

	mu      sync.Mutex
	folders map[archive.ID]Folder // nil until they are located; guarded by mu
	tried   time.Time             // when they were located last, or could not be; guarded by mu
}

func newFound(t *Tree, hits []archive.Hit) *found {
	s := &found{tree: t, byName: make(map[string]*archive.Hit, len(hits)), wanted: map[archive.ID]string{}}
	hits = slices.Clone(hits)
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

// folder returns the folder of a hit, nil where it cannot be found. The first caller locates
// the folders of all hits.
func (s *found) folder(ctx context.Context, id archive.ID) Folder {
	if in, located := s.known(id); located {
		return in
	}
	answered := s.locating.DoChan("", func() (any, error) {
		if _, located := s.known(id); !located {
			s.locate(context.WithoutCancel(ctx))
		}
		return struct{}{}, nil
	})
	select {
	case <-answered:
	case <-ctx.Done():
	}
	in, _ := s.known(id)
	return in
}

// known is a folder, as far as the folders are located.
func (s *found) known(id archive.ID) (in Folder, located bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.folders[id], s.folders != nil || s.tree.now().Sub(s.tried) < locateAgain
}

// locate finds out where the folders of all hits are.
func (s *found) locate(ctx context.Context) {
	folders, err := s.tree.mount.Locate(ctx, s.wanted)
	if err != nil {
		s.tree.log.Debugf("find the folders of hits: %v", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tried = s.tree.now(); err == nil {
		s.folders = folders
	}
}
