// Package running is shared by the commands that keep running, mount and serve: the log, the
// service manager, metrics, and the first contents of an empty archive.
package running

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
	"github.com/sirupsen/logrus"
	"github.com/urfave/cli/v2"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/cmd/archivefs/internal/command"
	"github.com/archivefs/archivefs/internal/config"
	"github.com/archivefs/archivefs/internal/metrics"
	"github.com/archivefs/archivefs/internal/sample"
	"github.com/archivefs/archivefs/internal/server"
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

// MetricsFlag is the address of the metrics.
func MetricsFlag() cli.Flag {
	return &cli.StringFlag{
		Name: "metrics", EnvVars: command.Env("METRICS"),
		Usage: "answer /metrics (for Prometheus), /healthz and /readyz at `ADDRESS`: HOST:PORT, or unix:PATH",
	}
}

// CheckMetrics refuses a wrong address of the metrics. No address is right, too.
func CheckMetrics(address string) error {
	if address == "" {
		return nil
	}
	if err := metrics.CheckAddress(address); err != nil {
		return config.WrongOption("metrics", "%v", err)
	}
	return nil
}

// ServeMetrics serves metrics at an address.
func ServeMetrics(ctx context.Context, address string, source metrics.Source, log logrus.FieldLogger) (*metrics.Server, error) {
	srv, err := metrics.Serve(ctx, address, source)
	if err != nil {
		return nil, fmt.Errorf("--metrics: %w; name another address", err)
	}
	log.Infof("metrics at %s", srv.Address())
	return srv, nil
}

// BuildInfo tells the version.
func BuildInfo(version string) metrics.Family {
	return metrics.Family{
		Name: "archivefs_build_info", Help: "Always 1; the version is the label.", Kind: metrics.Gauge, Labels: []string{"version"},
		Rows: []metrics.Row{{Labels: []string{version}, Value: 1}},
	}
}

// Fill adds the sample to an empty archive if the options ask for it; otherwise one mandator and
// one inbox, so that there is a place for files.
func Fill(ctx context.Context, srv *server.Server, withSample bool, log logrus.FieldLogger) error {
	empty, err := srv.Empty(ctx)
	if err != nil || !empty {
		return err
	}
	if !withSample {
		_, mandator := srv.AddMandator(ctx, "My Archive")
		_, inbox := srv.AddInbox(ctx, 1, "Inbox")
		return errors.Join(unlessMade(mandator), unlessMade(inbox))
	}
	made, err := sample.Load(ctx, sampleTarget{srv})
	if err != nil {
		return fmt.Errorf("make the sample archive: %w", err)
	}
	log.Info("made the sample archive: " + inWords(made))
	return nil
}

// unlessMade ignores the error of a folder that another instance of the service has just created in
// the same empty archive.
func unlessMade(err error) error {
	if archive.KindOf(err) == archive.KindConflict {
		return nil
	}
	return err
}

func inWords(s sample.Summary) string {
	return fmt.Sprintf("%s, %s, %s, %s; %s", command.Plural(s.Mandators, "mandator"), command.Plural(s.Folders, "folder"),
		command.Plural(s.Inboxes, "inbox"), command.Plural(s.Documents, "document"), command.Size(s.Bytes))
}

// sampleTarget loads the sample into the server.
type sampleTarget struct{ *server.Server }

// AddDocument implements sample.Target.
func (t sampleTarget) AddDocument(ctx context.Context, d sample.Document, content io.Reader) (archive.ID, error) {
	return t.Server.AddDocument(ctx, server.NewDocument(d), content)
}
