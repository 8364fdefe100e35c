//go:build linux

// Loopback mounts a directory with go-fuse and syncs each file at FLUSH: the floor of a FUSE file system that keeps the
// promise of ours. It runs until it is unmounted.
//
//	loopback DIR MOUNTPOINT
package main

import (
	"context"
	"log"
	"os"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: loopback DIR MOUNTPOINT")
	}
	var st syscall.Stat_t
	if err := syscall.Stat(os.Args[1], &st); err != nil {
		log.Fatal(err)
	}
	root := &fs.LoopbackRoot{Path: os.Args[1], Dev: st.Dev, NewNode: func(root *fs.LoopbackRoot, _ *fs.Inode, _ string, _ *syscall.Stat_t) fs.InodeEmbedder { //nolint:staticcheck // what is to take its place has no root
		return &node{fs.LoopbackNode{RootData: root}}
	}}
	root.RootNode = &node{fs.LoopbackNode{RootData: root}}
	server, err := fs.Mount(os.Args[2], root.RootNode, &fs.Options{})
	if err != nil {
		log.Fatal(err)
	}
	server.Wait()
}

// node is a file or a directory.
type node struct{ fs.LoopbackNode }

// Create implements fs.NodeCreater.
func (n *node) Create(ctx context.Context, name string, flags, mode uint32, out *fuse.EntryOut) (*fs.Inode, fs.FileHandle, uint32, syscall.Errno) {
	inode, fh, fuseFlags, errno := n.LoopbackNode.Create(ctx, name, flags, mode, out)
	if errno == 0 {
		fh = handle{fh}
	}
	return inode, fh, fuseFlags, errno
}

// handle is a file that is being written.
type handle struct{ fs.FileHandle }

var (
	_ fs.FileReader    = handle{}
	_ fs.FileWriter    = handle{}
	_ fs.FileFlusher   = handle{}
	_ fs.FileReleaser  = handle{}
	_ fs.FileGetattrer = handle{}
)

// Read implements fs.FileReader.
func (h handle) Read(ctx context.Context, dest []byte, off int64) (fuse.ReadResult, syscall.Errno) {
	return h.FileHandle.(fs.FileReader).Read(ctx, dest, off)
}

// Write implements fs.FileWriter.
func (h handle) Write(ctx context.Context, data []byte, off int64) (uint32, syscall.Errno) {
	return h.FileHandle.(fs.FileWriter).Write(ctx, data, off)
}

// Getattr implements fs.FileGetattrer.
func (h handle) Getattr(ctx context.Context, out *fuse.AttrOut) syscall.Errno {
	return h.FileHandle.(fs.FileGetattrer).Getattr(ctx, out)
}

// Flush implements fs.FileFlusher.
func (h handle) Flush(context.Context) syscall.Errno {
	fd, ok := h.FileHandle.(fs.FilePassthroughFder).PassthroughFd()
	if !ok {
		return syscall.EBADF
	}
	return fs.ToErrno(unix.Fdatasync(fd))
}

// Release implements fs.FileReleaser.
func (h handle) Release(ctx context.Context) syscall.Errno {
	return h.FileHandle.(fs.FileReleaser).Release(ctx)
}
