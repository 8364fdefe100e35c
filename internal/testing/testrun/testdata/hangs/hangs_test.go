//go:build linux

// Package hangs has a process that no signal ends: it waits for its own file system, which
// never answers.
package hangs

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

type silent struct{ fs.Inode }

func (*silent) Lookup(context.Context, string, *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	_ = os.WriteFile(os.Getenv("TESTRUN_READY"), []byte("x"), 0o600)
	select {}
}

func TestHangs(t *testing.T) {
	dir := t.TempDir()
	server, err := fs.Mount(dir, &silent{}, &fs.Options{MountOptions: fuse.MountOptions{DirectMount: true}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = server.Unmount() }()
	_, err = os.Stat(filepath.Join(dir, "file"))
	t.Error(err)
}
