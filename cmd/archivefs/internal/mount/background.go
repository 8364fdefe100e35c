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
	"time"

	"github.com/urfave/cli/v2"

	"github.com/archivefs/archivefs/cmd/archivefs/internal/command"
	"github.com/archivefs/archivefs/cmd/archivefs/internal/settings"
)

// A background mount (--daemon) is this program in two more processes: the supervisor and the mount
// itself. The first process reads the options and asks for credentials, and passes both to the
// supervisor through a pipe, because others can read the arguments and the environment of a
// process. The supervisor passes them to the mount, and again to the next one after a crash. Until
// the mount is usable both stay in the session and the process group of the first process and write
// to its standard error, and the exit status of the mount becomes that of the other two.

// HandoverVariable in the environment marks the supervisor and the mount. Its value does not matter.
const HandoverVariable = "_ARCHIVEFS_HANDOVER"

// The descriptors of these processes, after the standard ones.
const (
	handoverFD = 3 // reads the handover, and then a byte that asks for the end
	readyFD    = 4 // writes the line that says that the mount is usable
)

// process is the supervisor or the mount, as seen by the process that started it.
type process struct {
	*exec.Cmd
	give  *os.File
	lines chan string // the line that says that the mount is usable; closed without it if there is none
}

// startProcess starts a process in dir, empty for the current directory. It shows the arguments of
// this one, without secrets.
func startProcess(dir string, stderr io.Writer, h *command.Handover) (*process, error) {
	path, err := ownProgram()
	if err != nil {
		return nil, noBackground(err)
	}
	inheritNothing()
	take, give, err := os.Pipe()
	if err != nil {
		return nil, noBackground(err)
	}
	ready, tell, err := os.Pipe()
	if err != nil {
		return nil, noBackground(errors.Join(err, take.Close(), give.Close()))
	}
	p := &process{give: give, lines: make(chan string, 1), Cmd: &exec.Cmd{
		Path: path, Args: os.Args, Env: backgroundEnvironment(os.Environ()), Dir: dir, Stderr: stderr,
		ExtraFiles: []*os.File{take, tell}, WaitDelay: time.Second,
	}}
	err = p.Start()
	if err = errors.Join(err, take.Close(), tell.Close()); err != nil {
		return nil, noBackground(errors.Join(err, give.Close(), ready.Close()))
	}
	_ = gob.NewEncoder(give).Encode(h) // it fails if the process has ended, which prints why
	go func() {
		defer close(p.lines)
		defer ready.Close() //nolint:errcheck // it was only read
		if line, err := bufio.NewReader(ready).ReadString('\n'); err == nil {
			p.lines <- line
		}
	}()
	return p, nil
}

// goBackground starts a background mount, and returns when it is usable.
func goBackground(c *cli.Context, s *settings.Mount) error {
	supervisor, err := startProcess("", c.App.ErrWriter, &command.Handover{
		Args: command.InvocationOf(c.Context).Args, Login: s.Login, Credentials: command.CallerCredentials(s.Client.Credentials),
		Supervise: true,
	})
	if err != nil {
		return err
	}
	defer supervisor.give.Close() //nolint:errcheck // nothing more is written
	stop := context.AfterFunc(c.Context, func() { _ = supervisor.Process.Signal(syscall.SIGTERM) })
	defer stop()
	line, ok := <-supervisor.lines
	if !ok {
		return endOfBackground(supervisor.Wait())
	}
	_, err = io.WriteString(c.App.Writer, line)
	return errors.Join(err, supervisor.Process.Release())
}

// backgroundEnvironment is the environment of the processes in the background, without the service
// manager, which watches the first one.
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

// endOfBackground is the error if a process ended before the mount was usable. That has printed
// why, unless it was killed.
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

// TakeHandover reads the handover, and returns where to report that the mount is usable. The
// returned context ends when the supervisor asks for the end.
func TakeHandover(ctx context.Context) (until context.Context, given *command.Handover, ready *os.File, err error) {
	take, tell := os.NewFile(handoverFD, "handover"), os.NewFile(readyFD, "ready")
	for _, fd := range []int{handoverFD, readyFD} {
		syscall.CloseOnExec(fd)
	}
	given = &command.Handover{}
	in := bufio.NewReader(take)
	until, end := context.WithCancel(ctx)
	if err := errors.Join(os.Unsetenv(HandoverVariable), gob.NewDecoder(in).Decode(given)); err != nil {
		end()
		return nil, nil, nil, errors.Join(err, take.Close())
	}
	go func() {
		defer take.Close()                       //nolint:errcheck // it was only read
		if _, err := in.ReadByte(); err == nil { // else the supervisor is gone, and the mount goes on
			end()
		}
	}()
	return until, given, tell, nil
}
