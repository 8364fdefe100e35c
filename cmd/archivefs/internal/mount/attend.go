// Package mount is the command mount, and looks after the mount until it ends.
package mount

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
	"github.com/urfave/cli/v2"

	"github.com/archivefs/archivefs/cmd/archivefs/internal/command"
	"github.com/archivefs/archivefs/cmd/archivefs/internal/mounted"
	"github.com/archivefs/archivefs/cmd/archivefs/internal/running"
	"github.com/archivefs/archivefs/cmd/archivefs/internal/settings"
	"github.com/archivefs/archivefs/fs"
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
	people, err := s.settings.People.Again(ctx)
	if err == nil {
		err = s.setPeople(ctx, people, s.settings.Client.Credentials)
	}
	if err != nil {
		return err
	}
	s.fs.PeopleChanged()
	return nil
}
