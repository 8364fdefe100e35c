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
	"golang.org/x/sys/unix"

	"github.com/archivefs/archivefs/cmd/archivefs/internal/command"
	"github.com/archivefs/archivefs/cmd/archivefs/internal/settings"
)

// A background mount (--daemon) is this program in one more process. The first process reads the options
// and asks for credentials, and passes both to the mount through a pipe, because others can read the
// arguments and the environment of a process. Until the mount is usable it stays in the session and the
// process group of the first process and writes to its standard error, and its exit status becomes that of
// the first.

// HandoverVariable in the environment marks the process in the background. Its value does not matter.
const HandoverVariable = "_ARCHIVEFS_HANDOVER"

// The descriptors of this process, after the standard ones.
const (
	handoverFD = 3 // reads the handover, and then a byte that asks for the end
	readyFD    = 4 // writes the line that says that the mount is usable
)

// goBackground starts a background mount, and returns when it is usable. The new process shows the
// arguments of this one, without secrets.
func goBackground(c *cli.Context, s *settings.Mount) error {
	path, err := ownProgram()
	if err != nil {
		return noBackground(err)
	}
	inheritNothing()
	take, give, err := os.Pipe()
	if err != nil {
		return noBackground(err)
	}
	defer give.Close() //nolint:errcheck // nothing more is written
	ready, tell, err := os.Pipe()
	if err != nil {
		return noBackground(errors.Join(err, take.Close()))
	}
	defer ready.Close() //nolint:errcheck // it was only read
	p := &exec.Cmd{
		Path: path, Args: os.Args, Env: backgroundEnvironment(os.Environ()), Stderr: c.App.ErrWriter,
		ExtraFiles: []*os.File{take, tell}, WaitDelay: time.Second,
	}
	err = p.Start()
	if err = errors.Join(err, take.Close(), tell.Close()); err != nil {
		return noBackground(err)
	}
	_ = gob.NewEncoder(give).Encode(&command.Handover{ // it fails if the process has ended, which prints why
		Args: command.InvocationOf(c.Context).Args, Login: s.Login, Identity: s.Identity, Credentials: command.CallerCredentials(s.Client.Credentials),
	})
	// An end is asked for by a byte: a terminal signals both processes, and the second signal to one does not
	// wait for uploads.
	stop := context.AfterFunc(c.Context, func() { _, _ = give.Write([]byte{0}) })
	defer stop()
	line, err := bufio.NewReader(ready).ReadString('\n')
	if err != nil {
		return endOfBackground(p.Wait())
	}
	_, err = io.WriteString(c.App.Writer, line)
	return errors.Join(err, p.Process.Release())
}

// backgroundEnvironment is the environment of the process in the background, without the service
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
// returned context ends when the caller asks for the end.
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
		if _, err := in.ReadByte(); err == nil { // else the caller is gone, and the mount goes on
			end()
		}
	}()
	return until, given, tell, nil
}

// leaveCaller leaves the session, the directory and the standard error of the caller; standard
// error becomes out, or nothing.
func leaveCaller(out *os.File) error {
	if _, err := unix.Setsid(); err != nil {
		return fmt.Errorf("--daemon: leave the session: %w", err)
	}
	if err := os.Chdir("/"); err != nil {
		return fmt.Errorf("--daemon: %w", err)
	}
	if out == nil {
		null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
		if err != nil {
			return fmt.Errorf("--daemon: %w", err)
		}
		defer null.Close() //nolint:errcheck // nothing is written to it
		out = null
	}
	if err := unix.Dup2(int(out.Fd()), int(os.Stderr.Fd())); err != nil {
		return fmt.Errorf("--daemon: leave standard error: %w", err)
	}
	return nil
}
