package mount

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"

	"github.com/archivefs/archivefs/cmd/archivefs/internal/command"
	"github.com/archivefs/archivefs/cmd/archivefs/internal/mounted"
	"github.com/archivefs/archivefs/fs"
	"github.com/archivefs/archivefs/internal/config"
	"github.com/archivefs/archivefs/internal/fusectl"
)

const (
	// unmountPatience is how long an unmount waits for files to be closed before it detaches the
	// mount.
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

// drain waits until nothing is in flight and pending uploads are archived, or the service cannot
// take them, or ctx ends, or another process waits for the end of this one (next). After that no upload
// begins.
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
