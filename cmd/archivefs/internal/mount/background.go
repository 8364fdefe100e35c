package mount

import (
	"bufio"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"github.com/urfave/cli/v2"

	"github.com/archivefs/archivefs/cmd/archivefs/internal/command"
	"github.com/archivefs/archivefs/cmd/archivefs/internal/settings"
)

// A background mount (--daemon) is this program in a second process. The first one reads the
// options and asks for credentials, and passes both to the second through a pipe, because others
// can read the arguments and the environment of a process. Then it waits for the line that says
// that the mount is usable. Until then the second process stays in the session and the process
// group of the first and writes to its standard error, and its exit status becomes that of the
// first.

// HandoverVariable in the environment marks the second process. Its value does not matter.
const HandoverVariable = "_ARCHIVEFS_HANDOVER"

// The descriptors of the second process, after the standard ones.
const (
	handoverFD = 3 // reads the handover
	readyFD    = 4 // writes the line that says that the mount is usable
)

// goBackground starts a background mount, and returns when it is usable.
func goBackground(c *cli.Context, s *settings.Mount) error {
	take, give, err := os.Pipe()
	if err != nil {
		return noBackground(err)
	}
	defer give.Close() //nolint:errcheck // the second process notices what is missing
	ready, tell, err := os.Pipe()
	if err != nil {
		return noBackground(errors.Join(err, take.Close()))
	}
	defer ready.Close() //nolint:errcheck // it was only read
	second, err := startBackground(c, take, tell)
	if err = errors.Join(err, take.Close(), tell.Close()); err != nil {
		return noBackground(err)
	}
	h := command.Handover{
		Args: command.InvocationOf(c.Context).Args, Login: s.Login, Credentials: command.CallerCredentials(s.Client.Credentials),
	}
	_ = gob.NewEncoder(give).Encode(h) // it fails if the second process has ended, which prints why
	stop := context.AfterFunc(c.Context, func() { _ = second.Process.Signal(syscall.SIGTERM) })
	defer stop()
	line, err := bufio.NewReader(ready).ReadString('\n')
	if err != nil {
		return endOfBackground(second.Wait())
	}
	_, err = io.WriteString(c.App.Writer, line)
	return errors.Join(err, second.Process.Release())
}

// startBackground starts the second process. It shows the arguments of the first, without secrets.
func startBackground(c *cli.Context, take, tell *os.File) (*exec.Cmd, error) {
	path, err := ownProgram()
	if err != nil {
		return nil, err
	}
	inheritNothing()
	second := &exec.Cmd{
		Path: path, Args: os.Args, Env: backgroundEnvironment(os.Environ()), Stderr: c.App.ErrWriter,
		ExtraFiles: []*os.File{take, tell},
	}
	return second, second.Start()
}

// backgroundEnvironment is the environment of the second process, without the service manager,
// which watches the first one.
func backgroundEnvironment(all []string) []string {
	env := []string{HandoverVariable + "=1"}
	for _, pair := range all {
		switch name, _, _ := strings.Cut(pair, "="); name {
		case "NOTIFY_SOCKET", "WATCHDOG_PID", "WATCHDOG_USEC":
		default:
			env = append(env, pair)
		}
	}
	return env
}

func noBackground(err error) error { return fmt.Errorf("--daemon: start a process: %w", err) }

// endOfBackground is the error if the second process ended before the mount was usable. That has
// printed why, unless it was killed.
func endOfBackground(err error) error {
	var ended *exec.ExitError
	if errors.As(err, &ended) && ended.ExitCode() > 0 {
		return command.ExitStatus(ended.ExitCode())
	}
	if err == nil {
		return errors.New("--daemon: the process in the background ended before the mount was usable")
	}
	return fmt.Errorf("--daemon: the process in the background ended: %w", err)
}

// TakeHandover reads the handover, and returns where to report that the mount is usable.
func TakeHandover() (given *command.Handover, ready *os.File, err error) {
	take, tell := os.NewFile(handoverFD, "handover"), os.NewFile(readyFD, "ready")
	for _, fd := range []int{handoverFD, readyFD} {
		syscall.CloseOnExec(fd)
	}
	given = &command.Handover{}
	return given, tell, errors.Join(os.Unsetenv(HandoverVariable), gob.NewDecoder(take).Decode(given), take.Close())
}
