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

// connection holds a second descriptor of the mount's connection to the kernel. It does what the library
// cannot, and shows whether the connection's number is still ours. It is closed when the connection has
// ended; the library closes its own when no request is in flight any more.
type connection struct {
	dir    string
	is     mountID
	epochs bool

	mu sync.Mutex
	// fd is -1 once closed.
	fd int // +checklocks:mu
}

// mountAt mounts at dir; with detach, in the place of another mount.
func mountAt(dir string, o *fusectl.Options, detach func() error) (fd int, err error) {
	if detach != nil {
		if fd, err := fusectl.MountInstead(dir, o); err == nil {
			return fd, nil
		}
		if err := detach(); err != nil {
			return -1, err
		}
	}
	return fusectl.Mount(dir, o)
}

// connect mounts at dir, with detach in the place of another mount, and begins to serve the kernel's requests.
func connect(dir string, raw fuse.RawFileSystem, o fuse.MountOptions, detach func() error) (*fuse.Server, *connection, error) {
	fd, err := mountAt(dir, &fusectl.Options{
		Source: cmp.Or(o.FsName, o.Name), Subtype: o.Name, AllowOther: o.AllowOther, MaxRead: o.MaxWrite, More: o.Options,
	}, detach)
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
	// If the library mounted, it would also access the mount: a process that is killed while it
	// waits for its own mount never ends.
	server, err := fuse.NewServer(raw, fmt.Sprintf("/dev/fd/%d", fd), &o)
	if err != nil {
		return nil, nil, errors.Join(err, c.discard())
	}
	c.epochs = server.KernelSettings().Major > 7 || server.KernelSettings().Minor >= 44
	go server.Serve()
	return server, c, server.WaitMount()
}

// discard detaches a mount that nobody serves.
func (c *connection) discard() error {
	c.close()
	return fusectl.Detach(c.dir)
}

type mountID struct {
	minor  uint32 // of its device: the number of the connection, reused after its end
	unique uint64 // never reused; 0 before Linux 6.8
}

// mountIDAt returns the id of the mount at dir. It makes the kernel answer without asking the mount: a
// process that waits for its own mount cannot be killed.
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

// isHere reports whether this mount, and no later one, is the visible one at dir.
func (c *connection) isHere() bool {
	is, err := mountIDAt(c.dir)
	return err == nil && is == c.is && (is.unique != 0 || !c.ended())
}

func (c *connection) hasEpochs() bool { return c.epochs }

// newEpoch makes the kernel look up every name again on its next use (FUSE_NOTIFY_INC_EPOCH).
func (c *connection) newEpoch() error {
	const header, incEpoch = 16, 8
	message := make([]byte, header) // belongs to no request and has no body
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

// ended reports whether the connection has ended: unmounted everywhere, or aborted.
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

// abort ends the connection. Its number cannot be another connection's until it has ended.
func (c *connection) abort() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	listed, err := fusectl.Find(c.is.minor)
	if err == nil {
		defer listed.Close()
	}
	if c.endedLocked() {
		return nil
	}
	if err == nil {
		err = listed.Abort()
	}
	if err == nil {
		return nil
	}
	if is, lerr := mountIDAt(c.dir); lerr != nil || is != c.is {
		return errors.Join(err, lerr) // not visible at dir
	}
	_ = unix.Unmount(c.dir, unix.MNT_FORCE) // aborts it even if it then fails with EBUSY
	if c.endedLocked() {
		return nil
	}
	return err
}

// clear detaches what is left of the mount after its connection has ended.
func (c *connection) clear() error {
	if !c.isHere() {
		return nil
	}
	return fusectl.Detach(c.dir)
}

// unmount unmounts dir if the mount is still there. It fails while files are open, unless the
// connection has ended and made them unusable.
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

// platformCapabilities are capabilities that only Linux has. Files here have no privileges to lose;
// HANDLE_KILLPRIV_V2 saves a request for security.capability before each write but the first.
const platformCapabilities = fuse.CAP_HANDLE_KILLPRIV_V2

// asBacker returns the server, which registers backing files with the kernel.
func asBacker(server *fuse.Server) node.Backer { return server }
