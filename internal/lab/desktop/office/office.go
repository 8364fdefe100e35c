//go:build linux

package office

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/archivefs/archivefs/internal/lab/bench/machine"
	"github.com/archivefs/archivefs/internal/lab/desktop/screen"
	"github.com/archivefs/archivefs/internal/lab/direct"
	"github.com/archivefs/archivefs/internal/lab/fill"
)

// key is the API key of the service, which only this machine can reach.
const key = "desktop"

// Mandator, Scans, Letters, States and Inbox are where the tours work. Scans has PDFs documents.
const (
	Mandator = "Muster GmbH"
	Scans    = "Scans"
	Letters  = "Letters"
	States   = "Agreements" // the first one: the screen has room for its menu
	Inbox    = "Administrator"
	PDFs     = 50
)

// Office is a running archive.
type Office struct {
	*direct.Archive
	Mount string // where it is mounted
	Wire  *Wire

	screen  *screen.Screen
	program string
	dir     string
	front   *httptest.Server
	mount   *machine.Process
}

// Open starts the service with a new archive, and mounts it. Processes of the office end with
// those of the screen; Close comes before.
func Open(ctx context.Context, s *screen.Screen, program, dir string) (*Office, error) {
	o := &Office{screen: s, program: program, dir: dir, Mount: filepath.Join(s.Home(), "Archive")}
	if err := o.start(ctx); err != nil {
		return nil, errors.Join(err, o.Close(context.WithoutCancel(ctx)))
	}
	return o, nil
}

func (o *Office) start(ctx context.Context) error {
	tree := filepath.Join(o.dir, "tree")
	bin := filepath.Join(o.screen.Home(), ".local", "bin") // in PATH, for what menus start
	if err := errors.Join(writeTree(tree), os.MkdirAll(bin, 0o700), os.Symlink(o.program, filepath.Join(bin, "archivefs"))); err != nil {
		return err
	}
	address, err := machine.FreeAddress(ctx)
	if err != nil {
		return err
	}
	o.Archive = direct.At(address, key)
	data := filepath.Join(o.dir, "data")
	if err := fill.Tree(ctx, data, tree, true); err != nil {
		return err
	}
	line := fmt.Sprintf(`exec %q serve --data %q --listen %s --api-key %s --log-level warn`, o.program, data, address, key)
	p, err := o.screen.Launch(ctx, "service", line)
	if err != nil {
		return err
	}
	err = screen.Until(ctx, "the archive service", func() (bool, error) {
		if p.Failed() {
			return false, errors.New("it ended; its log is in " + o.dir)
		}
		return o.Has(ctx, Mandator+"/"+Scans), nil
	})
	if err != nil {
		return err
	}
	if o.Wire, o.front, err = newWire("http://" + address); err != nil {
		return err
	}
	return o.Remount(ctx)
}

// Remount mounts the archive, with a mount that knows nothing of what was read before, and
// with further options.
func (o *Office) Remount(ctx context.Context, options ...string) error {
	if err := o.unmount(ctx); err != nil {
		return err
	}
	state := filepath.Join(o.dir, "state")
	if err := errors.Join(os.RemoveAll(state), os.MkdirAll(o.Mount, 0o700)); err != nil {
		return err
	}
	line := fmt.Sprintf(`ARCHIVEFS_API_KEY=%s exec %q mount --base-url %s --state-dir %q --ttl 2s %s %q`,
		key, o.program, o.front.URL, state, strings.Join(options, " "), o.Mount)
	var err error
	if o.mount, err = o.screen.Launch(ctx, "mount", line); err != nil {
		return err
	}
	return screen.Until(ctx, "the mount", func() (bool, error) {
		if o.mount.Failed() {
			return false, errors.New("it ended; its log is in " + o.dir)
		}
		return machine.Mounted(o.Mount) != "", nil
	})
}

// Program is the archivefs that is tested.
func (o *Office) Program() string { return o.program }

// unmount ends the mount, in good order.
func (o *Office) unmount(ctx context.Context) error {
	if o.mount == nil {
		return nil
	}
	o.mount.Stop() // SIGTERM unmounts; what is busy is detached
	o.mount = nil
	return machine.Unmount(ctx, o.Mount)
}

// Close unmounts and ends the wire.
func (o *Office) Close(ctx context.Context) error {
	err := o.unmount(ctx)
	if o.front != nil {
		o.front.CloseClientConnections()
		o.front.Close()
	}
	return err
}

// Settled waits until the service is asked nothing any more: a step is over then.
func (o *Office) Settled(ctx context.Context) error { return o.Quiet(ctx, time.Second) }

// Quiet waits until the service was asked nothing for some time.
func (o *Office) Quiet(ctx context.Context, quiet time.Duration) error {
	return screen.Until(ctx, "an end of the requests", func() (bool, error) {
		return o.Wire.quietFor() > quiet, nil
	})
}
