package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/sirupsen/logrus"
	"github.com/urfave/cli/v2"

	"github.com/archivefs/archivefs/apiclient"
	"github.com/archivefs/archivefs/fs"
	"github.com/archivefs/archivefs/internal/config"
	"github.com/archivefs/archivefs/internal/doctor"
	"github.com/archivefs/archivefs/internal/spool"
)

func mountCommand() *cli.Command {
	return &cli.Command{
		Name:      "mount",
		Usage:     "mount the archive at MOUNTPOINT",
		ArgsUsage: "[PROFILE] [MOUNTPOINT]",
		Description: "Mounts the archive of the service at --base-url, or, without one, an archive of your own in\n" +
			"--data. When the mount is usable, one line on standard output says so. Ctrl-C unmounts and waits\n" +
			"for uploads; a second Ctrl-C does not wait, and what is left goes on at the next mount.\n\n" +
			"With --daemon the command ends when the mount is usable, and archivefs unmount ends the mount.\n" +
			"SIGHUP lets the mount ask for all that it knows of the archive anew.\n\n" +
			"   archivefs mount ~/Archive\n" +
			"   archivefs mount --base-url https://archive.example:8081 --user erika --password-file PW \\\n" +
			"       --api-key-file KEY ~/Archive\n\n" +
			"Every option can also be set in the environment, as ARCHIVEFS_BASE_URL for --base-url, as\n" +
			"-o base_url=URL, and in a configuration file, there also for a PROFILE: see archivefs config\n" +
			"--help. A profile that names its mount point needs no other: archivefs mount office.",
		Flags:        slices.Concat(mountFlags(), credentialFlags("send"), logFlags("debug")),
		OnUsageError: usageError,
		Action:       mount,
	}
}

// garbage is how much of the memory in use may be garbage before it is collected, in percent.
// A mount lasts for days and has little to do: half of what Go takes costs it hardly any time.
const garbage = 50

// mount is the command: it returns when the archive is unmounted again.
func mount(c *cli.Context) error {
	settings, err := readMount(c)
	if err != nil {
		return err
	}
	how := invocationOf(c.Context)
	switch {
	case how.fake:
		return nil
	case c.Bool("daemon") && how.given == nil:
		return goBackground(c, settings)
	}
	log, err := newLog(c)
	if err != nil {
		return err
	}
	if err := settings.prepareMountpoint(c.Context); err != nil {
		return err
	}
	if settings.fs.AllowOther {
		if err := mayLetOthersIn(os.Geteuid(), fuseConf); err != nil {
			return err
		}
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(garbage)
	}
	endProfiles, err := startProfiles(c)
	if err != nil {
		return err
	}
	s, err := openSession(c, settings, log)
	if err != nil {
		return errors.Join(err, endProfiles())
	}
	m, err := s.serve(c)
	return s.outcome(errors.Join(err, endProfiles(), s.end(m)))
}

// serve checks the service, mounts, and waits for the end. It returns the mount, nil where there was
// none.
func (s *session) serve(c *cli.Context) (*fs.Mount, error) {
	if err := s.fs.Check(c.Context); err != nil {
		return nil, s.unreachable(err)
	}
	if away := s.fs.Away(); away != nil {
		s.log.Warnf("the archive service at %s is away, so what is known of it here is shown until it answers: %s",
			s.client.BaseURL(), away.Text)
	}
	s.tellLeftBehind()
	s.fs.Recover()
	m, err := s.fs.Mount(s.settings.mountpoint)
	if err != nil {
		why := "a line of fusermount3 above, if there is one, says why"
		if errors.Is(err, fs.ErrNoHelper) {
			why = doctor.InstallHelper
		}
		return nil, fmt.Errorf("%s; %s", strings.Join(strings.Fields(err.Error()), " "), why) // its text may have line breaks
	}
	s.usable = true
	if err := s.dirs.MountedAt(m.Dir); err != nil {
		s.log.Warn(err)
	}
	if err := s.dirs.UsedAt(behindLinks(m.Dir)); err != nil {
		s.log.Debugf("unmount --force will not say what is left: %v", err)
	}
	if err := s.announce(c.App.Writer, m.Dir); err != nil {
		return m, err
	}
	defer abortOnWatchdog(m)()
	s.attend(c, m)
	return m, nil
}

// session is everything that one mount holds open.
type session struct {
	settings *mountSettings
	log      *logrus.Logger
	stderr   io.Writer
	fs       *fs.FileSystem
	spool    *spool.Spool
	client   clientCloser
	local    func(sha256 string) (path string) // where the embedded service keeps a content; nil without one
	dirs     *config.Dirs
	manager  *manager
	usable   bool // the mount came up

	background bool // it was started for the background
	detached   bool // and has left who started it
	attended   bool // a terminal belongs to it
	hangups    <-chan os.Signal
	closers    []func() error
}

type clientCloser interface {
	fs.Archive
	BaseURL() string
	SetCredentials(cred apiclient.Credentials) error
}

// later adds something to be closed; the last added is closed first.
func (s *session) later(f func() error) { s.closers = append(s.closers, f) }

func (s *session) closeStores() error {
	var all []error
	for i := len(s.closers) - 1; i >= 0; i-- {
		all = append(all, s.closers[i]())
	}
	return errors.Join(all...)
}
