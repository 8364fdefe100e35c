//go:build linux

package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/archivefs/archivefs/internal/lab/bench/delay"
	"github.com/archivefs/archivefs/internal/lab/bench/machine"
	"github.com/archivefs/archivefs/internal/lab/faultlab/proxy"
	"github.com/archivefs/archivefs/internal/lab/smbd"
)

// Share is the name of the share, and owner whose its files are: a user whom every Debian has.
const (
	Share = "archive"
	owner = "daemon"
)

// Options are those of a machine.
type Options struct {
	Name  string // of the directory that its files are in
	Mount string // options of the mount beside those of a share
	// Wire puts a wire between the mount and the service, which breaks requests when told to.
	Wire bool
	// Slow delays each request by so much. The service then refuses recursive lists.
	Slow time.Duration
	// People are how many accounts Samba has. With 0, everybody is a guest.
	People int
	// Own says that each person is a user of the machine at the mount, too.
	Own bool
	// Each gives each person a mount, as archivefs share samba --each does. There is no other.
	Each bool
}

// Host is a running machine.
type Host struct {
	*Archive
	Mount string // where the archive is mounted
	Wire  *proxy.Proxy
	// Metrics is the address of those of the mount.
	Metrics string

	options     Options
	dir         string
	profile     string // configuration of archivefs
	environment []string
	pass        *http.Transport
	slow        *delay.Proxy
	clock       atomic.Uint64
	samba       *smbd.Server
	servers     []*machine.Process // of FTP
	mount       *machine.Process
}

// Export starts a machine that exports an archive.
func Export(ctx context.Context, a *Archive, o Options) (*Host, error) {
	dir := filepath.Join(a.dir, o.Name)
	h := &Host{Archive: a, options: o, dir: dir, Mount: filepath.Join(dir, "mnt"), profile: filepath.Join(dir, "config.toml")}
	a.mounts = append(a.mounts, h.Mount)
	if err := h.start(ctx); err != nil {
		return nil, errors.Join(err, h.Close(context.WithoutCancel(ctx)))
	}
	return h, nil
}

func (h *Host) start(ctx context.Context) error {
	service, err := h.way(ctx)
	if err != nil {
		return err
	}
	if h.Metrics, err = machine.FreeAddress(ctx); err != nil {
		return err
	}
	profile := fmt.Sprintf("[profile.office]\nbase-url = \"http://%s\"\napi-key = %q\nmountpoint = %q\nstate-dir = %q\nmetrics = %q\n",
		service, key, h.Mount, filepath.Join(h.dir, "state"), h.Metrics)
	// Where the mount is missing, nobody but root can write.
	err = errors.Join(os.Mkdir(h.dir, 0o755), os.WriteFile(h.profile, []byte(profile), 0o600), os.Mkdir(h.Mount, 0o700)) //nolint:gosec // others reach the mount
	if err != nil {
		return err
	}
	if !h.options.Each {
		err = h.startMount(ctx)
	}
	return errors.Join(err, h.startSamba(ctx))
}

// way is the address at which the mount reaches the service.
func (h *Host) way(ctx context.Context) (string, error) {
	address := h.address
	var err error
	if h.options.Wire {
		h.pass = &http.Transport{DisableKeepAlives: true} // the service is killed and comes back
		to := &url.URL{Scheme: "http", Host: address}
		front := &httputil.ReverseProxy{
			Transport: h.pass,
			Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(to) },
			ErrorLog:  log.New(io.Discard, "", 0), // the mount is told
		}
		if h.Wire, err = proxy.Start(front, func() uint64 { return h.clock.Add(1) }, func(string, ...any) {}); err != nil {
			return "", err
		}
		address = h.Wire.Addr()
	}
	if h.options.Slow > 0 {
		if h.slow, err = delay.Start(ctx, delay.Flat, address, h.options.Slow); err != nil {
			return "", err
		}
		address = h.slow.Address()
	}
	return address, nil
}

// KillMount kills the mount. Its clients stay in what is left of it.
func (h *Host) KillMount() { kill(h.mount) }

// MountPID is the number of the mount's process.
func (h *Host) MountPID() int { return h.mount.PID() }

// Remount mounts the archive again, as its unit does after a crash: then the clients of Samba are
// disconnected, and come back by themselves.
func (h *Host) Remount(ctx context.Context) error {
	if err := h.startMount(ctx); err != nil {
		return err
	}
	return h.samba.CloseShare(ctx, Share)
}

// SMB is the address of Samba.
func (h *Host) SMB() string { return h.samba.Address }

// startMount mounts the archive with the options of the unit's drop-in.
func (h *Host) startMount(ctx context.Context) error {
	unit, err := h.run(ctx, h.program, "share", "samba", "--config", h.profile, "--name", Share, "--as", owner, "--unit", "office")
	if err != nil {
		return err
	}
	h.environment = nil
	for line := range strings.Lines(unit) {
		if set, is := strings.CutPrefix(strings.TrimSpace(line), "Environment="); is {
			h.environment = append(h.environment, strings.Fields(set)...)
		}
	}
	line := fmt.Sprintf("exec %q mount --config %q --drain 20s %s office", h.program, h.profile, h.options.Mount)
	if h.mount, err = h.launch(ctx, "mount", line); err != nil {
		return err
	}
	return h.mount.Ready(ctx, "the mount", patience, func() bool {
		_, err := h.run(ctx, h.program, "status", h.Mount)
		return err == nil
	})
}

// Unmount ends the mount in good order.
func (h *Host) Unmount(ctx context.Context) error {
	if h.mount == nil {
		return nil
	}
	h.mount.Stop() // SIGTERM unmounts; what is busy is detached
	h.mount = nil
	return machine.Unmount(ctx, h.Mount)
}

// Close ends all that runs, but not the archive service.
func (h *Host) Close(ctx context.Context) error {
	if h.samba != nil {
		h.samba.Stop()
	}
	for _, p := range h.servers {
		p.Stop()
	}
	err := errors.Join(h.Unmount(ctx), h.unmountEach(ctx))
	if h.slow != nil {
		h.slow.Close()
	}
	if h.Wire != nil {
		err = errors.Join(err, h.Wire.Close())
		h.pass.CloseIdleConnections()
	}
	return err
}

// launch starts a server whose home is the directory of the machine.
func (h *Host) launch(ctx context.Context, name, line string) (*machine.Process, error) {
	return machine.Start(ctx, line, append(h.environment, "HOME="+h.dir), filepath.Join(h.dir, name+".log"))
}

// run runs a program to its end and returns what it printed.
func (h *Host) run(ctx context.Context, name string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...) //nolint:gosec // archivefs, and programs of Samba
	cmd.Env = append(os.Environ(), "HOME="+h.dir)
	out, err := cmd.Output()
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		err = fmt.Errorf("%s %q: %w: %s", name, args, err, strings.TrimSpace(string(failed.Stderr)))
	}
	return string(out), err
}
