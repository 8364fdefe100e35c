package fs

import (
	"context"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/fs/internal/names"
)

// found is what a search found. The names of its links are those of the documents, told
// apart as in a folder; no extension is added, because the hits do not tell what documents
// hold.
type found struct {
	fs     *FileSystem
	names  []string // sorted
	byName map[string]*archive.Hit
	wanted map[archive.ID]string // the folders of the hits, with their mandators

	locating singleflight.Group

	mu    sync.Mutex
	dirs  map[archive.ID]*dir // the folders, nil while it is not known where they are; guarded by mu
	tried time.Time           // when that could not be found out; guarded by mu
}

// locateAgain is how long it is left at that.
const locateAgain = 2 * time.Second

func newFound(f *FileSystem, hits []archive.Hit) *found {
	s := &found{fs: f, byName: make(map[string]*archive.Hit, len(hits)), wanted: map[archive.ID]string{}}
	hits = slices.Clone(hits)
	slices.SortFunc(hits, func(a, b archive.Hit) int { return int(min(1, max(-1, a.Document-b.Document))) })
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

// folder returns the directory of a hit's folder, nil when it cannot be found. Who asks
// first finds out about the folders of all hits.
func (s *found) folder(ctx context.Context, id archive.ID) *dir {
	if d, located := s.known(id); located {
		return d
	}
	answered := s.locating.DoChan("", func() (any, error) {
		s.fs.work.Begin()
		defer s.fs.work.End()
		if _, located := s.known(id); !located {
			s.locate(context.WithoutCancel(ctx))
		}
		return struct{}{}, nil
	})
	select {
	case <-answered:
	case <-ctx.Done():
	}
	d, _ := s.known(id)
	return d
}

// known is the directory of a folder, as far as it is located. One that is not shown any
// more is looked for among what is known now.
func (s *found) known(id archive.ID) (d *dir, located bool) {
	s.mu.Lock()
	d = s.dirs[id]
	located = s.dirs != nil || s.fs.now().Sub(s.tried) < locateAgain
	s.mu.Unlock()
	if d != nil && !d.isShown() {
		d = s.fs.staging.folder(folderRef{id: id})
	}
	return d, located
}

// locate finds out where the folders of all hits are.
func (s *found) locate(ctx context.Context) {
	dirs, err := s.fs.locate(ctx, s.wanted)
	if err != nil {
		s.fs.log.Debugf("find the folders of hits: %v", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tried = s.fs.now(); err == nil {
		s.dirs = dirs
	}
}
