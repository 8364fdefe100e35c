package mount

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"

	"github.com/archivefs/archivefs/apiclient"
	"github.com/archivefs/archivefs/cache"
	"github.com/archivefs/archivefs/cmd/archivefs/internal/command"
	"github.com/archivefs/archivefs/cmd/archivefs/internal/mounted"
	"github.com/archivefs/archivefs/cmd/archivefs/internal/running"
	"github.com/archivefs/archivefs/cmd/archivefs/internal/settings"
	"github.com/archivefs/archivefs/fs"
	"github.com/archivefs/archivefs/internal/config"
	"github.com/archivefs/archivefs/internal/doctor"
	"github.com/archivefs/archivefs/internal/server"
	"github.com/archivefs/archivefs/internal/spool"
	"github.com/archivefs/archivefs/internal/state"
)

// session is everything that a mount holds open.
type session struct {
	settings *settings.Mount
	log      *logrus.Logger
	stderr   io.Writer
	fs       *fs.FileSystem
	spool    *spool.Spool
	client   *apiclient.Client
	local    func(sha256 string, later bool) (path string) // the embedded service's file of a content; nil for another service
	dirs     *config.Dirs
	identity string       // to which dirs are bound
	known    *cache.Known // nil for the embedded service
	renewed  time.Time    // when dirs went on under a renewed API key; zero if they did not
	manager  *running.Manager
	usable   bool // the mount was usable

	lacks func(id, path, reason string) // tells the person at the desktop of a file that is not archived

	stale bool // a mount that crashed is still at the mount point

	background bool // started as a background process
	detached   bool // and detached from its caller
	attended   bool // it has a terminal
	hangups    <-chan os.Signal
	closers    []func() error
}

// openSession opens everything that a mount needs, without mounting. After a failure it closes what it opened.
func openSession(c *cli.Context, settings *settings.Mount, log *logrus.Logger, stale bool) (*session, error) {
	background := command.InvocationOf(c.Context).Given != nil
	s := &session{
		settings: settings, log: log, stderr: c.App.ErrWriter, manager: &running.Manager{Log: log},
		stale: stale, background: background, attended: running.HasTerminal(), hangups: running.HearHangups(background),
	}
	if err := s.open(c.Context); err != nil {
		return nil, errors.Join(err, s.closeStores())
	}
	return s, nil
}

