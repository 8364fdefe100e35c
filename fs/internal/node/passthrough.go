package node

import (
	"os"
	"sync"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fuse"
)

// passthrough finds out whether the kernel can read cached files itself. The zero value says no.
type passthrough struct {
	mu sync.Mutex
	// server is nil before Begin.
	server Backer // +checklocks:mu
	asked  bool   // +checklocks:mu
	works  bool   // +checklocks:mu
}

// Backer registers backing files with the kernel, as *fuse.Server does.
type Backer interface {
	RegisterBackingFd(*fuse.BackingMap) (int32, syscall.Errno)
	UnregisterBackingFd(id int32) syscall.Errno
}

// Begin sets the server with which Reads tries the kernel once.
func (p *passthrough) Begin(server Backer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.server = server
}

// Refuse makes Reads return false without trying.
func (p *passthrough) Refuse() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked, p.works = true, false
}

// Reads reports whether the kernel can read file itself. The answer for the first file holds for all,
// because they lie in one directory.
func (p *passthrough) Reads(file *os.File) bool {
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
