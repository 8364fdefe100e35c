package main

import (
	"os"
	"strings"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
	"github.com/sirupsen/logrus"
)

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
