package server

import (
	"context"
	"net/http"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/server/store"
)

// archiveStructure answers GET /archivestructure (specification, endpoint 1): the
// mandators, or the children of a parent. Lazy leaves the children of those out. Inboxes
// are no part of it.
func (s *Server) archiveStructure(w *response, r *http.Request) error {
	const field = "parent-folder-id"
	p := query(r)
	below, parent, lazy := p.has(field), p.id(field), p.flag("lazy")
	if err := p.err(); err != nil {
		return err
	}
	free, err := s.free(r.Context(), settingFree)
	if err != nil {
		return err
	}
	var folders []store.Folder
	if below {
		folders, err = s.foldersBelow(r.Context(), parent, lazy)
		err = blame(field, err)
	} else {
		folders, err = s.roots(r.Context(), false, lazy)
	}
	if err != nil {
		return err
	}
	return w.json(wireStructure{Free: free, Folders: tree(folders, parent, lazy)})
}

// inboxes answers GET /inboxes (specification, endpoint 5), with the public parameter
// lazy.
func (s *Server) inboxes(w *response, r *http.Request) error {
	p := query(r)
	lazy := p.flag("lazy")
	if err := p.err(); err != nil {
		return err
	}
	free, err := s.free(r.Context(), settingFreeInbox)
	if err != nil {
		return err
	}
	folders, err := s.roots(r.Context(), true, lazy)
	if err != nil {
		return err
	}
	users := map[archive.ID]int64{}
	for _, f := range folders {
		users[f.ID] = f.UserID
	}
	answer := wireInboxes{Free: free, Inboxes: []wireInbox{}}
	for _, f := range tree(folders, 0, lazy) {
		answer.Inboxes = append(answer.Inboxes, wireInbox{UserID: users[f.ID], Folder: f})
	}
	return w.json(answer)
}

// roots returns the mandators, or the inboxes, with all folders below them unless lazy.
func (s *Server) roots(ctx context.Context, inboxes, lazy bool) ([]store.Folder, error) {
	if lazy {
		return s.catalog.Roots(ctx, inboxes)
	}
	return s.catalog.Tree(ctx, inboxes)
}

// foldersBelow returns the children of an archive folder, or all below it unless lazy.
func (s *Server) foldersBelow(ctx context.Context, parent archive.ID, lazy bool) ([]store.Folder, error) {
	f, err := s.catalog.Folder(ctx, parent)
	if err != nil {
		return nil, err
	}
	if f.Inbox {
		return nil, refuse(archive.KindNotFound, "folder %d lies in an inbox", parent)
	}
	if lazy {
		return s.catalog.Children(ctx, parent)
	}
	return s.catalog.Below(ctx, parent)
}

// tree links folders, given by ascending id, and returns those directly below parent.
func tree(folders []store.Folder, parent archive.ID, lazy bool) []*wireFolder {
	nodes := make([]wireFolder, len(folders))
	byID := make(map[archive.ID]*wireFolder, len(folders)+1)
	top := &wireFolder{Folders: []*wireFolder{}}
	byID[parent] = top
	for i, f := range folders {
		nodes[i] = wireFolder{ID: f.ID, Name: f.Name}
		if !lazy {
			nodes[i].Folders = []*wireFolder{}
		}
		byID[f.ID] = &nodes[i]
	}
	for i, f := range folders {
		if above := byID[f.Parent]; above != nil {
			above.Folders = append(above.Folders, &nodes[i])
		}
	}
	return top.Folders
}
