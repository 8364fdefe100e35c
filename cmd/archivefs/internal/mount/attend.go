// Package mount is the command mount, and looks after the mount until it ends.
package mount

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
	"github.com/urfave/cli/v2"

	"github.com/archivefs/archivefs/cmd/archivefs/internal/command"
	"github.com/archivefs/archivefs/cmd/archivefs/internal/mounted"
	"github.com/archivefs/archivefs/cmd/archivefs/internal/running"
	"github.com/archivefs/archivefs/cmd/archivefs/internal/settings"
	"github.com/archivefs/archivefs/fs"
	"github.com/archivefs/archivefs/internal/config"
	"github.com/archivefs/archivefs/internal/fusectl"
)

// statusEvery is how often the service manager gets the status of the mount, if it has changed.
const statusEvery = 2 * time.Second

// attend looks after a mount until it has ended, or a signal asks for its end. Work that may take
// long is done in other goroutines: the watchdog checks that this loop runs.
func (s *session) attend(c *cli.Context, m *fs.Mount) {
	status := s.manager.Every(statusEvery)
	defer status.Stop()
	// The check comes from outside, like any program that uses the mount.
	look := running.NewLook(func() error { return mounted.Answers(m.Dir) }, s.manager.Watchdog())
	defer look.End()
	renewal := renewal{session: s}
	defer renewal.end()
	s.manager.Tell(s.inWords(), daemon.SdNotifyReady)
	for {
		hangup := s.hangups
		if renewal.done != nil {
			hangup = nil // waits until it is over
		}
		select {
		case <-m.Ended():
			return
		case <-c.Done():
			return
		case <-hangup:
			if s.attended && !running.HasTerminal() {
				s.log.Warn("the terminal that the mount was started from is gone")
				return
			}
			renewal.begin(c)
		case <-renewal.done:
			renewal.end()
			s.manager.Tell(s.inWords(), daemon.SdNotifyReady)
		case <-status.C:
			s.manager.Note(s.inWords())
		case <-look.Due:
			look.Begin()
		case err := <-look.Answer:
			look.Busy = false
			if err != nil {
				s.log.Errorf("the mount itself does not answer: %v", err)
				continue
			}
			s.manager.Alive()
		}
	}
}

// inWords is the status of the mount in one line.
func (s *session) inWords() string {
	left := s.spool.Left()
	text := "mounted at " + s.settings.Mountpoint
	if away := s.fs.Away(); away != nil {
		text += "; " + mounted.AwayInWords(away.Refused())
	}
	if left.Pending > 0 {
		text += "; " + mounted.Pending(&left).String() + " to be archived"
	}
	if left.Failed > 0 {
		text += fmt.Sprintf("; %s failed, see archivefs uploads list", command.Plural(left.Failed, "upload"))
	}
	return text
}

// renewal reloads what can be reloaded: some options, the credentials, and the listings.
type renewal struct {
	session *session
	done    chan struct{} // closed when a reload has ended; nil if none runs
	cancel  context.CancelFunc
}

// begin begins a reload. None may be running.
func (r *renewal) begin(c *cli.Context) {
	r.session.manager.Tell("asking the archive service anew",
		daemon.SdNotifyReloading, strings.TrimSpace(daemon.SdNotifyMonotonicUsec()))
	ctx, cancel := context.WithCancel(c.Context)
	done := make(chan struct{})
	r.done, r.cancel = done, cancel
	go func() {
		defer close(done)
		r.session.renew(ctx, c)
	}()
}

// end ends the running reload, if any.
func (r *renewal) end() {
	if r.done == nil {
		return
	}
	r.cancel()
	<-r.done
	r.done = nil
}

// renew is one reload.
func (s *session) renew(ctx context.Context, c *cli.Context) {
	if err := s.fs.RereadSearches(); err != nil {
		s.log.Warnf("the saved searches stay as they are: %v", err)
	}
	if err := s.reread(ctx, c); err != nil {
		s.log.Warnf("options and credentials stay as they are: %v", err)
	}
	if err := s.rereadPeople(ctx); err != nil {
		s.log.Warnf("the users of the mount and their credentials stay as they are: %v", err)
	}
	if err := s.fs.Refresh(ctx); err != nil {
		s.log.Warnf("the archive service cannot be asked anew: %v", err)
		return
	}
	s.log.Info("all that was known of the archive is asked for anew")
}

