package main

import (
	"os"

	"github.com/sirupsen/logrus"
	"github.com/urfave/cli/v2"

	"github.com/archivefs/archivefs/internal/config"
)

// logFlags are the options of the log; requests is the level at which each request has a line.
func logFlags(requests string) []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{
			Name: "log-level", Value: "info", EnvVars: env("LOG_LEVEL"),
			Usage: "log from `LEVEL` on: error, warn, info or debug; each request from " + requests + " on",
		},
		&cli.StringFlag{
			Name: "log-format", Value: "text", EnvVars: env("LOG_FORMAT"),
			Usage: "log as `FORMAT`: text, or json with one object per line",
		},
		&cli.StringFlag{
			Name: "log-file", EnvVars: env("LOG_FILE"), TakesFile: true,
			Usage: "append to `FILE`; excludes --log-to",
		},
		&cli.StringFlag{
			Name: "log-to", EnvVars: env("LOG_TO"), DefaultText: "stderr; in the background journal, or syslog where there is none",
			Usage: "log to `WHERE`: stderr, journal or syslog",
		},
	}
}

// env is the name of an option in the environment.
func env(name string) []string { return []string{"ARCHIVEFS_" + name} }

// The places of a log that are no files.
const (
	toStderr  = "stderr"
	toJournal = "journal"
	toSyslog  = "syslog"
)

// readLog reads from which level on and how the log is written.
func readLog(c *cli.Context) (level logrus.Level, format logrus.Formatter, err error) {
	if level, err = logrus.ParseLevel(c.String("log-level")); err != nil {
		return 0, nil, config.Usagef("--log-level: %q is none of error, warn, info, debug", c.String("log-level"))
	}
	switch to := c.String("log-to"); to {
	case "", toStderr, toJournal, toSyslog:
		if to != "" && c.String("log-file") != "" {
			return 0, nil, config.Usagef("--log-to and --log-file exclude each other")
		}
	default:
		return 0, nil, config.Usagef("--log-to: %q is none of stderr, journal, syslog", to)
	}
	switch c.String("log-format") {
	case "text":
		format = &logrus.TextFormatter{FullTimestamp: true, DisableColors: true}
	case "json":
		format = &logrus.JSONFormatter{}
	default:
		return 0, nil, config.Usagef("--log-format: %q is neither text nor json", c.String("log-format"))
	}
	return level, format, nil
}

// newLog makes the log that the options ask for. The file, if any, is closed by the end of the
// process alone: until then an upload that outlasts --drain may log something.
func newLog(c *cli.Context) (*logrus.Logger, error) {
	level, format, err := readLog(c)
	if err != nil {
		return nil, err
	}
	log := logrus.New()
	log.SetLevel(level)
	log.SetFormatter(format)
	log.SetOutput(c.App.ErrWriter)
	path := c.String("log-file")
	if path == "" {
		return log, logTo(log, c.String("log-to"), invocationOf(c.Context).given != nil)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600) //nolint:gosec // the user names it
	if err != nil {
		return nil, config.Usagef("--log-file: %v", err)
	}
	log.SetOutput(f)
	return log, nil
}
