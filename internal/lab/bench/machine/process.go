//go:build linux

package machine

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// Process is a server, or a mount in the foreground.
type Process struct {
	cmd   *exec.Cmd
	log   string        // where its output goes
	ended chan struct{} // closed at its end; err is set before
	err   error
}

// Start starts a command line of bash, whose output goes to the end of the file log. The
// process outlives ctx: whoever started it stops it, in good order.
func Start(ctx context.Context, line string, env []string, log string) (*Process, error) {
	out, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600) //nolint:gosec // below the scratch directory
	if err != nil {
		return nil, err
	}
	defer out.Close() //nolint:errcheck // the process has its own descriptor
	p := &Process{cmd: command(context.WithoutCancel(ctx), line, env), log: log, ended: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = out, out
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("%s: %w", line, err)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.ended)
	}()
	return p, nil
}

// PID is the number of the process.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Ended is closed when the process has ended.
func (p *Process) Ended() <-chan struct{} { return p.ended }

// Failed is true once the process has ended with an error.
func (p *Process) Failed() bool {
	select {
	case <-p.ended:
		return p.err != nil
	default:
		return false
	}
}

// Stop ends the process and its group: by SIGTERM, and by SIGKILL when it stays.
func (p *Process) Stop() {
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		select {
		case <-p.ended:
			return
		default:
		}
		_ = syscall.Kill(-p.PID(), signal) // it may have ended by itself
		select {
		case <-p.ended:
		case <-time.After(10 * time.Second):
		}
	}
}