// reread reads the configuration and the credentials again. Of the options only the log level can
// change during a mount.
func (s *session) reread(ctx context.Context, c *cli.Context) error {
	ctx = command.WithInvocation(ctx, &command.Invocation{}) // without the credentials that a background mount was given
	again, err := s.settings.Chosen.Again(ctx, c)
	if err != nil {
		return err
	}
	level, _, err := running.ReadLog(again)
	if err != nil {
		return err
	}
	s.log.SetLevel(level)
	if s.settings.Embedded {
		return nil
	}
	fresh := &settings.Mount{Profile: s.settings.Profile, Client: s.settings.Client, Identity: again.String("identity")}
	if err := settings.ReadCaller(again, fresh); err != nil { //nolint:contextcheck // it is the context of again
		return err
	}
	if err := s.setCredentials(ctx, fresh.Client, fresh.BoundTo(s.client.BaseURL())); err != nil {
		return err
	}
	s.settings.Client.Credentials = fresh.Client.Credentials
	return nil
}

// rereadPeople reads the file of --map-users, and the secrets that it names, again.
func (s *session) rereadPeople(ctx context.Context) error {
	if s.settings.People == nil {
		return nil
	}
	people, err := settings.ReadPeople(ctx, s.settings.MapUsers)
	if err == nil {
		err = s.setPeople(ctx, people, s.settings.Client.Credentials)
	}
	if err != nil {
		return err
	}
	s.fs.PeopleChanged()
	return nil
}

const (
	// unmountPatience is how long an unmount waits for files to be closed before it detaches the mount.
	unmountPatience = 3 * time.Second
	// awayPatience bounds the wait for uploads while the service is away: enough for those in flight.
	awayPatience = 2 * time.Second
)

// end unmounts m, if it is still mounted (nil for nothing), waits for uploads, though not while another
// process waits for that, prints what remains, and closes the session. From now on the next signal ends
// the program at once: the spool survives that. Finally the connection to the kernel is aborted, so that
// programs that still wait get an error and nothing keeps the process.
func (s *session) end(m *fs.Mount) error {
	hurry, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var err error
	s.manager.Tell("unmounting", daemon.SdNotifyStopping)
	if m != nil {
		select {
		case <-m.Ended():
		default:
			s.log.Info("unmounting")
		}
		if err := s.dirs.Ending(); err != nil {
			s.log.Warn(err)
		}
		err = s.takeDown(hurry, m)
	}
	limit := s.settings.Drain
	if s.fs.Away() != nil {
		limit = min(limit, awayPatience)
	}
	ctx, cancel := context.WithTimeout(hurry, limit)
	defer cancel()
	next := s.drain(ctx)
	if m != nil && s.known != nil && !next {
		s.learnInboxes(hurry)
	}
	if next {
		ctx, cancel = context.WithTimeout(hurry, handoverGrace+awayPatience)
		defer cancel()
		s.handOver(ctx)
	}
	if m != nil {
		m.Abort() // before the stores are closed
	}
	rest, local := s.remainder(next), ""
	if s.usable {
		local = mounted.LocalInWords(s.spool.Left().Local, s.dirs.State)
	}
	switch {
	case hurry.Err() != nil: // uploads may still use the stores
		return errors.Join(err, errors.New(command.Join("ended at once", rest, local)))
	case next && rest != "":
		command.Say(s.stderr, "%s", rest)
	case s.fs.Away() != nil && rest != "":
		command.Say(s.stderr, "%s", command.Join(mounted.AwayInWords(s.fs.Away().Refused()), rest, local))
	case ctx.Err() != nil && rest != "":
		command.Say(s.stderr, "%s", command.Join(mounted.NotWithin(limit, s.spool.Left().InDoubt), rest, local))
	case rest != "" || local != "":
		command.Say(s.stderr, "%s", command.Join(rest, local))
	}
	if ctx.Err() != nil {
		return err // uploads still use the stores
	}
	return errors.Join(err, s.closeStores())
}

// abortOnWatchdog aborts the connection to the kernel when the service manager ends a mount that
// does not answer (SIGABRT), and lets the process print its goroutines and die. end stops it.
func abortOnWatchdog(m *fs.Mount) (end func()) {
	aborts, done := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(aborts, syscall.SIGABRT)
	go func() {
		select {
		case <-aborts:
			m.Abort()
			signal.Reset(syscall.SIGABRT)
			_ = syscall.Kill(os.Getpid(), syscall.SIGABRT)
		case <-done:
		}
	}()
	return func() {
		signal.Stop(aborts)
		close(done)
	}
}

// takeDown unmounts. If files stay open for unmountPatience it detaches the mount.
func (s *session) takeDown(hurry context.Context, m *fs.Mount) error {
	patience, cancel := context.WithTimeout(hurry, unmountPatience)
	defer cancel()
	for {
		if err := m.Unmount(0); err == nil {
			return nil
		}
		if command.Pause(patience) != nil {
			s.log.Warnf("files in %s are still open; they fail when this process ends", m.Dir)
			return mounted.DetachMount(hurry, m.Dir)
		}
	}
}

