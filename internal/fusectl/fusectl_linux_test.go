package fusectl_test

import (
	"errors"
	"fmt"
	"os"
	"regexp"
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

// dead leaves a mount at dir whose connection has ended, as a process that is killed does.
func dead(t *testing.T, dir string) {
	t.Helper()
	fd, err := fusectl.Mount(dir, &fusectl.Options{Source: "dead", Subtype: "archivefs", MaxRead: 1 << 20})
	if err == nil {
		err = unix.Close(fd)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// device is that of what is mounted at dir, 0 after an error.
func device(dir string) uint64 {
	var st unix.Statx_t
	if err := unix.Statx(unix.AT_FDCWD, dir, unix.AT_STATX_DONT_SYNC, 0, &st); err != nil {
		return 0
	}
	return unix.Mkdev(st.Dev_major, st.Dev_minor)
}

// While a mount takes the place of a dead one, nobody sees the directory below.
func TestMountInstead(t *testing.T) {
	fusetest.Need(t)
	if os.Geteuid() != 0 {
		t.Skip("only root mounts without a helper")
	}
	dir := t.TempDir()
	below := device(dir)
	dead(t, dir)
	t.Cleanup(func() { _ = fusectl.Detach(dir) }) // of a test that fails
	before, seen, stop := device(dir), make(chan bool), make(chan struct{})
	if below == 0 || before == 0 {
		t.Fatal("what is mounted is unknown")
	}
	go func() {
		uncovered := false
		for {
			select {
			case <-stop:
				seen <- uncovered
				return
			default:
				uncovered = uncovered || device(dir) == below
			}
		}
	}()
	fd, err := fusectl.MountInstead(dir, &fusectl.Options{
		Source: "a, b", Subtype: "archivefs", MaxRead: 1 << 20, AllowOther: true, More: []string{"ro", "noexec", "nosymfollow", "default_permissions"},
	})
	close(stop)
	uncovered := <-seen
	if errors.Is(err, unix.EINVAL) {
		t.Skipf("the kernel mounts nothing beneath: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd) //nolint:errcheck // nothing was written to it
	if now := device(dir); uncovered || now == before || now == below {
		t.Errorf("the directory below was seen: %v; device %d, before %d, below %d", uncovered, now, before, below)
	}
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	const want = ` / %s ro,nosuid,nodev,noexec,relatime,nosymfollow .*- fuse\.archivefs a,\\040b ro,user_id=0,group_id=0,default_permissions,allow_other,max_read=1048576\n`
	if !regexp.MustCompile(fmt.Sprintf(want, regexp.QuoteMeta(dir))).Match(text) {
		t.Errorf("no mount with the options in\n%s", text)
	}
	if err := fusectl.Detach(dir); err != nil || device(dir) != below {
		t.Errorf("something stays: %v", err)
	}
}
