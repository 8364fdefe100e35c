// Package running is shared by the commands that keep running, mount and serve: the log, the
// service manager, metrics, and the first contents of an empty archive.
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

// HearHangups returns a channel for SIGHUP, which asks for a reload. After that SIGHUP does not end
// the program.
func HearHangups(background bool) <-chan os.Signal {
	hangups := make(chan os.Signal, 1)
	if background || !signal.Ignored(syscall.SIGHUP) { // nohup(1) ignores it
		signal.Notify(hangups, syscall.SIGHUP)
	}
	return hangups
}

// HasTerminal reports whether the program has a controlling terminal.
func HasTerminal() bool {
	f, err := os.OpenFile("/dev/tty", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		return false
	}
	_ = f.Close() // nothing was written
	return true
}

// Look checks from time to time whether the program answers, for the watchdog of the service
// manager.
type Look struct {
	ask    func() error
	Due    <-chan time.Time // nil without a watchdog
	Answer chan error       // of the running check
	Busy   bool
	End    func()
}

// NewLook checks often enough for a watchdog with this time-out; 0: none.
func NewLook(ask func() error, patience time.Duration) *Look {
	l := &Look{ask: ask, Answer: make(chan error, 1), End: func() {}}
	if patience > 0 {
		tick := time.NewTicker(patience / 3)
		l.Due, l.End = tick.C, tick.Stop
	}
	return l
}

// Begin starts a check, unless the last one is still running.
func (l *Look) Begin() {
	if l.Busy {
		return
	}
	l.Busy = true
	go func() { l.Answer <- l.ask() }()
}

// Manager is the service manager that started the program, if it listens (sd_notify(3)).
type Manager struct {
	Log    logrus.FieldLogger
	status string // sent last
}

// Tell sends a state and a status text.
func (m *Manager) Tell(status string, states ...string) {
	states = append(states, "STATUS="+status)
	m.status = status
	if _, err := daemon.SdNotify(false, strings.Join(states, "\n")); err != nil {
		m.Log.Debugf("tell the service manager: %v", err)
	}
}

// Every is a ticker for repeated messages; it never ticks without a service manager.
func (m *Manager) Every(d time.Duration) *time.Ticker {
	tick := time.NewTicker(d)
	if os.Getenv("NOTIFY_SOCKET") == "" {
		tick.Stop()
	}
	return tick
}

// Note sends the status text, if it has changed.
func (m *Manager) Note(status string) {
	if status != m.status {
		m.Tell(status)
	}
}

// Alive resets the watchdog.
func (m *Manager) Alive() { m.Tell(m.status, daemon.SdNotifyWatchdog) }

// Watchdog is the time-out of the watchdog, 0 for none.
func (m *Manager) Watchdog() time.Duration {
	interval, err := daemon.SdWatchdogEnabled(false)
	if err != nil {
		m.Log.Warnf("watchdog of the service manager: %v", err)
	}
	return interval
}
