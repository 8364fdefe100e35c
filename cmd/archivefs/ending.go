package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
	"github.com/dustin/go-humanize/english"
	"github.com/urfave/cli/v2"

	"github.com/archivefs/archivefs/fs"
	"github.com/archivefs/archivefs/internal/config"
	"github.com/archivefs/archivefs/internal/doctor"
	"github.com/archivefs/archivefs/internal/spool"
)

const (
	// unmountPatience is how long an unmount waits for files to be closed before the mount
	// is taken out of sight with the files still open.
	unmountPatience = 3 * time.Second
	// awayPatience bounds the wait for uploads while the service is away, or after somebody
	// waited before the unmount: enough for what is under way.
	awayPatience = 2 * time.Second
)

// progressEvery is how often what is left is counted.
const progressEvery = 200 * time.Millisecond

// drainFlag bounds how long the end of a mount waits for uploads.
func drainFlag() cli.Flag {
	return &cli.DurationFlag{
		Name: "drain", EnvVars: env("DRAIN"), Value: 2 * time.Minute,
		Usage: "wait at most `DURATION` for uploads at the end; what is left then goes on at the next mount",
	}
}

func readDrain(c *cli.Context) (time.Duration, error) {
	d := c.Duration("drain")
	if d < 0 {
		return 0, config.WrongOption("drain", "a duration is not negative")
	}
	return d, nil
}

// end unmounts what is still mounted (m; nil for nothing), waits for uploads, says what
// remains, and closes what the session opened. From here on the next signal ends the
// program at once: what is in the spool survives that. Whoever still waits for the mount in the end is
// told that it is gone, so that nothing keeps the process.
func (s *session) end(m *fs.Mount) error {
	hurry, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var err error
	s.manager.tell("unmounting", daemon.SdNotifyStopping)
	if m != nil {
		select {
		case <-m.Ended():
		default:
			s.log.Info("unmounting")
		}
		err = s.takeDown(hurry, m)
	}
	limit := s.settings.drain
	if s.fs.Away() != nil || s.fs.Waited() {
		limit = min(limit, awayPatience)
	}
	ctx, cancel := context.WithTimeout(hurry, limit)
	defer cancel()
	s.drain(ctx)
	if m != nil {
		m.Abort() // before the stores are closed
	}
	rest, local := s.remainder(), s.localRemainder()
	switch {
	case hurry.Err() != nil: // uploads may use the stores: they stay open
		return errors.Join(err, errors.New(join("ended at once", rest, local)))
	case s.fs.Away() != nil && rest != "":
		say(s.stderr, "%s", join(awayInWords(s.fs.Away().Refused()), rest, local))
	case ctx.Err() != nil && rest != "":
		say(s.stderr, "%s", join(notWithin(limit, s.left().inDoubt), rest, local))
	case rest != "" || local != "":
		say(s.stderr, "%s", join(rest, local))
	}
	if ctx.Err() != nil {
		return err // uploads are under way, and use the stores
	}
	return errors.Join(err, s.closeStores())
}

// abortOnWatchdog lets nothing wait for a mount that a service manager ends because it does not answer
// (SIGABRT): the process then says where it stands, and dies of it. end ends that.
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

// takeDown unmounts. A mount with open files is taken out of sight when they are not closed
// within unmountPatience.
func (s *session) takeDown(hurry context.Context, m *fs.Mount) error {
	patience, cancel := context.WithTimeout(hurry, unmountPatience)
	defer cancel()
	for {
		if err := m.Unmount(0); err == nil {
			return nil
		}
		if pause(patience) != nil {
			s.log.Warnf("files in %s are still open: nobody finds them any more, and they fail when this process ends", m.Dir)
			return detachMount(hurry, m.Dir)
		}
	}
}

// drain waits until nothing is under way and what is pending was archived, or the service
// cannot take it, or ctx ends.
func (s *session) drain(ctx context.Context) {
	done := make(chan error, 1)
	go func() { done <- s.fs.Close(ctx) }()
	bar := newProgress(s.stderr)
	if bar != nil && s.log.Out == s.stderr {
		s.log.SetOutput(bar)
		defer s.log.SetOutput(s.stderr)
	}
	if bar != nil {
		defer bar.end()
	} else if left := s.left(); left.pending.uploads > 0 {
		s.log.Infof("waiting for %s; a further signal ends the program at once", left.pending.String())
	}
	tick := time.NewTicker(progressEvery)
	defer tick.Stop()
	for {
		select {
		case err := <-done:
			if err != nil && ctx.Err() == nil {
				s.log.Warnf("uploads: %v", err)
			}
			return
		case <-tick.C:
			left := s.left()
			s.manager.note("waiting for " + left.pending.String())
			if bar != nil && left.pending.uploads > 0 {
				bar.show(&left.pending)
			}
		}
	}
}

// leftover is what the archive does not have.
type leftover struct {
	pending backlog // goes on at the next mount
	inDoubt int     // of them, were sent without an answer and may still arrive
	failed  int     // waits for somebody to decide
	local   int     // files that hold something and stay on this machine
}

func leftoverOf(l spool.Left) leftover {
	return leftover{pending: backlog{uploads: l.Pending, bytes: l.Bytes}, inDoubt: l.InDoubt, failed: l.Failed, local: l.Local}
}

// left counts what the archive does not have, as the next mount would find it.
func (s *session) left() leftover { return leftoverOf(s.spool.Left()) }

// staysInWords says what waits for somebody to decide, and what stays on this machine for its name,
// empty when nothing does.
func (l *leftover) staysInWords(state string) string {
	return join(failedInWords(l.failed, state), localInWords(l.local, state))
}

// remainder says in one sentence what the archive does not have, empty when it has all
// or the mount never was usable.
func (s *session) remainder() string {
	l := s.left()
	if !s.usable || l.failed == 0 && l.pending.uploads == 0 {
		return ""
	}
	away := s.fs.Away()
	return fmt.Sprintf("%d failed and %d pending uploads are kept in %s; %s",
		l.failed, l.pending.uploads, s.dirs.State, goesOn(s.dirs.State, away != nil && away.Refused()))
}

// localRemainder says in one sentence what stays on this machine for its name, empty when nothing
// does.
func (s *session) localRemainder() string {
	if !s.usable {
		return ""
	}
	return localInWords(s.left().local, s.dirs.State)
}

// localInWords says how many local files a state directory keeps, empty for none.
func localInWords(n int, state string) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%s on this machine, in %s, and %s not archived; archivefs uploads list %s says why",
		doing(n, "file", "stays", "stay"), state, english.PluralWord(n, "is", "are"), doctor.Quoted(state))
}

// join joins what is said into one sentence.
func join(parts ...string) string {
	var said []string
	for _, p := range parts {
		if p != "" {
			said = append(said, p)
		}
	}
	return strings.Join(said, "; ")
}
