package disk

import (
	"fmt"
	"time"

	fusefs "github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

// Mount shows the disk at the directory dir, until the server it returns is unmounted.
// This process must not touch what lies below dir: it would wait for itself.
func (d *Disk) Mount(dir string) (*fuse.Server, error) {
	trust := time.Minute // nobody but the kernel changes anything
	server, err := fusefs.Mount(dir, &node{disk: d, ino: d.root}, &fusefs.Options{
		MountOptions: fuse.MountOptions{DirectMount: true, FsName: "forgetful", Name: "disk", DisableXAttrs: true},
		AttrTimeout:  &trust, EntryTimeout: &trust,
		RootStableAttr: &fusefs.StableAttr{Ino: d.root.id},
	})
	if err != nil {
		return nil, fmt.Errorf("mount the forgetful disk: %w", err)
	}
	return server, nil
}
