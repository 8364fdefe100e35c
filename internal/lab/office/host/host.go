//go:build linux

package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/archivefs/archivefs/internal/lab/bench/machine"
	"github.com/archivefs/archivefs/internal/lab/faultlab/proxy"
)

// The archive: Mandator has the folders Letters and Offers, and scanners write to Inbox.
const (
	Mandator = "Muster GmbH"
	Letters  = Mandator + "/Letters"
	Offers   = Mandator + "/Offers"
	Inbox    = "inboxes/Administrator"
)

// Share is the name of the share, and owner whose its files are: a user whom every Debian has.
const (
	Share = "archive"
	owner = "daemon"
)

// key is the API key of the service, which only this machine can reach.
const key = "office"

// settle is how long a file in an inbox has to be left alone. Offices have ten seconds.
const settle = 2 * time.Second

// Host is a running machine.
type Host struct {
	Mount string // where the archive is mounted
	SMB   string // address of Samba
	Wire  *proxy.Proxy
	// Old are the documents of the archive at its beginning, by path.
	Old map[string]string

	program, dir string
	direct       string // address of the service, past the wire
	conf         string // smb.conf
	profile      string // configuration of archivefs
	environment  []string
	pass         *http.Transport
	clock        atomic.Uint64
	servers      []*machine.Process // of Samba and FTP
	service      *machine.Process
	mount        *machine.Process
}

// Open starts a machine with a new archive, with its files below dir.
func Open(ctx context.Context, program, dir string) (*Host, error) {
	h := &Host{
		program: program, dir: dir, Mount: filepath.Join(dir, "mnt"), conf: filepath.Join(dir, "smb.conf"), profile: filepath.Join(dir, "config.toml"),
		Old: map[string]string{Letters + "/Old letter.txt": "An old letter.\n", Letters + "/a:b?.pdf": "%PDF-1.7\na question\n%%EOF\n", Offers + "/Old offer.txt": "An old offer.\n"},
	}
	if err := h.start(ctx); err != nil {
		return nil, errors.Join(err, h.Close(context.WithoutCancel(ctx)))
	}
	return h, nil
}

func (h *Host) start(ctx context.Context) error {
	for path, text := range h.Old {
		file := filepath.Join(h.dir, "tree", path)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(text), 0o600)); err != nil {
			return err
		}
	}
	var err error
	if h.direct, err = freeAddress(ctx); err != nil {
		return err
	}
	if err := h.StartService(ctx); err != nil {
		return err
	}
	h.pass = &http.Transport{DisableKeepAlives: true} // the service is killed and comes back
	front := &httputil.ReverseProxy{
		Transport: h.pass,
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(&url.URL{Scheme: "http", Host: h.direct}) },
		ErrorLog:  log.New(io.Discard, "", 0), // the mount is told
	}
	if h.Wire, err = proxy.Start(front, func() uint64 { return h.clock.Add(1) }, func(string, ...any) {}); err != nil {
		return err
	}
	profile := fmt.Sprintf("[profile.office]\nbase-url = \"http://%s\"\napi-key = %q\nmountpoint = %q\nstate-dir = %q\n",
		h.Wire.Addr(), key, h.Mount, filepath.Join(h.dir, "state"))
	// Where the mount is missing, nobody but root can write.
	if err := errors.Join(os.WriteFile(h.profile, []byte(profile), 0o600), os.Mkdir(h.Mount, 0o700), os.Chmod(h.dir, 0o755)); err != nil { //nolint:gosec // others reach the mount
		return err
	}
	return errors.Join(h.startMount(ctx), h.startSamba(ctx))
}

// StartService starts the archive service, again after it was killed.
func (h *Host) StartService(ctx context.Context) error {
	fill := ""
	if h.service == nil {
		fill = fmt.Sprintf("--sample --import %q", filepath.Join(h.dir, "tree"))
	}
	line := fmt.Sprintf("exec %q serve %s --data %q --listen %s --api-key %s --log-level warn", h.program, fill, filepath.Join(h.dir, "data"), h.direct, key)
	var err error
	if h.service, err = h.launch(ctx, "service", line); err != nil {
		return err
	}
	return h.until(ctx, "the archive service", h.service, func() bool {
		_, err := h.get(ctx, "/inboxes")
		return err == nil
	})
}

// KillService kills the service, as a crash of its machine does.
func (h *Host) KillService() { kill(h.service) }

// KillMount kills the mount. Its clients stay in what is left of it.
func (h *Host) KillMount() { kill(h.mount) }

func kill(p *machine.Process) {
	_ = syscall.Kill(p.PID(), syscall.SIGKILL) // it may have ended by itself
	<-p.Ended()
}

// Remount mounts the archive again, as its unit does after a crash: then the clients of Samba are
// disconnected, and come back by themselves.
func (h *Host) Remount(ctx context.Context) error {
	if err := h.startMount(ctx); err != nil {
		return err
	}
	_, err := h.run(ctx, "smbcontrol", "-s", h.conf, "smbd", "close-share", Share)
	return err
}

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
	line := fmt.Sprintf("exec %q mount --config %q --settle %s --watch 1s --drain 20s office", h.program, h.profile, settle)
	if h.mount, err = h.launch(ctx, "mount", line); err != nil {
		return err
	}
	return h.until(ctx, "the mount", h.mount, func() bool {
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

// Close ends all that runs.
func (h *Host) Close(ctx context.Context) error {
	for _, p := range h.servers {
		p.Stop()
	}
	err := h.Unmount(ctx)
	if h.service != nil {
		h.service.Stop()
	}
	if h.Wire != nil {
		err = errors.Join(err, h.Wire.Close())
		h.pass.CloseIdleConnections()
	}
	machine.End(machine.Family(), 5*time.Second) // a process that Samba left
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
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), "HOME="+h.dir)
	out, err := cmd.Output()
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		err = fmt.Errorf("%s %q: %w: %s", name, args, err, strings.TrimSpace(string(failed.Stderr)))
	}
	return string(out), err
}

// until waits for a server that was started.
func (h *Host) until(ctx context.Context, what string, p *machine.Process, ready func() bool) error {
	return Until(ctx, what, func() (bool, error) {
		select {
		case <-p.Ended():
			return false, fmt.Errorf("it ended; its log is in %s", h.dir)
		default:
			return ready(), nil
		}
	})
}

// Until waits for something that shall come.
func Until(ctx context.Context, what string, come func() (bool, error)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, errors.New("it did not come"))
	defer cancel()
	for {
		there, err := come()
		if there {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: %w", what, errors.Join(context.Cause(ctx), err))
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// patience is how long anything may take on a busy machine.
const patience = 2 * time.Minute

// freeAddress is an address of this machine that nobody listens at.
func freeAddress(ctx context.Context) (string, error) {
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return ln.Addr().String(), ln.Close()
}
