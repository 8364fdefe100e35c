package node

import (
	"os"
	"sync"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fuse"
)

// passthrough knows whether the kernel reads files of the cache. The zero value says no.
type passthrough struct {
	mu sync.Mutex
	// server is nil where there is nobody to ask.
	server Backer // +checklocks:mu
	asked  bool   // +checklocks:mu
	works  bool   // +checklocks:mu
}

// Backer has the kernel accept a file to read from, as *fuse.Server does.
type Backer interface {
	RegisterBackingFd(*fuse.BackingMap) (int32, syscall.Errno)
	UnregisterBackingFd(id int32) syscall.Errno
}

// Begin lets the kernel be asked, once.
func (p *passthrough) Begin(server Backer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.server = server
}

// Refuse makes it say no without asking.
func (p *passthrough) Refuse() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked, p.works = true, false
}

// Reads reports whether the kernel reads file itself. What it says of the first file holds
// for all: they lie in one directory.
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
