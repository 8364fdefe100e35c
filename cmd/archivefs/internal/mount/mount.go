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
	"path/filepath"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/cmd/archivefs/internal/command"
	"github.com/archivefs/archivefs/cmd/archivefs/internal/mounted"
	"github.com/archivefs/archivefs/cmd/archivefs/internal/running"
	"github.com/archivefs/archivefs/cmd/archivefs/internal/settings"
	"github.com/archivefs/archivefs/fs"
	"github.com/archivefs/archivefs/internal/config"
	"github.com/archivefs/archivefs/internal/doctor"
)

// Command is the command mount.
func Command() *cli.Command {
	return &cli.Command{
		Name:      "mount",
		Usage:     "mount the archive at MOUNTPOINT",
		ArgsUsage: "[PROFILE] [MOUNTPOINT]",
		Description: "Mounts the archive of the service at --base-url, or, without one, an archive of your own in\n" +
			"--data. When the mount is usable, one line on standard output says so. Ctrl-C unmounts and waits\n" +
			"for uploads; a second Ctrl-C does not wait, and what is left goes on at the next mount.\n\n" +
			"With --daemon the command ends when the mount is usable, and archivefs unmount ends the mount.\n" +
			"SIGHUP lets the mount ask for all that it knows of the archive anew.\n\n" +
			"   archivefs mount ~/Archive\n" +
			"   archivefs mount --base-url https://archive.example:8081 --user erika --password-file PW \\\n" +
			"       --api-key-file KEY ~/Archive\n\n" +
			"Every option can also be set in the environment, as ARCHIVEFS_BASE_URL for --base-url, as\n" +
			"-o base_url=URL, and in a configuration file, there also for a PROFILE: see archivefs config\n" +
			"--help. A profile that names its mount point needs no other: archivefs mount office.",
		Flags:  settings.Flags(),
		Action: mount,
	}
}

// garbage is GOGC of a mount, in percent. A mount runs for days and is mostly idle, so half of Go's
// default costs hardly any time.
const garbage = 50

// mount is the command: it returns when the archive is unmounted.
func mount(c *cli.Context) error {
	settings, err := settings.Read(c)
	if err != nil {
		return err
	}
	how := command.InvocationOf(c.Context)
	switch {
	case how.Fake:
		return nil
	case c.Bool("daemon") && how.Given == nil:
		return goBackground(c, settings)
	}
	log, err := running.NewLog(c)
	if err != nil {
		return err
	}
	if err := config.LocalZone(); err != nil && settings.Client.Location == time.Local {
		log.Warn(err)
	}
	stale, err := prepareMountpoint(settings)
	if err != nil {
		return startAgainSlowly(c, err)
	}
	if settings.Fs.AllowOther {
		if err := mounted.MayLetOthersIn(os.Geteuid(), mounted.FuseConf); err != nil {
			return err
		}
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(garbage)
	}
	endProfiles := Profiles()
	s, err := openSession(c, settings, log, stale)
	if err != nil {
		return startAgainSlowly(c, err)
	}
	m, err := s.serve(c)
	if !s.usable {
		err = startAgainSlowly(c, err)
	}
	endProfiles()
	return s.outcome(errors.Join(err, s.end(m)))
}

// Profiles begins the profiles of a mount, and end writes them: those of a program with the tag profile.
var Profiles = func() (end func()) { return func() {} }

// slowly is how long a mount that cannot start keeps a service manager from the next attempt.
const slowly = 10 * time.Second

// startAgainSlowly reports the error of a mount that cannot start, and keeps a service manager
// waiting: it starts a mount that crashed again at once, but one that cannot start would ask the
// service with refused credentials, for instance, twice a second.
func startAgainSlowly(c *cli.Context, err error) error {
	_, usage := errors.AsType[*config.UsageError](err)
	if err == nil || os.Getenv("NOTIFY_SOCKET") == "" || usage {
		return err
	}
	command.Complain(c.App.ErrWriter, "%s", err)
	wait, cancel := context.WithTimeout(c.Context, slowly)
	defer cancel()
	<-wait.Done()
	return command.ExitStatus(1)
}

// serve checks the service, mounts, and waits for the end. It returns the mount, nil if there was none.
func (s *session) serve(c *cli.Context) (*fs.Mount, error) {
	err := s.fs.Check(c.Context)
	if err == nil {
		err = s.fs.BeginAt(c.Context, s.settings.Folder)
	}
	if errors.Is(err, syscall.ENOENT) {
		return nil, fmt.Errorf("%w: --folder names one by its path in a mount of the whole archive", err)
	}
	if err != nil {
		return nil, s.unreachable(err, s.waiting())
	}
	if away := s.fs.Away(); away != nil {
		s.warn("the archive service at %s is away; until it answers the mount shows the last listings: %s",
			s.client.BaseURL(), away.Text)
	}
	s.tellLeftBehind()
	s.fs.Recover()
	m, err := s.mount(c, s.stale && mounted.IsLeft(s.settings.Mountpoint))
	if err != nil {
		why := "a line of fusermount3 above, if there is one, says why"
		if errors.Is(err, fs.ErrNoHelper) {
			why = doctor.InstallHelper
		} else if do := doctor.SystemAppArmor.Cure(s.settings.Mountpoint); do != "" && os.Geteuid() != 0 {
			why += "; if it is AppArmor: " + do
		}
		return nil, fmt.Errorf("%s; %s", strings.Join(strings.Fields(err.Error()), " "), why) // its text may have line breaks
	}
	s.usable = true
	if s.stale {
		s.log.Warnf("%s was mounted again, because the process of the last mount had ended without unmounting it; "+
			"what waited goes on, and programs have to open their files again", m.Dir)
	}
	if err := s.dirs.MountedAt(m.Dir); err != nil {
		s.log.Debugf("other commands will not know of this mount: %v", err)
	}
	if err := s.announce(c.App.Writer, m.Dir); err != nil {
		return m, err
	}
	defer abortOnWatchdog(m)()
	defer s.followMachine(c.Context)()
	s.attend(c, m)
	return m, nil
}

