package running

import (
	"errors"
	"fmt"
	"io"
	"log/syslog"
	"maps"
	"os"
	"slices"

	"github.com/coreos/go-systemd/v22/journal"
	"github.com/sirupsen/logrus"
	"github.com/urfave/cli/v2"

	"github.com/archivefs/archivefs/cmd/archivefs/internal/command"
	"github.com/archivefs/archivefs/internal/config"
)

// LogFlags are the options of the log; requests is the level of the line for each request.
func LogFlags(requests string) []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{
			Name: "log-level", Value: "info", EnvVars: command.Env("LOG_LEVEL"),
			Usage: "log from `LEVEL` on: error, warn, info or debug; each request from " + requests + " on",
		},
		&cli.StringFlag{
			Name: "log-format", Value: "text", EnvVars: command.Env("LOG_FORMAT"),
			Usage: "log as `FORMAT`: text, or json with one object per line",
		},
		&cli.StringFlag{
			Name: "log-file", EnvVars: command.Env("LOG_FILE"), TakesFile: true,
			Usage: "append to `FILE`; excludes --log-to",
		},
		&cli.StringFlag{
			Name: "log-to", EnvVars: command.Env("LOG_TO"), DefaultText: "stderr; in the background journal, or syslog where there is none",
			Usage: "log to `WHERE`: stderr, journal or syslog",
		},
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
	switch to := c.String("log-to"); to {
	case "", toStderr, toJournal, toSyslog:
		if to != "" && c.String("log-file") != "" {
			return 0, nil, config.WrongTogether("%s and %s exclude each other", "log-to", "log-file")
		}
	default:
		return 0, nil, config.WrongOption("log-to", "%q is none of stderr, journal, syslog", to)
	}
	switch c.String("log-format") {
	case "text":
		format = &logrus.TextFormatter{FullTimestamp: true, DisableColors: true}
	case "json":
		format = &logrus.JSONFormatter{}
	default:
		return 0, nil, config.WrongOption("log-format", "%q is neither text nor json", c.String("log-format"))
	}
	return level, format, nil
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
		return toHook(log, journalEntry)
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

// onStderr logs to standard error. If the journal reads that, lines have a priority and no time
// (sd-daemon(3)).
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
	switch level {
	case logrus.PanicLevel, logrus.FatalLevel:
		return journal.PriCrit
	case logrus.ErrorLevel:
		return journal.PriErr
	case logrus.WarnLevel:
		return journal.PriWarning
	case logrus.InfoLevel:
		return journal.PriInfo
	case logrus.DebugLevel, logrus.TraceLevel:
	}
	return journal.PriDebug
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

func journalEntry(level logrus.Level, text string) error {
	return journal.Send(text, priority(level), map[string]string{"SYSLOG_IDENTIFIER": "archivefs"})
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
