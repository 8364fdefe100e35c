package fs

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"github.com/archivefs/archivefs/fs/internal/node"
	"github.com/archivefs/archivefs/internal/fusectl"
)

// connection is a descriptor of our own for the mount's connection to the kernel: for what the
// library has no words for, and to know whose the connection of that number is. It is closed when the
// connection has ended, that of the library when nothing is worked on any more.
type connection struct {
	dir    string
	is     mountID
	epochs bool

	mu sync.Mutex
	// fd is -1 when it is closed.
	fd int // +checklocks:mu
}

// connect mounts at dir and begins to answer the kernel.
func connect(dir string, raw fuse.RawFileSystem, o fuse.MountOptions) (*fuse.Server, *connection, error) {
	fd, err := fusectl.Mount(dir, &fusectl.Options{
		Source: cmp.Or(o.FsName, o.Name), Subtype: o.Name, AllowOther: o.AllowOther, MaxRead: o.MaxWrite, More: o.Options,
	})
	if err != nil {
		return nil, nil, err
	}
	c := &connection{dir: dir}
	if c.fd, err = unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0); err == nil {
		c.is, err = mountIDAt(dir)
	}
	if err != nil {
		_ = unix.Close(fd)
		return nil, nil, errors.Join(err, c.discard())
	}
	// The library does not mount, so that it does not look into the mount either: who is killed
	// while he waits for himself never ends.
	server, err := fuse.NewServer(raw, fmt.Sprintf("/dev/fd/%d", fd), &o)
	if err != nil {
		return nil, nil, errors.Join(err, c.discard())
	}
	c.epochs = server.KernelSettings().Major > 7 || server.KernelSettings().Minor >= 44
	go server.Serve()
	return server, c, server.WaitMount()
}

// discard takes away a mount that nobody is behind.
func (c *connection) discard() error {
	c.close()
	return fusectl.Detach(c.dir)
}

// mountID tells which mount is at a place.
type mountID struct {
	minor  uint32 // of its device: the number of the connection, and another one's after that
	unique uint64 // never another one's; 0 where the kernel has none (before Linux 6.8)
}

// mountIDAt tells which mount is at dir. Nobody is asked but the kernel, which knows: a process that
// asks its own mount cannot be ended while it waits.
func mountIDAt(dir string) (mountID, error) {
	var st unix.Statx_t
	if err := unix.Statx(unix.AT_FDCWD, dir, unix.AT_STATX_DONT_SYNC|unix.AT_NO_AUTOMOUNT, unix.STATX_MNT_ID_UNIQUE, &st); err != nil {
		return mountID{}, fmt.Errorf("look at %s: %w", dir, err)
	}
	id := mountID{minor: st.Dev_minor}
	if st.Mask&unix.STATX_MNT_ID_UNIQUE != 0 {
		id.unique = st.Mnt_id
	}
	return id, nil
}

// isHere reports whether this mount, and no later one, is what can be seen at its place.
func (c *connection) isHere() bool {
	is, err := mountIDAt(c.dir)
	return err == nil && is == c.is && (is.unique != 0 || !c.ended())
}

func (c *connection) hasEpochs() bool { return c.epochs }

// newEpoch has the kernel look up every name again when it is used next (FUSE_NOTIFY_INC_EPOCH).
func (c *connection) newEpoch() error {
	const header, incEpoch = 16, 8
	message := make([]byte, header) // for no request, and with no body
	binary.NativeEndian.PutUint32(message, header)
	binary.NativeEndian.PutUint32(message[4:], incEpoch)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fd < 0 {
		return syscall.ENODEV
	}
	_, err := unix.Write(c.fd, message)
	return err
}

// ended reports whether the connection has ended: it was unmounted everywhere, or aborted.
func (c *connection) ended() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.endedLocked()
}

// +checklocks:c.mu
func (c *connection) endedLocked() bool {
	if c.fd < 0 {
		return true
	}
	state := []unix.PollFd{{Fd: int32(c.fd)}} //nolint:gosec // a descriptor
	n, err := unix.Poll(state, 0)
	return err == nil && n > 0 && state[0].Revents&unix.POLLERR != 0
}

// abort ends the connection. While it has not ended nobody else has its number.
func (c *connection) abort() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.endedLocked() {
		return nil
	}
	err := fusectl.Abort(c.is.minor)
	if err == nil {
		return nil
	}
	if is, lerr := mountIDAt(c.dir); lerr != nil || is != c.is {
		return errors.Join(err, lerr) // out of sight
	}
	_ = unix.Unmount(c.dir, unix.MNT_FORCE) // which aborts it, and may be busy then
	if c.endedLocked() {
		return nil
	}
	return err
}

// clear takes away what is left of the mount when its connection was aborted.
func (c *connection) clear() error {
	if !c.isHere() {
		return nil
	}
	return fusectl.Detach(c.dir)
}

// unmount unmounts what is still mounted here. It fails while files are open, unless the connection
// has ended: then nobody can do anything with them.
func (c *connection) unmount() error {
	if c.ended() || !c.isHere() {
		return c.clear()
	}
	err := unix.Unmount(c.dir, 0)
	if errors.Is(err, unix.EPERM) {
		err = fusectl.Unmount(c.dir)
	}
	return err
}

func (c *connection) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fd >= 0 {
		_ = unix.Close(c.fd)
		c.fd = -1
	}
}

// platformCapabilities are those of this system alone. That a write takes no privileges from a
// file, of which none has any, spares the question for them (security.capability) before
// each write but the first.
const platformCapabilities = fuse.CAP_HANDLE_KILLPRIV_V2

// asBacker is the mount's connection to the kernel, which can be asked to read files itself.
func asBacker(server *fuse.Server) node.Backer { return server }
