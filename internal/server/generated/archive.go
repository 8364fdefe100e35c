package generated

import (
	"context"
	"fmt"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/server/store"
)

// Archive is a generated archive. Its methods may be called concurrently; those that would
// change it are archive.KindForbidden.
type Archive struct {
	Shape
	fixed
	names *names
}

// New returns the archive of a shape that ParseShape takes.
func New(shape Shape) *Archive { return &Archive{Shape: shape, names: newNames()} }

// refuse makes an error that a caller can act on; the detail is for people.
func refuse(kind archive.Kind, format string, args ...any) error {
	return &archive.Error{Op: "generated archive", Kind: kind, Detail: fmt.Sprintf(format, args...)}
}

// Folder returns one folder, KindNotFound when there is none of that id.
func (a *Archive) Folder(_ context.Context, id archive.ID) (store.Folder, error) {
	if !a.hasFolder(id) {
		return store.Folder{}, refuse(archive.KindNotFound, "there is no folder %d", id)
	}
	return a.folder(a.place(id)), nil
}

func (a *Archive) folder(p place) store.Folder {
	f := store.Folder{ID: p.ids[p.level], Name: a.names.of(p)}
	if p.level > 0 {
		f.Parent = p.ids[p.level-1]
	}
	return f
}

// Child returns the folder of that name below parent; parent 0 looks among the mandators.
func (a *Archive) Child(ctx context.Context, parent archive.ID, name string) (store.Folder, error) {
	folders, err := a.Roots(ctx, false)
	if parent != 0 {
		folders, err = a.Children(ctx, parent)
	}
	if err != nil {
		return store.Folder{}, err
	}
	for _, f := range folders {
		if f.Name == name {
			return f, nil
		}
	}
	return store.Folder{}, refuse(archive.KindNotFound, "there is no folder %q", name)
}

// Lineage returns the folder and those above it, the root first.
func (a *Archive) Lineage(ctx context.Context, id archive.ID) ([]store.Folder, error) {
	if _, err := a.Folder(ctx, id); err != nil {
		return nil, err
	}
	p := a.place(id)
	var folders []store.Folder
	for level := range p.level + 1 {
		folders = append(folders, a.folder(place{level: level, ids: p.ids, at: p.at}))
	}
	return folders, nil
}

// Roots returns the mandators; there are no inboxes.
func (a *Archive) Roots(_ context.Context, inboxes bool) ([]store.Folder, error) {
	if inboxes {
		return nil, nil
	}
	return a.every(1, archive.ID(a.Folders)+1, sizes()[0]), nil
}

// Tree returns all folders; there are no inboxes.
func (a *Archive) Tree(_ context.Context, inboxes bool) ([]store.Folder, error) {
	if inboxes {
		return nil, nil
	}
	return a.every(1, archive.ID(a.Folders)+1, 1), nil
}

// Children returns the folders directly below parent.
func (a *Archive) Children(_ context.Context, parent archive.ID) ([]store.Folder, error) {
	if !a.hasFolder(parent) {
		return nil, nil
	}
	p := a.place(parent)
	if p.level == levels-1 {
		return nil, nil
	}
	return a.every(parent+1, a.end(p), sizes()[p.level+1]), nil
}

// Below returns all folders at any depth below parent.
func (a *Archive) Below(_ context.Context, parent archive.ID) ([]store.Folder, error) {
	if !a.hasFolder(parent) {
		return nil, nil
	}
	return a.every(parent+1, a.end(a.place(parent)), 1), nil
}

// every returns the folders from one id to before another, in steps.
func (a *Archive) every(from, end archive.ID, step int) []store.Folder {
	if end <= from {
		return nil
	}
	folders := make([]store.Folder, 0, (int(end-from)+step-1)/step)
	for id := from; id < end; id += archive.ID(step) {
		folders = append(folders, a.folder(a.place(id)))
	}
	return folders
}

// Empty reports that there are folders.
func (a *Archive) Empty(context.Context) (bool, error) { return false, nil }

// Setting says that the structure is not free, in the archive as in inboxes; there are no
// other settings.
func (a *Archive) Setting(context.Context, string) (string, error) { return "false", nil }

// Close implements what a database has; there is nothing to close.
func (a *Archive) Close() error { return nil }
