// Package running is shared by the commands that keep running, mount and serve: the log, the
// service manager, metrics, and the first contents of an empty archive.
package running

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/syslog"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
	"github.com/coreos/go-systemd/v22/journal"
	"github.com/sirupsen/logrus"
	"github.com/urfave/cli/v2"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/cmd/archivefs/internal/command"
	"github.com/archivefs/archivefs/internal/config"
	"github.com/archivefs/archivefs/internal/metrics"
	"github.com/archivefs/archivefs/internal/sample"
	"github.com/archivefs/archivefs/internal/server"
)

// HearHangups returns a channel for SIGHUP, which asks for a reload. After that SIGHUP does not end the program.
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

// Look checks from time to time whether the program answers, for the watchdog of the service manager.
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
	return metrics.By(metrics.Gauge, "archivefs_build_info", "Always 1; the version is the label.", "version", map[string]int{version: 1})
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

// LogFlags are the options of the log; requests is the level of the line for each request.
func LogFlags(requests string) []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "log-level", EnvVars: command.Env("LOG_LEVEL"), Value: "info", Usage: "log from `LEVEL` on: error, warn, info or debug; each request from " + requests + " on"},
		&cli.StringFlag{Name: "log-format", EnvVars: command.Env("LOG_FORMAT"), Value: "text", Usage: "log as `FORMAT`: text, or json with one object per line"},
		&cli.StringFlag{Name: "log-file", EnvVars: command.Env("LOG_FILE"), TakesFile: true, Usage: "append to `FILE`; excludes --log-to"},
		&cli.StringFlag{Name: "log-to", EnvVars: command.Env("LOG_TO"), DefaultText: "stderr; in the background journal, or syslog where there is none", Usage: "log to `WHERE`: stderr, journal or syslog"},
	}
}

// The destinations of a log other than a file.
const (
	toStderr  = "stderr"
	toJournal = "journal"
	toSyslog  = "syslog"
)

// ReadLog reads the level and the format of the log.
func ReadLog(c *cli.Context) (level logrus.Level, format logrus.Formatter, err error) {
	if level, err = logrus.ParseLevel(c.String("log-level")); err != nil {
		return 0, nil, config.WrongOption("log-level", "%q is none of error, warn, info, debug", c.String("log-level"))
	}
	if to := c.String("log-to"); to != "" {
		if err := config.Choice("log-to", to, toStderr, toJournal, toSyslog); err != nil {
			return 0, nil, err
		}
		if c.String("log-file") != "" {
			return 0, nil, config.WrongTogether("%s and %s exclude each other", "log-to", "log-file")
		}
	}
	format = &logrus.TextFormatter{FullTimestamp: true, DisableColors: true}
	if c.String("log-format") == "json" {
		format = &logrus.JSONFormatter{}
	}
	return level, format, config.Choice("log-format", c.String("log-format"), "text", "json")
}

// NewLog returns the log of the options. Its file, if any, stays open until the process ends: an
// upload that outlasts --drain may still log.
func NewLog(c *cli.Context) (*logrus.Logger, error) {
	level, format, err := ReadLog(c)
	if err != nil {
		return nil, err
	}
	log := logrus.New()
	log.SetLevel(level)
	log.SetFormatter(format)
	log.SetOutput(c.App.ErrWriter)
	path := c.String("log-file")
	if path == "" {
		return log, logTo(log, c.String("log-to"), command.InvocationOf(c.Context).Given != nil)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600) //nolint:gosec // the user names it
	if err != nil {
		return nil, config.WrongOption("log-file", "%v", err)
	}
	log.SetOutput(f)
	return log, nil
}

