package control

import (
	"context"
	"strings"
	"syscall"

	"github.com/archivefs/archivefs/fs/internal/inode"
)

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

// upload returns the upload with that name in the directory.
func (t *Tree) upload(name string) (Upload, bool) {
	id, _, _ := strings.Cut(name, " ")
	up, ok := t.mount.Upload(id)
	return up, ok && up.Name == name
}
