package fs

import (
	"context"
	"syscall"

	"github.com/archivefs/archivefs/archive"
)

// loadInboxes fills the directory from the one listing that tells all inboxes with all
// their folders.
func (l *lister) loadInboxes(ctx context.Context, d *dir) error {
	asked := d.asking()
	got, err := l.fs.service.ListInboxes(ctx)
	if err != nil {
		return err
	}
	var folders []archive.Folder
	if d.kind == inboxesDir {
		for _, box := range got.Value.Inboxes {
			folders = append(folders, box.Folder)
		}
	} else {
		f, ok := findInbox(got.Value.Inboxes, d.id())
		if !ok {
			return syscall.ENOENT
		}
		folders = f.Children
	}
	l.fs.kernel.forgetNames(d, l.mergeFolders(d, folders, mergedOf(got, asked), got.Value.Free))
	return nil
}

func findInbox(boxes []archive.Inbox, id archive.ID) (archive.Folder, bool) {
	for _, box := range boxes {
		if f, ok := findFolder(box.Folder, id); ok {
			return f, true
		}
	}
	return archive.Folder{}, false
}

func findFolder(f archive.Folder, id archive.ID) (archive.Folder, bool) {
	if f.ID == id {
		return f, true
	}
	for _, c := range f.Children {
		if found, ok := findFolder(c, id); ok {
			return found, true
		}
	}
	return archive.Folder{}, false
}
