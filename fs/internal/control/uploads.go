package control

import (
	"context"
	"strings"
	"syscall"

	"github.com/archivefs/archivefs/fs/internal/inode"
)

// uploads shows the bytes of what the archive does not have. It finds local files by their names
// and does not list them. An id alone is a link to the name. To remove one discards it.
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

// upload is the one whose file has that name.
func (t *Tree) upload(name string) (Upload, bool) {
	id, _, _ := strings.Cut(name, " ")
	up, ok := t.mount.Upload(id)
	return up, ok && up.Name == name
}
