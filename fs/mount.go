package fs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log"
	"path/filepath"
	"slices"
	"sync"
	"time"

	fusefs "github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

// Mount is a mounted file system.
type Mount struct {
	Dir    string
	fs     *FileSystem
	server *fuse.Server
	ended  sync.Once
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
	root := &dirNode{d: f.root}
	f.root.node.Store(root.EmbeddedInode())
	negative := min(f.opts.TTL, kernelTrust)
	server, err := fusefs.Mount(dir, root, &fusefs.Options{
		MountOptions:    f.mountOptions(),
		NegativeTimeout: &negative,
		NullPermissions: true,
		RootStableAttr:  &fusefs.StableAttr{Ino: inoRoot},
		Logger:          log.New(logWriter{f}, "", 0),
	})
	if err != nil {
		return nil, fmt.Errorf("mount at %s: %w", dir, err)
	}
	f.passthrough.begin(asBacker(server))
	f.mounts.Learn(dir)
	return &Mount{Dir: dir, fs: f, server: server}, nil
}

func (f *FileSystem) mountOptions() fuse.MountOptions {
	o := fuse.MountOptions{
		AllowOther:  f.opts.AllowOther,
		DirectMount: true, // falls back to the helper fusermount3
		FsName:      cmp.Or(f.opts.MountSource, f.opts.Source), Name: "archivefs",
		MaxWrite:                1 << 20,
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

// logWriter takes what the FUSE library logs into our log.
type logWriter struct{ f *FileSystem }

func (w logWriter) Write(p []byte) (int, error) {
	w.f.log.Debugf("fuse: %s", p)
	return len(p), nil
}

// Wait returns when the file system was unmounted, by whomever.
func (m *Mount) Wait() {
	m.server.Wait()
	m.end()
}

// end makes up for the releases that the end of the mount dropped.
func (m *Mount) end() {
	m.ended.Do(func() { m.fs.handles.releaseAll(context.Background()) })
}

// ErrBusy says that files of the mount are still open somewhere.
var ErrBusy = errors.New("files of it are still open")

// Unmount unmounts. While files are open it tries again for patience, then it fails with
// ErrBusy.
func (m *Mount) Unmount(patience time.Duration) error {
	for deadline := time.Now().Add(patience); ; time.Sleep(100 * time.Millisecond) {
		err := m.server.Unmount()
		if err == nil {
			m.end()
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("unmount %s: %w (%w)", m.Dir, ErrBusy, err)
		}
	}
}
