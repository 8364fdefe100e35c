package fs

import (
	"os"
	"sync"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fuse"
)

// passthrough knows whether the kernel reads files of the cache. The zero value says no.
type passthrough struct {
	mu     sync.Mutex
	server backer // nil: nobody to ask; guarded by mu
	asked  bool   // guarded by mu
	works  bool   // guarded by mu
}

// A large document that is complete in the cache is read by the kernel itself, from the
// cached file (FUSE passthrough: Linux 6.9, CAP_SYS_ADMIN). Where that does not work it is
// read through us like any other.
//
// The kernel answers EIO to an open unless all handles of an inode are read in the same way,
// from the same file, and the library counts them by inode, too. So an inode comes to be
// read by the kernel only with its very first handle, and is so as long as its handles read
// that one file. One that was read through us, as while it was downloaded, stays so; when
// nobody has it open any more another inode takes its place (supersede). What can be written
// is always read through us.

// minDirect is from which length in bytes on that gains more than it costs at the open.
const minDirect = 1 << 20

// way is how the handles of an inode are read.
type way uint8

const (
	undecided way = iota // it was never open
	throughUs
	byKernel
)

// backer has the kernel accept a file to read from, as *fuse.Server does.
type backer interface {
	RegisterBackingFd(*fuse.BackingMap) (int32, syscall.Errno)
	UnregisterBackingFd(id int32) syscall.Errno
}

// begin lets the kernel be asked, once.
func (p *passthrough) begin(server backer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.server = server
}

// reads reports whether the kernel reads file itself. What it says of the first file holds
// for all: they lie in one directory.
func (p *passthrough) reads(file *os.File) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.server == nil || p.asked {
		return p.works
	}
	p.asked = true
	id, errno := p.server.RegisterBackingFd(&fuse.BackingMap{Fd: int32(file.Fd())}) //nolint:gosec // a descriptor
	p.works = errno == 0 && p.server.UnregisterBackingFd(id) == 0
	return p.works
}
