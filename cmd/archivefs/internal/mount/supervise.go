package mount

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime/debug"
	"sync"
	"syscall"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"

	"github.com/archivefs/archivefs/cmd/archivefs/internal/command"
	"github.com/archivefs/archivefs/cmd/archivefs/internal/mounted"
	"github.com/archivefs/archivefs/cmd/archivefs/internal/running"
	"github.com/archivefs/archivefs/cmd/archivefs/internal/settings"
	"github.com/archivefs/archivefs/internal/config"
	"github.com/archivefs/archivefs/internal/doctor"
)

// supervisor starts a background mount again after a crash. It ends with a mount that ends in any
// other way, or that somebody unmounts.
type supervisor struct {
	log        *logrus.Logger
	mountpoint string
	hangups    <-chan os.Signal
	caller     io.WriteCloser // gets the line that says that the mount is usable; nil once it has it
	shown      sync.Once
	mark       io.Closer // lets others know of the supervisor (config.Supervise)
}

// supervise is the process between the caller of --daemon and the mount. It returns when there is
// no mount any more.
func supervise(c *cli.Context, s *settings.Mount) error {
	log, err := running.NewLog(c)
	if err != nil {
		return err
	}
	dir, err := os.Getwd() // paths in the arguments may be relative to it
	if err != nil {
		return noBackground(err)
	}
	given := *command.InvocationOf(c.Context).Given
	given.Supervise = false
	ready, _ := c.App.Writer.(io.WriteCloser)
	v := &supervisor{log: log, mountpoint: mounted.BehindLinks(s.Mountpoint), hangups: running.HearHangups(true), caller: ready}
	stderr, crashes := c.App.ErrWriter, crashes{}
	for {
		began := time.Now()
		p, err := startProcess(dir, stderr, &given)
		if err != nil {
			return err
		}
		usable, err := v.attend(c.Context, p)
		switch {
		case v.caller != nil:
			return endOfBackground(err)
		case err == nil:
			return nil
		case c.Err() != nil, usable && !isCrash(err), isUsage(err):
			return command.ExitStatus(1) // it has logged why
		}
		if isCrash(err) {
			given.Crash = err.Error()
		}
		stderr = sentences{log}
		pause, again := crashes.next(time.Since(began))
		if !again {
			dir := doctor.Quoted(v.mountpoint)
			log.Errorf("the mount at %s ended %d times in a row (%v) and is not mounted again; archivefs unmount %s takes away what is left of it; then mount again, and what waited goes on",
				dir, mostCrashes, err, dir)
			return command.ExitStatus(1)
		}
		wait, cancel := context.WithTimeout(c.Context, pause)
		<-wait.Done()
		cancel()
		if _, there := mounted.At(v.mountpoint); !there || !mounted.IsStale(v.mountpoint) || c.Err() != nil {
			return nil // somebody unmounted it, and may have mounted again
		}
	}
}

// attend waits for the end of a mount, and passes on to it what signals ask for. An end is passed
// on as a byte: a signal to all processes of the mount would otherwise reach it twice, and the
// second one does not wait for uploads.
func (v *supervisor) attend(ctx context.Context, p *process) (usable bool, err error) {
	defer p.give.Close() //nolint:errcheck // nothing more is written
	ended := make(chan error, 1)
	go func() { ended <- p.Wait() }()
	end, lines := ctx.Done(), p.lines
	for {
		select {
		case line, ok := <-lines:
			lines, usable = nil, ok
			if usable {
				v.show()
			}
			if err := v.pass(line); err != nil {
				v.log.Warn(err)
			}
		case <-end:
			end = nil
			_, _ = p.give.Write([]byte{0}) // it fails if the process has ended
		case <-v.hangups:
			_ = p.Process.Signal(syscall.SIGHUP) // as above
		case err := <-ended:
			return usable, err
		}
	}
}

// show lets other processes know that the mount comes again after a crash, once the supervisor of the
// mount before has ended.
func (v *supervisor) show() {
	v.shown.Do(func() {
		go func() {
			state, err := config.StateAt(v.mountpoint)
			if err == nil {
				v.mark, err = config.Supervise(state)
			}
			if err != nil {
				v.log.Debugf("after a crash status will not say that it is mounted again: %v", err)
			}
		}()
	})
}

// pass passes the line that says that the mount is usable to the caller, if it waits for it, and
// leaves the caller.
func (v *supervisor) pass(line string) error {
	if line == "" || v.caller == nil {
		return nil
	}
	err := leaveCaller(nil)
	_, werr := io.WriteString(v.caller, line)
	err = errors.Join(err, werr, v.caller.Close())
	v.caller = nil
	debug.FreeOSMemory() // what the start took; from now on it waits
	return err
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

// crashBySignal lets a mistake in the program end it by a signal, as a crash, and not with the exit
// status of wrong usage. It leaves no core, where secrets would be.
func crashBySignal() error {
	debug.SetTraceback("crash")
	return unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{})
}

// isCrash reports whether a process ended by a signal.
func isCrash(err error) bool {
	var ended *exec.ExitError
	return errors.As(err, &ended) && ended.ExitCode() < 0
}

// isUsage reports whether the options became wrong, which does not heal by itself.
func isUsage(err error) bool {
	var ended *exec.ExitError
	return errors.As(err, &ended) && ended.ExitCode() == 2
}

const (
	// mostCrashes is how many mounts in a row may crash or fail to start.
	mostCrashes = 8
	// stable is how long a mount lasts whose crash has nothing to do with earlier ones.
	stable = time.Minute
)

// crashes counts mounts in a row that crashed or failed to start.
type crashes struct{ n int }

// next counts one that lasted so long, and says how long to wait before the next, or that there is
// none. The first mount is started again at once, later ones after 1, 2, 4, ... 32 seconds.
func (c *crashes) next(lasted time.Duration) (pause time.Duration, again bool) {
	if lasted >= stable {
		c.n = 0
	}
	c.n++
	if c.n > 1 {
		pause = time.Second << (c.n - 2)
	}
	return pause, c.n < mostCrashes
}
