// Package running is what the commands that keep running, mount and serve, have in common: the log,
// the service manager, metrics, and an archive that is empty at first.
package running

import (
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
	"github.com/sirupsen/logrus"
)

// HearHangups returns what tells of SIGHUP, which asks for everything anew. From then on it
// never ends the program.
func HearHangups(background bool) <-chan os.Signal {
	hangups := make(chan os.Signal, 1)
	if background || !signal.Ignored(syscall.SIGHUP) { // nohup(1) has it ignored
		signal.Notify(hangups, syscall.SIGHUP)
	}
	return hangups
}

// HasTerminal reports whether somebody sits at a terminal that belongs to the program.
func HasTerminal() bool {
	f, err := os.OpenFile("/dev/tty", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		return false
	}
	_ = f.Close() // nothing was written
	return true
}

// Look examines from time to time whether the program answers, for who ends one that does not.
type Look struct {
	ask    func() error
	Due    <-chan time.Time // never, where nobody waits for it
	Answer chan error       // of the look that was begun
	Busy   bool
	End    func()
}

// NewLook looks often enough for somebody who waits so long for an answer; 0: nobody waits.
func NewLook(ask func() error, patience time.Duration) *Look {
	l := &Look{ask: ask, Answer: make(chan error, 1), End: func() {}}
	if patience > 0 {
		tick := time.NewTicker(patience / 3)
		l.Due, l.End = tick.C, tick.Stop
	}
	return l
}

// Begin begins to look, unless the last look has not ended.
func (l *Look) Begin() {
	if l.Busy {
		return
	}
	l.Busy = true
	go func() { l.Answer <- l.ask() }()
}

// Manager is the service manager that started the program, if one did, and listens
// (sd_notify(3)).
type Manager struct {
	Log    logrus.FieldLogger
	status string // told last
}

// Tell says what the program does now, and how it is in words.
func (m *Manager) Tell(status string, states ...string) {
	states = append(states, "STATUS="+status)
	m.status = status
	if _, err := daemon.SdNotify(false, strings.Join(states, "\n")); err != nil {
		m.Log.Debugf("tell the service manager: %v", err)
	}
}

// Every is a ticker for what is told again and again: where nobody listens it never ticks.
func (m *Manager) Every(d time.Duration) *time.Ticker {
	tick := time.NewTicker(d)
	if os.Getenv("NOTIFY_SOCKET") == "" {
		tick.Stop()
	}
	return tick
}

// Note tells how the program is, if that has changed.
func (m *Manager) Note(status string) {
	if status != m.status {
		m.Tell(status)
	}
}

// Alive says that the program works.
func (m *Manager) Alive() { m.Tell(m.status, daemon.SdNotifyWatchdog) }

// Watchdog is how long the manager waits for that; 0: it does not.
func (m *Manager) Watchdog() time.Duration {
	interval, err := daemon.SdWatchdogEnabled(false)
	if err != nil {
		m.Log.Warnf("watchdog of the service manager: %v", err)
	}
	return interval
}
