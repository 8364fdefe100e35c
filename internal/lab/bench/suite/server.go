//go:build linux

package suite

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"time"

	"github.com/archivefs/archivefs/internal/lab/bench/machine"
)

// Names of the servers.
const (
	ownService     = "service"
	foreignService = "service-foreign"
	webDAV         = "webdav"
	sftp           = "sftp"
)

// server is a server at work.
type server struct {
	name    string
	address string
	process *machine.Process
}

// serve starts the server of that name, unless it runs already, and waits for it.
func (b *Bench) serve(ctx context.Context, name string) (*server, error) {
	if s := b.servers[name]; s != nil {
		if s.process.Failed() {
			return nil, fmt.Errorf("the server %s has ended by itself; see %s", name, b.logPath(name))
		}
		return s, nil
	}
	var s *server
	var err error
	switch name {
	case ownService:
		s, err = b.startService(ctx, name, b.ownData())
	case foreignService:
		s, err = b.startForeign(ctx)
	case webDAV:
		s, err = b.startWebDAV(ctx)
	case sftp:
		s, err = b.startSFTP(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("start the server %s: %w; see %s", name, err, b.logPath(name))
	}
	b.servers[name] = s
	return s, nil
}

// start starts a server that listens at address.
func (b *Bench) start(ctx context.Context, name, address, command string, env ...string) (*server, error) {
	process, err := machine.Start(ctx, command, b.env(append(env, "ADDRESS="+address)...), b.logPath(name))
	if err != nil {
		return nil, err
	}
	return &server{name: name, address: address, process: process}, nil
}

// stopServers ends all servers.
func (b *Bench) stopServers() {
	for name, s := range b.servers {
		s.process.Stop()
		delete(b.servers, name)
	}
}

// apart are the processes that belong to no mount.
func (b *Bench) apart() []int {
	var pids []int
	for _, s := range b.servers {
		pids = append(pids, s.process.PID())
	}
	return pids
}

// await asks until try succeeds, for limit at most.
func (s *server) await(ctx context.Context, limit time.Duration, try func(context.Context) error) error {
	deadline := time.Now().Add(limit)
	for {
		err := try(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-s.process.Ended():
			return errors.New("it has ended by itself")
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("it is not ready after %s: %w", limit, err)
		}
	}
}

// listens tells whether somebody listens at the address.
func (s *server) listens(ctx context.Context) error {
	c, err := new(net.Dialer).DialContext(ctx, "tcp", s.address)
	if err != nil {
		return err
	}
	return c.Close()
}

// freeAddress is an address of loopback at which nobody listens.
func freeAddress(ctx context.Context) (string, error) {
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return ln.Addr().String(), ln.Close()
}

func (b *Bench) logPath(name string) string { return filepath.Join(b.dir, "log", name+".log") }
