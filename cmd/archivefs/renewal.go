package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/coreos/go-systemd/v22/daemon"
	"github.com/urfave/cli/v2"

	"github.com/archivefs/archivefs/apiclient"
	"github.com/archivefs/archivefs/internal/doctor"
)

// renewal asks for everything anew: the options that a mount can
// change, the credentials, and what is known of the archive's structure.
type renewal struct {
	session *session
	done    chan struct{} // closed when one is over; nil while none is under way
	cancel  context.CancelFunc
}

// begin begins one. None is under way.
func (r *renewal) begin(c *cli.Context) {
	r.session.manager.tell("asking the archive service anew",
		daemon.SdNotifyReloading, strings.TrimSpace(daemon.SdNotifyMonotonicUsec()))
	ctx, cancel := context.WithCancel(c.Context)
	done := make(chan struct{})
	r.done, r.cancel = done, cancel
	go func() {
		defer close(done)
		r.session.renew(ctx, c)
	}()
}

// end ends the one that is under way, if any.
func (r *renewal) end() {
	if r.done == nil {
		return
	}
	r.cancel()
	<-r.done
	r.done = nil
}

// renew is one renewal.
func (s *session) renew(ctx context.Context, c *cli.Context) {
	if err := s.reread(ctx, c); err != nil {
		s.log.Warnf("options and credentials stay as they are: %v", err)
	}
	if err := s.fs.Refresh(ctx); err != nil {
		s.log.Warnf("the archive service cannot be asked anew: %v", err)
		return
	}
	s.log.Info("all that was known of the archive is asked for anew")
}

// reread reads the configuration and the credentials once more. Of the options the level of
// the log can change while the mount is there.
func (s *session) reread(ctx context.Context, c *cli.Context) error {
	again, err := s.settings.chosen.again(ctx, c)
	if err != nil {
		return err
	}
	level, _, err := readLog(again)
	if err != nil {
		return err
	}
	s.log.SetLevel(level)
	if s.settings.embedded {
		return nil
	}
	fresh := &mountSettings{profile: s.settings.profile, client: s.settings.client}
	if err := readCaller(again, fresh); err != nil { //nolint:contextcheck // it is the context of again
		return err
	}
	return s.client.SetCredentials(fresh.client.Credentials)
}

// cureOfRefusal says what to do when the service does not take the credentials of a mount any
// more. A key alone says whose archive it opens: what was written under it is not sent with
// another one.
func cureOfRefusal(cred apiclient.Credentials, dir string, pid int) string {
	dir = doctor.Quoted(dir)
	if cred.User == "" && cred.CloudID == "" {
		return fmt.Sprintf("a mount with an API key alone takes no other: save what failed or waits with archivefs uploads export %s, "+
			"then archivefs unmount %s, and mount with the new key", dir, dir)
	}
	return fmt.Sprintf("put valid credentials where it has them from (archivefs login, or a file), then kill -HUP %d; archivefs uploads retry %s sends what failed", pid, dir)
}
