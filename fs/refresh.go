package fs

import (
	"context"
	"errors"
)

// Refresh lets everything that is remembered of the archive's structure be asked for anew when
// somebody looks, before the ttl is over, and asks for the top of it itself. Contents stay:
// those of archived documents never change. It returns why the service cannot be asked; what
// is known is shown then.
func (f *FileSystem) Refresh(ctx context.Context) error {
	f.service.OutdateAll()
	f.control.InvalidateAll()
	f.root.fs.lister.doubtAll(f.root)
	if err := f.root.fs.lister.loadFolders(ctx, f.root, needNames); err != nil {
		return err
	}
	f.root.fs.kernel.forgetAll(f.root)
	f.epochs.begin()
	if away := f.Away(); away != nil {
		return errors.New(away.Text)
	}
	return nil
}

// doubtAll doubts the directory and all that is known below it.
func (l *lister) doubtAll(d *dir) {
	d.doubt()
	for _, below := range d.subfolders() {
		l.doubtAll(below)
	}
}

// forgetAll makes the kernel ask for the attributes of the directory again, and of all below it.
func (k *kernel) forgetAll(d *dir) {
	k.forgetAttributes(d)
	for _, below := range d.subfolders() {
		k.forgetAll(below)
	}
}