// mount mounts, in the place of the mount of an archive that a killed process left, if there is one.
func (s *session) mount(c *cli.Context, left bool) (*fs.Mount, error) {
	dir := s.settings.Mountpoint
	if !left {
		return s.fs.Mount(dir)
	}
	var below *os.File // nil if the system exchanges the two mounts
	m, err := s.fs.TakeOver(mounted.BehindLinks(dir), func() (err error) {
		below, err = mounted.Uncover(c.Context, dir)
		return err
	})
	if below == nil {
		return m, err
	}
	defer below.Close() //nolint:errcheck // it was only read
	if err != nil || s.settings.Nonempty {
		return m, err
	}
	hidden, herr := mounted.Hidden(below)
	if herr != nil {
		s.log.Debugf("look below the mount: %v", herr)
	}
	for _, name := range hidden {
		const why = "a program has written it below the mount while that was mounted again; unmount, move it elsewhere, then mount and copy it"
		s.log.Errorf("%s is not in the archive: %s", archive.Printable(filepath.Join(dir, name)), why)
		s.lacks("below "+name, archive.Printable(filepath.Join(dir, name)), why)
	}
	return m, nil
}

// detach leaves the session, the directory and the standard error of the caller once the mount is usable. Not before:
// for an automount, all processes except those of the caller's group wait for it (autofs(5)), and this one would wait
// for itself. After that the output of a crash goes to the log file, if there is one; messages go to the log.
func (s *session) detach() error {
	if s.log.Out == io.Discard && len(s.log.Hooks) == 0 {
		command.Say(s.stderr, "there is neither a journal nor syslog on this machine, so nothing is logged; name a file with --log-file")
	}
	out, isFile := s.log.Out.(*os.File)
	if !isFile || out == os.Stderr {
		out = nil
	}
	if err := leaveCaller(out); err != nil {
		return err
	}
	s.stderr, s.detached = sentences{s.log}, true
	return nil
}

// announce reports to the caller that the mount is usable.
func (s *session) announce(out io.Writer, dir string) error {
	if s.background {
		if err := s.detach(); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(out, "mounted %s at %s\n", s.client.BaseURL(), dir)
	if pipe, ok := out.(io.Closer); ok && s.background {
		err = errors.Join(err, pipe.Close())
	}
	if err != nil {
		s.log.Warnf("print the ready line: %v", err)
	}
	return nil
}

// outcome is the result of the program. A background process also logs it, because nobody reads its standard error.
func (s *session) outcome(err error) error {
	if err == nil || !s.detached {
		return err
	}
	s.log.Error(strings.ReplaceAll(err.Error(), "\n", "; "))
	return command.ExitStatus(1)
}

// sentences is a standard error that goes to the log.
type sentences struct{ log *logrus.Logger }

// Write logs the messages of say.
func (w sentences) Write(p []byte) (int, error) {
	w.log.Warn(strings.TrimSpace(strings.TrimPrefix(string(p), "archivefs: ")))
	return len(p), nil
}

// prepareMountpoint checks the mount point, or creates it. It may be the stale mount of an archive,
// which stays until right before the next one is mounted, so that the moment is short in which a program
// can write into the directory below it.
func prepareMountpoint(s *settings.Mount) (stale bool, err error) {
	if mounted.IsAutomount(s.Mountpoint) {
		return false, nil // a look into it would wait for this mount
	}
	if mounted.IsLeft(s.Mountpoint) {
		return true, nil
	}
	if s.Made {
		if err := os.MkdirAll(s.Mountpoint, 0o700); err != nil {
			return false, fmt.Errorf("mount point: %w", err)
		}
	}
	if s.Word != "" {
		return false, fmt.Errorf("there is no directory %q, and no profile of that name, because the configuration has none; "+
			"make the directory, or write the section [profile.NAME] in %s", s.Word, config.Places()[0])
	}
	return false, mounted.CheckMountpoint(s.Mountpoint, s.Nonempty)
}

// A background mount (--daemon) is this program in one more process. The first process reads the options and asks for
// credentials, and passes both to the mount through a pipe, because others can read the arguments and the environment
// of a process. Until the mount is usable it stays in the session and the process group of the first process and writes
// to its standard error, and its exit status becomes that of the first.

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
	if ended, ok := errors.AsType[*exec.ExitError](err); ok && ended.ExitCode() > 0 {
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
