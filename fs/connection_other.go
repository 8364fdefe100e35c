//go:build !linux

package fs

import (
	"errors"

	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/archivefs/archivefs/fs/internal/node"
)

// connection is the mount's connection to the kernel, as far as the library offers it.
type connection struct{ server *fuse.Server }

// connect mounts at dir, after detach if there is one, and begins to serve the kernel's requests.
func connect(dir string, raw fuse.RawFileSystem, o fuse.MountOptions, detach func() error) (*fuse.Server, *connection, error) {
	if detach != nil {
		if err := detach(); err != nil {
			return nil, nil, err
		}
	}
	server, err := fuse.NewServer(raw, dir, &o)
	if err != nil {
		return nil, nil, err
	}
	go server.Serve()
	return server, &connection{server}, server.WaitMount()
}

func (c *connection) hasEpochs() bool { return false }
func (c *connection) newEpoch() error { return errors.ErrUnsupported }
func (c *connection) ended() bool     { return false }
func (c *connection) abort() error    { return errors.ErrUnsupported }

// unmount waits for requests in flight. A second call does nothing.
func (c *connection) unmount() error { return c.server.Unmount() }
func (c *connection) clear() error   { return nil }
func (c *connection) close()         {}

// platformCapabilities are capabilities that only this system has.
const platformCapabilities = 0

// asBacker returns nil: only Linux has passthrough.
func asBacker(*fuse.Server) node.Backer { return nil }