// drain waits until nothing is in flight and pending uploads are archived, or the service cannot take them, or ctx
// ends, or another process waits for the end of this one (next). After that no upload begins.
func (s *session) drain(ctx context.Context) (next bool) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- s.fs.Close(ctx) }()
	bar := command.NewProgress(s.stderr)
	if bar != nil && s.log.Out == s.stderr {
		s.log.SetOutput(bar)
		defer s.log.SetOutput(s.stderr)
	}
	if bar != nil {
		defer bar.End()
	} else if left := s.spool.Left(); left.Pending > 0 {
		s.log.Infof("waiting for %s; a further signal ends the program at once", mounted.Pending(&left).String())
	}
	tick := time.NewTicker(command.ProgressEvery)
	defer tick.Stop()
	for {
		select {
		case err := <-done:
			if err != nil && ctx.Err() == nil {
				s.log.Warnf("uploads: %v", err)
			}
			return next
		case <-tick.C:
			if !next && s.dirs.IsHastened() {
				next = true
				cancel()
			}
			left := s.spool.Left()
			s.manager.Note("waiting for " + mounted.Pending(&left).String())
			if bar != nil && left.Pending > 0 {
				bar.Show(mounted.Pending(&left))
			}
		}
	}
}

// remainder describes in one sentence what is not archived, empty if everything is or the mount
// never was usable. next says that another process waits for it.
func (s *session) remainder(next bool) string {
	l := s.spool.Left()
	if !s.usable || l.Failed == 0 && l.Pending == 0 {
		return ""
	}
	goesOn := "the next mount takes them over"
	if away := s.fs.Away(); !next {
		goesOn = mounted.GoesOn(s.dirs.State, away != nil && away.Refused())
	}
	return fmt.Sprintf("%d failed and %d pending uploads are kept in %s; %s", l.Failed, l.Pending, s.dirs.State, goesOn)
}

// The process of a mount that was unmounted has its state directory until it has sent what waits, for
// minutes perhaps. A mount that comes meanwhile asks it to leave that to the next one, and waits.

const (
	// handoverGrace is how long uploads in flight have to end by themselves when another process waits.
	// What is cut off is sent once more, after a while in which it may still arrive.
	handoverGrace = 3 * time.Second
	// handoverPatience is how long a mount waits for another one to end: longer than that takes, and
	// shorter than a service manager waits for a mount (systemd.mount(5), 90 s).
	handoverPatience = time.Minute
)

// takeOver opens state directories. It waits while the process that has them ends.
func takeOver(ctx context.Context, stderr io.Writer, open func() (*config.Dirs, error)) (*config.Dirs, error) {
	ctx, cancel := context.WithTimeout(ctx, handoverPatience)
	defer cancel()
	var asks io.Closer
	for began := time.Now(); ; {
		dirs, err := open()
		var used *config.InUseError
		if !errors.As(err, &used) || used.Mountpoint == "" || !used.Ending && isInUse(used) {
			return dirs, err
		}
		if !used.Ending && time.Since(began) > mounted.NoticesSoon {
			used.Detached = true
			return nil, used
		}
		if asks == nil {
			if asks, err = config.Hasten(used.State); err == nil { // else another one asks
				defer asks.Close() //nolint:errcheck,gocritic // nothing was written; once
				command.Say(stderr, "waiting for the mount that was at %s%s: it ends, and leaves to this one what is not archived", used.Mountpoint, used.Process())
			}
		}
		if command.Pause(ctx) != nil {
			return nil, used
		}
	}
}

// isInUse reports whether an archive is mounted where the holder of a state directory has mounted it, as
// the holder sees it or this process.
func isInUse(by *config.InUseError) bool {
	if fusectl.Mounts("self") == nil { // some systems have no list
		_, _, err := mounted.Status(by.Mountpoint)
		return err == nil
	}
	_, there := mounted.SeenBy(strconv.Itoa(by.PID), by.Mountpoint)
	_, here := mounted.SeenBy("self", by.Mountpoint)
	return there || here
}

// handOver ends what is in flight, because another process waits, after it had a moment to end by itself.
// No further upload is begun since drain. It returns when nothing is in flight, or ctx ends.
func (s *session) handOver(ctx context.Context) {
	s.log.Info("the next mount takes over what is not archived")
	err := errors.Join(s.client.Pause(ctx, handoverGrace), s.fs.Close(ctx))
	if err != nil {
		s.log.Debugf("uploads: %v", err)
	}
}
