package disk

import (
	"slices"
	"syscall"
	"time"
)

// maxFile bounds a file in bytes: no file of a test is larger, so more is a mistake.
const maxFile = 64 << 20

// write is a change of a file's content. It never changes.
type write struct {
	off  int
	data []byte // nil: the length becomes off
}

// on applies the write to content, which it may change, and returns the result.
func (w write) on(content []byte) []byte {
	if w.data == nil {
		if w.off <= len(content) {
			return content[:w.off:w.off]
		}
		return append(content, make([]byte, w.off-len(content))...)
	}
	if end := w.off + len(w.data); end > len(content) {
		content = append(content, make([]byte, end-len(content))...)
	}
	copy(content[w.off:], w.data)
	return content
}

// read copies bytes of a file from off on and returns how many.
func (d *Disk) read(n *inode, p []byte, off int64) (int, syscall.Errno) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if errno := d.strikeLocked(Read, n.name); errno != 0 {
		return 0, errno
	}
	if off >= int64(len(n.data)) {
		return 0, 0
	}
	return copy(p, n.data[off:]), 0
}

// write changes bytes of a file.
func (d *Disk) write(n *inode, p []byte, off int64) syscall.Errno {
	if off+int64(len(p)) > maxFile {
		return syscall.EFBIG
	}
	return d.change(n, Write, write{int(off), slices.Clone(p)})
}

// truncate sets the length of a file.
func (d *Disk) truncate(n *inode, size uint64) syscall.Errno {
	if size > maxFile {
		return syscall.EFBIG
	}
	return d.change(n, Truncate, write{off: int(size)})
}

func (d *Disk) change(n *inode, op Operation, w write) syscall.Errno {
	d.mu.Lock()
	defer d.mu.Unlock()
	if errno := d.strikeLocked(op, n.name); errno != 0 {
		return errno
	}
	n.data = w.on(n.data)
	n.pending = append(n.pending, w)
	n.mtime = time.Now()
	return 0
}

// sync makes the content of a file durable. When it fails by plan, what it should have
// written is lost to the medium, although programs go on seeing it.
func (d *Disk) sync(n *inode) syscall.Errno {
	d.mu.Lock()
	defer d.mu.Unlock()
	errno := d.strikeLocked(Sync, n.name)
	if errno == 0 {
		for _, w := range n.pending {
			n.stable = w.on(n.stable)
		}
	}
	n.pending = nil
	return errno
}