// logTo sets the destination of a log: the one of the options, by default standard error, and in
// the background the first of journal and syslog that exists, else none.
func logTo(log *logrus.Logger, where string, background bool) error {
	switch {
	case where == toStderr && background:
		return config.WrongOption("log-to", "there is no stderr in the background; leave it out, or name a file with --log-file")
	case where == toStderr, where == "" && !background:
		return onStderr(log)
	case where == toJournal && !journal.Enabled():
		return errors.New("--log-to journal: there is no journal on this machine; name syslog, or a file with --log-file")
	case where == toJournal, where == "" && journal.Enabled():
		return toHook(log, func(level logrus.Level, text string) error {
			return journal.Send(text, priority(level), map[string]string{"SYSLOG_IDENTIFIER": "archivefs"})
		})
	}
	w, err := syslog.New(syslog.LOG_DAEMON|syslog.LOG_INFO, "archivefs")
	switch {
	case err == nil:
		return toHook(log, syslogEntry(w))
	case where == toSyslog:
		return fmt.Errorf("--log-to syslog: %w; name a file with --log-file", err)
	}
	log.SetOutput(io.Discard)
	return nil
}

// onStderr logs to standard error. If the journal reads that, lines have a priority and no time (sd-daemon(3)).
func onStderr(log *logrus.Logger) error {
	if isJournal, err := journal.StderrIsJournalStream(); err != nil || !isJournal {
		return nil // JOURNAL_STREAM is malformed
	}
	log.SetFormatter(forJournal{undated(log.Formatter)})
	return nil
}

// undated is a format without time, for a destination that adds it.
func undated(format logrus.Formatter) logrus.Formatter {
	if _, isJSON := format.(*logrus.JSONFormatter); isJSON {
		return &logrus.JSONFormatter{DisableTimestamp: true}
	}
	return sentence{}
}

// sentence formats an entry as its message, with its fields behind it.
type sentence struct{}

// Format implements logrus.Formatter.
func (sentence) Format(e *logrus.Entry) ([]byte, error) {
	text := e.Message
	for _, name := range slices.Sorted(maps.Keys(e.Data)) {
		text += fmt.Sprintf(" %s=%q", name, fmt.Sprint(e.Data[name]))
	}
	return []byte(text + "\n"), nil
}

// forJournal begins a line with its priority.
type forJournal struct{ logrus.Formatter }

// Format implements logrus.Formatter.
func (f forJournal) Format(e *logrus.Entry) ([]byte, error) {
	text, err := f.Formatter.Format(e)
	return append(fmt.Appendf(nil, "<%d>", priority(e.Level)), text...), err
}

// priority is a level as syslog(3) counts them.
func priority(level logrus.Level) journal.Priority {
	return [...]journal.Priority{
		logrus.PanicLevel: journal.PriCrit, logrus.FatalLevel: journal.PriCrit, logrus.ErrorLevel: journal.PriErr,
		logrus.WarnLevel: journal.PriWarning, logrus.InfoLevel: journal.PriInfo, logrus.DebugLevel: journal.PriDebug, logrus.TraceLevel: journal.PriDebug,
	}[level]
}

// hook sends entries to another destination than the output.
type hook struct {
	format logrus.Formatter
	send   func(level logrus.Level, text string) error
}

func toHook(log *logrus.Logger, send func(logrus.Level, string) error) error {
	log.AddHook(hook{undated(log.Formatter), send})
	log.SetOutput(io.Discard)
	return nil
}

// Levels implements logrus.Hook.
func (hook) Levels() []logrus.Level { return logrus.AllLevels }

// Fire implements logrus.Hook.
func (h hook) Fire(e *logrus.Entry) error {
	text, err := h.format.Format(e)
	if err != nil {
		return err
	}
	return h.send(e.Level, string(text[:len(text)-1])) // the format ends with a newline
}

func syslogEntry(w *syslog.Writer) func(logrus.Level, string) error {
	return func(level logrus.Level, text string) error {
		switch priority(level) {
		case journal.PriErr, journal.PriCrit:
			return w.Err(text)
		case journal.PriWarning:
			return w.Warning(text)
		case journal.PriInfo:
			return w.Info(text)
		}
		return w.Debug(text)
	}
}
