package server

import (
	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/server/store"
)

// folderCreate answers POST /folder/create (specification, endpoint 4). It works in
// inboxes too; where the structure is not free it is forbidden.
func folderCreate(w *response, r *request) error {
	p, err := form(w, r)
	if err != nil {
		return err
	}
	parent, name := p.requiredID("parent-folder-id"), p.folderName("folder-name")
	if err := p.err(); err != nil {
		return err
	}
	ctx := r.detached()
	above, err := r.catalog.Folder(ctx, parent)
	if err != nil {
		return blame("parent-folder-id", err)
	}
	setting := settingFree
	if above.Inbox {
		setting = settingFreeInbox
	}
	free, err := free(ctx, r.catalog, setting)
	if err != nil {
		return err
	}
	if !free {
		return refuse(archive.KindForbidden, "the folder structure is not free")
	}
	id, err := r.catalog.AddFolder(ctx, store.Folder{Parent: parent, Name: name})
	if err != nil {
		return blame("folder-name", err)
	}
	return w.json(wireCreated{ID: id, Name: name})
}