func (s *session) open(ctx context.Context) error {
	err := s.openService(ctx)
	if err != nil {
		return err
	}
	o := s.settings.Fs
	if !s.settings.Embedded {
		o.Cure = fmt.Sprintf("put valid credentials where it has them from (archivefs login, or a file), then kill -HUP %d; archivefs uploads retry %s sends what failed",
			os.Getpid(), doctor.Quoted(s.settings.Mountpoint))
	}
	o.Herald = s.herald
	if s.settings.People != nil {
		o.People = s.client
		if err := s.setPeople(ctx, s.settings.People, s.settings.Client.Credentials); err != nil {
			return err
		}
	}
	if s.settings.Embedded {
		o.Watch = 0 // nobody else changes its archive
	}
	o.Archive, o.Log, o.Source, o.Version = s.client, s.log, s.client.BaseURL(), command.Version()
	o.PID, o.StateDir, o.Sleep = os.Getpid(), s.dirs.State, s.client.Sleep
	diskFailed := func(error) {}
	s.lacks = func(_, _, _ string) {}
	if n := s.notifier(o.Cure); n != nil { //nolint:contextcheck // it ends with the session
		o.Notifier, diskFailed, s.lacks = n, n.DiskFailed, n.UploadFailed
	}
	if o.Content, err = cache.OpenContent(cache.Options{
		Dir: filepath.Join(s.dirs.Cache, "content"), Limit: s.settings.CacheSize, Local: s.local, Log: s.log, Sleep: s.client.Sleep,
	}); err != nil {
		return fmt.Errorf("open content cache: %w", err)
	}
	s.later(o.Content.Close)
	if o.Facts, err = cache.OpenFacts(filepath.Join(s.dirs.Cache, "facts.db")); err != nil {
		return fmt.Errorf("open learned sizes: %w", err)
	}
	s.later(o.Facts.Close)
	if !s.settings.Embedded { // the embedded service is never away
		if o.Known, err = cache.OpenKnown(filepath.Join(s.dirs.Cache, "known.db"), s.log); err != nil {
			return err
		}
		s.known = o.Known
		s.later(o.Known.Close)
		s.client.Expect(o.Known.HasTop)
		if s.stale && o.Known.HasTop() {
			s.client.Doubt() // those who used the mount that crashed wait for the next, which has something to show
		}
	}
	o.Spill = cache.NewSpill(s.dirs.Cache, listingMemory, s.log)
	if o.State, err = state.Open(filepath.Join(s.dirs.State, "state.db")); err != nil {
		return err
	}
	s.later(o.State.Close)
	if o.Spool, err = spool.Open(spool.Options{
		Dir: mounted.SpoolOf(s.dirs.State), Receipts: mounted.ReceiptsOf(s.dirs.State),
		Budget: s.settings.SpoolSize, Reserve: s.settings.KeepFree, MakeRoom: s.roomMaker(o.Content), DiskFailed: diskFailed,
		Log: s.log, RetryFor: o.RetryFor, LateBy: s.settings.Client.Stall, Fault: mounted.SpoolFault(), Boot: mounted.MachineRun(),
		JournalSize: mounted.JournalSize(), Sleep: s.client.Sleep, Early: o.Async,
	}); err != nil {
		return fmt.Errorf("open spool: %w", err)
	}
	s.later(o.Spool.Close)
	s.fs, s.spool = fs.New(o), o.Spool //nolint:contextcheck // what it prefetches ends with the mount
	s.fs.Renewed(s.renewed)
	return s.showMetrics(ctx)
}

// setPeople reads the credentials of the users of the mount. own are those of the mount.
func (s *session) setPeople(ctx context.Context, people *settings.People, own apiclient.Credentials) error {
	all, err := people.Resolve(ctx, own, s.client.BaseURL())
	if err != nil {
		return err
	}
	return s.client.SetPeople(all)
}

// listingMemory bounds the memory of packed listings, which take some 100 bytes for each document.
const listingMemory = 256 << 20

// openDirs opens the state directories of the archive with that identity.
func (s *session) openDirs(ctx context.Context, identity string) (err error) {
	if s.dirs, err = s.openEarlier(ctx, identity); s.dirs == nil && err == nil {
		s.dirs, err = takeOver(ctx, s.stderr, func() (*config.Dirs, error) { return config.OpenDirs(s.settings.StateDir, identity) })
	}
	if err != nil {
		return err
	}
	s.identity = identity
	s.later(func() error {
		if s.usable {
			return s.dirs.Close()
		}
		return s.dirs.Discard() // of a mount that never was usable, for instance with a wrong key
	})
	if err := s.dirs.UsedFor(s.settings.Profile); err != nil {
		s.log.Debugf("a renewed key may be that of another profile: %v", err)
	}
	return nil
}

// roomMaker lets the spool evict contents from the cache: nil if that is on another disk.
func (s *session) roomMaker(content *cache.Content) func(int64) bool {
	var cached, state unix.Stat_t
	if unix.Stat(s.dirs.Cache, &cached) != nil || unix.Stat(s.dirs.State, &state) != nil || cached.Dev != state.Dev {
		return nil
	}
	return content.Free
}

// openService opens the directories of the archive, makes the client of the service, and starts the
// embedded one, whose data another mount may have until it has left the directories.
func (s *session) openService(ctx context.Context) error {
	if s.settings.Embedded {
		data, err := config.DataDir(s.settings.Data)
		if err != nil {
			return err
		}
		if err := s.openDirs(ctx, "embedded:"+data); err != nil {
			return err
		}
		e, err := startEmbedded(ctx, data, s.settings.Sample, s.log)
		if err != nil {
			return err
		}
		s.later(e.stop)
		s.local = e.server.ContentFile
		s.settings.Client.Proxy = apiclient.ProxyNone
		return s.openClient(e.url, e.credentials)
	}
	if err := s.openClient(s.settings.Client.BaseURL, s.settings.Client.Credentials); err != nil {
		return err
	}
	return s.openDirs(ctx, s.settings.BoundTo(s.client.BaseURL()))
}

