package fs

import (
	"context"

	"github.com/archivefs/archivefs/archive"
)

// A search, and who asks for a document by its id, learns the ids of folders, of which some
// were never looked at.

// locate returns the directories of folders that are told by their ids, each with the name
// of its mandator, empty in an inbox. Those that nobody looked at are asked for with one
// request for the inboxes and one for the structure. What cannot be found is left out.
func (f *FileSystem) locate(ctx context.Context, wanted map[archive.ID]string) (map[archive.ID]*dir, error) {
	found := map[archive.ID]*dir{}
	f.root.tree.collect(f.root, wanted, found)
	missing := without(wanted, found)
	if len(missing) == 0 {
		return found, nil
	}
	for _, mandator := range missing {
		if mandator == "" {
			if err := f.locateInboxes(ctx, missing, found); err != nil {
				return found, err
			}
			break
		}
	}
	if missing = without(missing, found); len(missing) == 0 {
		return found, nil
	}
	if err := f.root.tree.loadFolders(ctx, f.root, needNames); err != nil {
		return found, err
	}
	top := f.mandatorOf(missing)
	below, err := f.walks.Structure(ctx, top.ID())
	if err != nil {
		return found, err
	}
	return found, top.tree.follow(ctx, top, below, missing, found)
}

// without returns the wanted folders that were not found.
func without(wanted map[archive.ID]string, found map[archive.ID]*dir) map[archive.ID]string {
	missing := map[archive.ID]string{}
	for id, mandator := range wanted {
		if found[id] == nil && id > 0 {
			missing[id] = mandator
		}
	}
	return missing
}

// locateInboxes looks for folders among those of the inboxes.
func (f *FileSystem) locateInboxes(ctx context.Context, wanted map[archive.ID]string, found map[archive.ID]*dir) error {
	inboxes := f.root.get(inboxesName).dir
	if err := inboxes.tree.loadFolders(ctx, inboxes, needNames); err != nil {
		return err
	}
	listed, _ := f.service.Inboxes.Peek(struct{}{})
	folders := make([]archive.Folder, 0, len(listed.Value.Inboxes))
	for _, box := range listed.Value.Inboxes {
		folders = append(folders, box.Folder)
	}
	return inboxes.tree.follow(ctx, inboxes, folders, wanted, found)
}

// mandatorOf is the mandator that all of the folders belong to, where there is one and its
// name says which; else the top of the archive.
func (f *FileSystem) mandatorOf(wanted map[archive.ID]string) *dir {
	names := map[string]bool{}
	for _, mandator := range wanted {
		names[mandator] = true
	}
	f.root.mu.Lock()
	defer f.root.mu.Unlock()
	var top *dir
	for _, e := range f.root.shown.folders.list {
		if !names[e.entry.told] {
			continue
		}
		if top != nil {
			return f.root
		}
		top = e.entry.dir
	}
	if top == nil || len(names) > 1 {
		return f.root
	}
	return top
}

// leadsTo reports whether a folder, or one below it, is wanted.
func leadsTo(f *archive.Folder, wanted map[archive.ID]string) bool {
	if _, ok := wanted[f.ID]; ok {
		return true
	}
	for i := range f.Children {
		if leadsTo(&f.Children[i], wanted) {
			return true
		}
	}
	return false
}
