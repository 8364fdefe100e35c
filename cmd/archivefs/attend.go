package main

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
	"github.com/urfave/cli/v2"

	"github.com/archivefs/archivefs/fs"
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
