package fs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log"
	"path/filepath"
	"slices"
	"time"

	fusefs "github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/archivefs/archivefs/fs/internal/node"
	"github.com/archivefs/archivefs/internal/fusectl"
)

// Mount is a mounted file system.
type Mount struct {
	Dir    string
	fs     *FileSystem
	server *fuse.Server
	conn   *connection
	// ended is closed when the connection to the kernel has ended; releasing when, after that, no
	// request is in flight any more and the handles left open are about to be released.
	ended, releasing chan struct{}
}

// Mount mounts the file system at dir. It returns when the mount is usable.
func (f *FileSystem) Mount(dir string) (*Mount, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("mount: %w", err)
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return nil, fmt.Errorf("mount: %w", err)
	}
	return f.TakeOver(dir, nil)
}

// TakeOver is Mount in the place of a mount whose process was killed, at a dir that is absolute and no
// symbolic link. The directory below is never seen if the system can exchange the two (fusectl.MountInstead).
// Else detach, which detaches the old one, is called right before the mount.
func (f *FileSystem) TakeOver(dir string, detach func() error) (*Mount, error) {
	f.kernel.Top = dir
	root := f.kernel.TopNode()
	options := f.mountOptions()
	nodes := fusefs.NewNodeFS(root, &fusefs.Options{
		MountOptions:    options,
		NullPermissions: true,
		RootStableAttr:  &fusefs.StableAttr{Ino: f.Root.Tree.Top.Load().Ino},
		Logger:          options.Logger,
	})
	server, conn, err := connect(dir, requests{nodes, f.clocks}, options, detach)
	if err != nil {
		return nil, fmt.Errorf("mount at %s: %w", dir, err)
	}
	f.kernel.Passthrough.Begin(asBacker(server))
	f.kernel.Mounts.Learn(dir)
	if unseen := f.unseen(); unseen != "" {
		f.log.Warnf("the mount cannot look at %s: what is killed while it writes seems to have finished", unseen)
	}
	m := &Mount{Dir: dir, fs: f, server: server, conn: conn, ended: make(chan struct{}), releasing: make(chan struct{})}
	if f.opts.Herald != nil && f.opts.Watch > 0 && !f.opts.ReadOnly && f.opts.People == nil {
		f.kernel.Announcements.Start(f.opts.Herald, dir)
	}
	if conn.hasEpochs() {
		f.kernel.Epochs.Start(func() {
			if err := conn.newEpoch(); err != nil {
				f.log.Debugf("begin an epoch: %v", err)
			}
		})
	}
	go m.attend()
	return m, nil
}

func (f *FileSystem) mountOptions() fuse.MountOptions {
	o := fuse.MountOptions{
		AllowOther: f.opts.AllowOther,
		FsName:     cmp.Or(f.opts.MountSource, f.opts.Source), Name: "archivefs",
		MaxWrite:                node.MaxWrite,
		MaxBackground:           64,
		MaxInflightRequestBytes: 64 << 20,
		MaxStackDepth:           2,
		ExtraCapabilities:       fuse.CAP_READDIRPLUS_AUTO | fuse.CAP_ATOMIC_O_TRUNC | platformCapabilities,
		Logger:                  log.New(logWriter{f}, "", 0),
		Options:                 slices.Concat(platformOptions(&f.opts), f.opts.MountOptions),
	}
	if f.opts.AllowOther {
		o.Options = append(o.Options, "default_permissions")
	}
	if f.opts.ReadOnly {
		o.Options = append(o.Options, "ro")
	}
	return o
}

// logWriter writes the log of the FUSE library to our log.
type logWriter struct{ f *FileSystem }

func (w logWriter) Write(p []byte) (int, error) {
	w.f.log.Debugf("fuse: %s", p)
	return len(p), nil
}

// endEvery is how often attend checks whether the connection was aborted. The library reports an
// unmount at once, unless a request hangs.
const endEvery = time.Second

// attend waits for the end of the connection, and releases the handles that the kernel did not.
func (m *Mount) attend() {
	served := make(chan struct{})
	go func() {
		m.server.Wait()
		close(served)
	}()
	tick := time.NewTicker(endEvery)
	defer tick.Stop()
	for ended := false; !ended; {
		select {
		case <-served:
			ended = true
		case <-tick.C:
			ended = m.conn.ended()
		}
	}
	m.fs.kernel.Epochs.Stop()
	m.fs.kernel.Announcements.Stop()
	close(m.ended)
	if err := m.conn.clear(); err != nil {
		m.fs.log.Debugf("detach %s: %v", m.Dir, err)
	}
	m.conn.close()
	<-served
	m.fs.work.Begin()
	defer m.fs.work.End()
	close(m.releasing)
	m.fs.kernel.Handles.ReleaseAll(context.Background())
}

// Ended returns a channel that is closed when the file system was unmounted, by whomever, or its
// connection to the kernel aborted.
func (m *Mount) Ended() <-chan struct{} { return m.ended }

// ErrNoHelper says that fusermount3, which mounts for unprivileged users, is missing.
var ErrNoHelper = fusectl.ErrNoHelper

// ErrBusy says that files of the mount are still open somewhere.
var ErrBusy = errors.New("files of it are still open")

// settling is how long Unmount waits beyond its patience for requests in flight.
const settling = time.Second

// Unmount unmounts the file system. While files are open it retries for patience, then it fails with
// ErrBusy. FileSystem.Close waits for the files that it released.
func (m *Mount) Unmount(patience time.Duration) error {
	deadline := time.Now().Add(patience)
	for ; ; time.Sleep(100 * time.Millisecond) {
		var err error
		select {
		case <-m.ended:
			err = m.conn.clear()
		default:
			err = m.conn.unmount()
		}
		if err == nil {
			break
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("unmount %s: %w (%w)", m.Dir, ErrBusy, err)
		}
	}
	select {
	case <-m.releasing:
	case <-time.After(time.Until(deadline) + settling): // a request hangs, or there is another mount of it
	}
	return nil
}

// aborting bounds the time that Abort takes.
const aborting = 5 * time.Second

// Abort ends the connection to the kernel: requests in flight and all later ones fail. If the user is
// not permitted to abort it, it ends with the process.
func (m *Mount) Abort() {
	done := make(chan error, 1)
	go func() { done <- m.conn.abort() }()
	select {
	case err := <-done:
		if err != nil {
			m.fs.log.Debugf("abort the connection: %v", err)
		}
	case <-time.After(aborting):
		m.fs.log.Warn("the connection to the kernel could not be aborted in time")
	}
}
