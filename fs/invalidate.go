package fs

import (
	"syscall"

	"github.com/archivefs/archivefs/archive"
)

// forgetNames makes the kernel forget what it knows under the names, which changed at the
// service. It returns at once: the kernel must not be told from inside a handler.
func (f *FileSystem) forgetNames(d *dir, names []string) {
	if len(names) == 0 {
		return
	}
	f.goBackground(func() { d.notify(names) })
}

// notify is forgetNames for whoever is in no handler and holds no lock.
func (d *dir) notify(names []string) {
	node := d.node.Load()
	if node == nil {
		return // it knows nothing of the directory
	}
	for _, n := range names {
		if errno := node.NotifyEntry(n); errno != 0 && errno != syscall.ENOENT && errno != syscall.ENOSYS {
			d.fs.log.Debugf("notify %s: %v", archive.Printable(d.pathOf(n)), errno)
			return
		}
	}
}
