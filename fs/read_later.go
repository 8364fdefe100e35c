package fs

import (
	"context"
	"fmt"
	"syscall"

	fusefs "github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

// A program that opens a document and closes it unread looks for something else than its
// content: Dolphin and the file dialogs of KDE do so with every document of a folder that they
// show. After the first such document of a folder its others are downloaded when they are read,
// and no more when they are opened, until one of them is read.

// laterHandle reads an archived document that is downloaded with the first read.
type laterHandle struct {
	*writeHandle       // which nobody writes to
	size         int64 // what the kernel was told, and reads up to
}

var _ = fusefs.FileReader((*laterHandle)(nil))

// openLater opens the document without its content, where its length is known all the same;
// nil where the content is to be opened.
func (f *file) openLater(a access) *laterHandle {
	d, _ := f.place()
	if a.write || d == nil || !d.unread.Load() || !f.fs.reps.Settled() {
		return nil
	}
	key := f.key()
	if !f.immutable(key.Representation) {
		return nil // those who have it open agree on a content when they open it
	}
	if _, here := f.fs.content.Trusted(key, f.maxAge(key.Representation)); here {
		return nil
	}
	size, known := f.currentSize()
	if !known {
		return nil
	}
	h := &laterHandle{writeHandle: &writeHandle{file: f}, size: size}
	if !f.enterUnread(h.writeHandle) {
		return nil
	}
	f.fs.handles.add(h.writeHandle)
	return h
}

// enterUnread is enterHandle for a file of which no handle reads anything, nor the kernel, and
// that no other one has taken the place of.
func (f *file) enterUnread(h *writeHandle) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.reading != nil || f.up != nil || f.superseded != nil || f.way == byKernel {
		return false
	}
	f.enterLocked(h)
	return true
}

func (h *laterHandle) Read(ctx context.Context, dest []byte, off int64) (fuse.ReadResult, syscall.Errno) {
	if d, _ := h.file.place(); d != nil {
		d.unread.Store(false)
	}
	r, err := h.contentReader(ctx)
	if err == nil && r.Size() != h.size {
		// No part of it is given for the whole. The next open knows better.
		err = fmt.Errorf("the document has %d bytes, and was said to have %d; open it again", r.Size(), h.size)
	}
	if err != nil {
		return nil, h.file.readErrno(err)
	}
	return h.writeHandle.Read(ctx, dest, off)
}
