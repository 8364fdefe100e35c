package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
	"github.com/sirupsen/logrus"
	"github.com/urfave/cli/v2"

	"github.com/archivefs/archivefs/apiclient"
	"github.com/archivefs/archivefs/fs"
	"github.com/archivefs/archivefs/internal/doctor"
)

// statusEvery is how often the service manager is told how the mount is, if that has changed.
const statusEvery = 2 * time.Second

// attend looks after a mount until it has ended, or until somebody asks for its end. Whatever may
// take long is done elsewhere: that this loop goes round is a part of what the service manager
// watches.
func (s *session) attend(c *cli.Context, m *fs.Mount) {
	status := s.manager.every(statusEvery)
	defer status.Stop()
	// From outside, as anybody who uses the mount does.
	look := newLook(func() error { return answers(m.Dir) }, s.manager.watchdog())
	defer look.end()
	renewal := renewal{session: s}
	defer renewal.end()
	s.manager.tell(s.inWords(), daemon.SdNotifyReady)
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
			if s.attended && !hasTerminal() {
				s.log.Warn("the terminal that the mount was started from is gone")
				return
			}
			renewal.begin(c)
		case <-renewal.done:
			renewal.end()
			s.manager.tell(s.inWords(), daemon.SdNotifyReady)
		case <-status.C:
			s.manager.note(s.inWords())
		case <-look.due:
			look.begin()
		case err := <-look.answer:
			look.busy = false
			if err != nil {
				s.log.Errorf("the mount itself does not answer: %v", err)
				continue
			}
			s.manager.alive()
		}
	}
}

// hearHangups returns what tells of SIGHUP, which asks for everything anew. From then on it
// never ends the program.
func hearHangups(background bool) <-chan os.Signal {
	hangups := make(chan os.Signal, 1)
	if background || !signal.Ignored(syscall.SIGHUP) { // nohup(1) has it ignored
		signal.Notify(hangups, syscall.SIGHUP)
	}
	return hangups
}

// hasTerminal reports whether somebody sits at a terminal that belongs to the program.
func hasTerminal() bool {
	f, err := os.OpenFile("/dev/tty", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		return false
	}
	_ = f.Close() // nothing was written
	return true
}

// inWords is how the mount is, in a line.
func (s *session) inWords() string {
	left := s.left()
	text := "mounted at " + s.settings.mountpoint
	if away := s.fs.Away(); away != nil {
		text += "; " + awayInWords(away.Refused())
	}
	if left.pending.uploads > 0 {
		text += "; " + left.pending.String() + " to be archived"
	}
	if left.failed > 0 {
		text += fmt.Sprintf("; %s failed, see archivefs uploads list", plural(left.failed, "upload"))
	}
	return text
}

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

// look examines from time to time whether the program answers, for who ends one that does not.
type look struct {
	ask    func() error
	due    <-chan time.Time // never, where nobody waits for it
	answer chan error       // of the look that was begun
	busy   bool
	end    func()
}

// newLook looks often enough for somebody who waits so long for an answer; 0: nobody waits.
func newLook(ask func() error, patience time.Duration) *look {
	l := &look{ask: ask, answer: make(chan error, 1), end: func() {}}
	if patience > 0 {
		tick := time.NewTicker(patience / 3)
		l.due, l.end = tick.C, tick.Stop
	}
	return l
}

// begin begins to look, unless the last look has not ended.
func (l *look) begin() {
	if l.busy {
		return
	}
	l.busy = true
	go func() { l.answer <- l.ask() }()
}

// manager is the service manager that started the program, if one did, and listens
// (sd_notify(3)).
type manager struct {
	log    logrus.FieldLogger
	status string // told last
}

// tell says what the program does now, and how it is in words.
func (m *manager) tell(status string, states ...string) {
	states = append(states, "STATUS="+status)
	m.status = status
	if _, err := daemon.SdNotify(false, strings.Join(states, "\n")); err != nil {
		m.log.Debugf("tell the service manager: %v", err)
	}
}

// every is a ticker for what is told again and again: where nobody listens it never ticks.
func (m *manager) every(d time.Duration) *time.Ticker {
	tick := time.NewTicker(d)
	if os.Getenv("NOTIFY_SOCKET") == "" {
		tick.Stop()
	}
	return tick
}

// note tells how the program is, if that has changed.
func (m *manager) note(status string) {
	if status != m.status {
		m.tell(status)
	}
}

// alive says that the program works.
func (m *manager) alive() { m.tell(m.status, daemon.SdNotifyWatchdog) }

// watchdog is how long the manager waits for that; 0: it does not.
func (m *manager) watchdog() time.Duration {
	interval, err := daemon.SdWatchdogEnabled(false)
	if err != nil {
		m.log.Warnf("watchdog of the service manager: %v", err)
	}
	return interval
}
