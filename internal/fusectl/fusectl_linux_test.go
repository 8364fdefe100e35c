package fusectl_test

import (
	"os"
	"testing"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"github.com/archivefs/archivefs/internal/fusectl"
	"github.com/archivefs/archivefs/internal/testing/fusetest"
)

// mounted mounts an empty directory and returns the number of its connection.
func mounted(t *testing.T) (dir string, minor uint32, server *fuse.Server) {
	t.Helper()
	dir = t.TempDir()
	server, err := fs.Mount(dir, &fs.Inode{}, &fs.Options{MountOptions: fuse.MountOptions{DirectMount: true}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Unmount() }) // it may be unmounted already
	var st unix.Stat_t
	if err := unix.Stat(dir, &st); err != nil {
		t.Fatal(err)
	}
	return dir, unix.Minor(st.Dev), server
}

func TestAbort(t *testing.T) {
	fusetest.Need(t)
	dir, minor, _ := mounted(t)
	c, err := fusectl.Find(minor)
	if err == nil {
		err = c.Abort()
		c.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.ReadDir(dir); err == nil {
		t.Error("the mount still answers")
	}
}

// The kernel gives the number of a connection that has ended to another mount.
func TestAbortOfAConnectionThatHasEnded(t *testing.T) {
	fusetest.Need(t)
	for range 10 {
		_, minor, server := mounted(t)
		c, err := fusectl.Find(minor)
		if err != nil {
			t.Fatal(err)
		}
		if err := server.Unmount(); err != nil {
			t.Fatal(err)
		}
		dir, next, _ := mounted(t)
		if err := c.Abort(); err != nil {
			t.Error(err)
		}
		c.Close()
		if _, err := os.ReadDir(dir); err != nil {
			t.Errorf("the mount with the number %d, after one with the number %d, was aborted: %v", next, minor, err)
		}
	}
}
