//go:build linux

package machine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// ErrTimeout says that a command was given up.
var ErrTimeout = errors.New("took too long")

// Result is how a command ended.
type Result struct {
	Took   time.Duration
	Output string // standard output, without the last newline
}

// Run runs a command line of bash and waits for its end, limit at most. Its error has what
// it wrote to standard error. A pipe fails with any of its parts.
func Run(ctx context.Context, line string, env []string, limit time.Duration) (Result, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, ErrTimeout)
	defer cancel()
	cmd := command(ctx, "set -o pipefail; "+line, env)
	var out, complaints bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaints
	began := time.Now()
	err := cmd.Run()
	result := Result{Took: time.Since(began), Output: strings.TrimSuffix(out.String(), "\n")}
	if cause := context.Cause(ctx); cause != nil {
		return result, fmt.Errorf("%s: %w", line, cause)
	}
	if err != nil {
		return result, fmt.Errorf("%s: %w: %s", line, err, lastLine(complaints.String()))
	}
	return result, nil
}

// command is a process of its own group, all of which is killed when ctx ends.
func command(ctx context.Context, line string, env []string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "bash", "-c", line) //nolint:gosec // the commands of the suite
	cmd.Env = append(os.Environ(), env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM} // also when this one is killed
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 3 * time.Second // for a process in a mount that hangs
	return cmd
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}