// openClient makes the client of a service.
func (s *session) openClient(url string, cred apiclient.Credentials) error {
	cfg := s.settings.Client
	cfg.Log, cfg.BaseURL, cfg.Credentials = s.log, url, cred
	client, err := apiclient.New(cfg)
	if err != nil {
		return settings.WrongSetting(err)
	}
	s.later(func() error {
		client.Close()
		return nil
	})
	s.client = client
	return nil
}

// later adds something to close; the last added is closed first.
func (s *session) later(f func() error) { s.closers = append(s.closers, f) }

func (s *session) closeStores() error {
	var all []error
	for i := len(s.closers) - 1; i >= 0; i-- {
		all = append(all, s.closers[i]())
	}
	return errors.Join(all...)
}

// unreachable says what to do if the first request failed, and what waits meanwhile.
func (s *session) unreachable(err error, waiting string) error {
	base := s.client.BaseURL()
	return fmt.Errorf("cannot use the archive service at %s: %w; %s", base, err, command.Join(doctor.Cure(base, err), waiting))
}

// warn tells the log of something, and whoever typed --daemon, as long as the mount begins.
func (s *session) warn(format string, args ...any) {
	s.log.Warnf(format, args...)
	if s.background {
		command.Say(s.stderr, format, args...)
	}
}

// tellLeftBehind warns of pending uploads for the service in other state directories: this mount does not send them.
func (s *session) tellLeftBehind() {
	if s.settings.Embedded {
		return // its archive has one directory
	}
	for _, l := range mounted.LeftBehindAt(s.client.BaseURL(), s.dirs.State) {
		s.warn("%s; %s", l.InWords(), command.Join(mounted.Reach(l.State), mounted.ByWord(&l.Bound)))
	}
}

// waiting describes pending uploads in the state directory of a mount that fails to start, empty if there are none.
func (s *session) waiting() string {
	left := s.spool.Left()
	n := left.Failed + left.Pending
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%s in %s; %s", command.Doing(n, "upload", "waits", "wait"), s.dirs.State, mounted.Reach(s.dirs.State))
}

// embedded is the archive service inside the process of a mount, on loopback, with a key
// that lives as long as the process.
type embedded struct {
	url         string
	credentials apiclient.Credentials
	cancel      context.CancelFunc
	served      chan error
	server      *server.Server
}

// startEmbedded opens the archive in data and serves it.
func startEmbedded(ctx context.Context, data string, withSample bool, log logrus.FieldLogger) (*embedded, error) {
	key := rand.Text()
	// The service logs nothing: the client logs the same requests.
	srv, err := server.Open(ctx, server.Options{Data: data, Credentials: server.Credentials{APIKey: key}})
	if err != nil {
		return nil, fmt.Errorf("open embedded archive: %w", err)
	}
	if err := running.Fill(ctx, srv, withSample, log); err != nil {
		_ = srv.Close() // the first error says more
		return nil, err
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // on loopback it does not wait
	if err != nil {
		_ = srv.Close() // the first error says more
		return nil, fmt.Errorf("serve embedded archive: %w", err)
	}
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	e := &embedded{
		url: "http://" + ln.Addr().String() + "/api/v2", cancel: cancel, server: srv,
		credentials: apiclient.Credentials{APIKey: key}, served: make(chan error, 1),
	}
	go func() { e.served <- srv.Serve(running, ln) }()
	return e, nil
}

// stop stops the service after the requests in flight.
func (e *embedded) stop() error {
	e.cancel()
	if err := <-e.served; err != nil {
		return fmt.Errorf("embedded archive: %w", err)
	}
	if err := e.server.Close(); err != nil {
		return fmt.Errorf("close embedded archive: %w", err)
	}
	return nil
}
