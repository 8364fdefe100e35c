package fs_test

import (
	"context"
	"errors"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/sirupsen/logrus"
	"golang.org/x/sys/unix"

	"github.com/archivefs/archivefs/apiclient"
	"github.com/archivefs/archivefs/cache"
	"github.com/archivefs/archivefs/fs"
	"github.com/archivefs/archivefs/internal/spool"
	"github.com/archivefs/archivefs/internal/state"
	"github.com/archivefs/archivefs/internal/testing/fusetest"
	"github.com/archivefs/archivefs/internal/testing/hostile"
)

// Tests that mount run in parallel, except those that start programs: a starting program has every
// file of this process open for a moment, so that no close in that moment is the last. Tests that
// count open files of the process are not parallel either.

// mounted is a file system mounted for a test, on a service of the test's own.
type mounted struct {
	t       testing.TB
	dir     string // the mount point
	state   string // state directory
	baseURL string
	cred    apiclient.Credentials
	tweak   func(*fs.Options)
	retry   time.Duration    // how long a change is tried
	folder  string           // that alone is shown; empty: all
	stall   time.Duration    // how long a request may make no progress; 0: as usual
	clock   func() time.Time // of the spool; nil: the machine's
	fault   func(spool.Point) error
	fs      *fs.FileSystem
	mount   *fs.Mount
	close   []func() error
}

// mount mounts the archive at baseURL until the test ends. With tweak the options are
// changed before.
func mount(t testing.TB, baseURL string, cred apiclient.Credentials, tweak func(*fs.Options)) *mounted {
	t.Helper()
	m := &mounted{baseURL: baseURL, cred: cred, tweak: tweak}
	m.begin(t)
	return m
}

// begin is mount for one that has all that its spool depends on.
func (m *mounted) begin(t testing.TB) {
	t.Helper()
	fusetest.Need(t)
	m.t, m.state, m.retry = t, t.TempDir(), 200*time.Millisecond
	m.dir = filepath.Join(t.TempDir(), "mnt")
	must(t, os.Mkdir(m.dir, 0o700))
	t.Cleanup(m.unmount)
	m.remount()
}

// tries sets how long changes are retried.
func (m *mounted) tries(d time.Duration) {
	m.t.Helper()
	m.retry = d
	m.remount()
}

// logSize is the size of redo logs in bytes.
const logSize = 4 << 20

// remount mounts again with the state that the last mount left.
func (m *mounted) remount() {
	m.t.Helper()
	m.unmount()
	must(m.t, m.open())
}

// open mounts. Its error is that of the check: the archive cannot be mounted.
func (m *mounted) open() error {
	m.t.Helper()
	log := logrus.New()
	log.SetOutput(io.Discard)
	if testing.Verbose() {
		log.SetOutput(m.t.Output())
		log.SetLevel(logrus.DebugLevel)
	}
	client := get(apiclient.New(apiclient.Config{
		BaseURL: m.baseURL, Credentials: m.cred, RetryFor: m.retry, Stall: m.stall, Location: time.UTC, Log: log,
	}))(m.t)
	m.close = append(m.close, func() error { client.Close(); return nil })
	o := fs.Options{
		Archive: client, Log: log, Source: client.BaseURL(), Version: "test", TTL: time.Minute,
		RetryFor: m.retry, Umask: 0o077, UID: uint32(os.Getuid()), GID: uint32(os.Getgid()),
	}
	o.Content = get(cache.OpenContent(cache.Options{Dir: filepath.Join(m.state, "content"), Limit: 1 << 30, Log: log}))(m.t)
	m.close = append(m.close, o.Content.Close)
	o.Facts = get(cache.OpenFacts(filepath.Join(m.state, "facts.db")))(m.t)
	m.close = append(m.close, o.Facts.Close)
	o.Known = get(cache.OpenKnown(filepath.Join(m.state, "known.db"), log))(m.t)
	m.close = append(m.close, o.Known.Close)
	client.Expect(o.Known.HasTop)
	o.State = get(state.Open(filepath.Join(m.state, "state.db")))(m.t)
	m.close = append(m.close, o.State.Close)
	o.Spool = get(spool.Open(spool.Options{Dir: filepath.Join(m.state, "spool"), Log: log, RetryFor: o.RetryFor, Now: m.clock, Fault: m.fault, JournalSize: logSize}))(m.t)
	m.close = append(m.close, o.Spool.Close)
	o.Near = -1 // on a busy machine tests would count a request more
	if m.tweak != nil {
		m.tweak(&o)
	}
	m.fs = fs.New(o)
	if err := m.fs.Check(m.t.Context()); err != nil {
		return err
	}
	if err := m.fs.BeginAt(m.t.Context(), m.folder); err != nil {
		return err
	}
	m.fs.Recover()
	m.mount = get(m.fs.Mount(m.dir))(m.t)
	m.settle()
	return nil
}

// settle makes the kernel learn that files of the mount cannot be polled (POLL is ENOSYS).
// Otherwise Go would poll, and block a thread that this process may need to answer. The library has
// a special name for that.
func (m *mounted) settle() {
	m.t.Helper()
	fd := get(unix.Open(m.path(".go-fuse-epoll-hack"), unix.O_RDONLY|unix.O_CLOEXEC, 0))(m.t)
	get(unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN | unix.POLLOUT}}, 0))(m.t)
	must(m.t, unix.Close(fd))
}

// unmount ends the mount, if there is one, and fails the test if anything remains.
func (m *mounted) unmount() {
	m.t.Helper()
	if m.mount != nil {
		if err := m.mount.Unmount(time.Minute); err != nil {
			m.t.Errorf("unmount: %v", err)
			_ = exec.CommandContext(context.Background(), "fusermount3", "-uz", m.dir).Run() // the test has failed already
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := m.fs.Close(ctx); err != nil {
			m.t.Errorf("close: %v", err)
		}
		m.mount = nil
	}
	for i := len(m.close) - 1; i >= 0; i-- {
		if err := m.close[i](); err != nil {
			m.t.Errorf("close: %v", err)
		}
	}
	m.close = nil
}

// path returns a path in the mount.
func (m *mounted) path(elem ...string) string {
	return filepath.Join(append([]string{m.dir}, elem...)...)
}

// uploads lists the files that are not archived.
func (m *mounted) uploads() []fs.UploadInfo { return m.fs.Status().Uploads.List }

// smallSpool is a spool of two megabytes.
func smallSpool(t testing.TB, o *fs.Options) *spool.Spool {
	t.Helper()
	s := get(spool.Open(spool.Options{Dir: filepath.Join(t.TempDir(), "small"), Budget: 2 << 20, RetryFor: o.RetryFor}))(t)
	t.Cleanup(func() { must(t, s.Close()) })
	return s
}

// get returns a function that takes the test and returns the value of a call that must not fail.
func get[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		must(t, err)
		return v
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// wantErrno fails the test unless err is the errno.
func wantErrno(t testing.TB, what string, err error, want syscall.Errno) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: %v, want %v", what, err, want)
	}
}

// foreign is a hostile service with the same small archive.
type foreign struct {
	*hostile.Service
	url                             string
	cred                            apiclient.Credentials
	mandator, bills, letters, inbox int64
}

func newForeign(t testing.TB, cfg hostile.Config) *foreign {
	t.Helper()
	f := &foreign{Service: hostile.New(cfg)}
	f.cred = apiclient.Credentials(cfg.Credentials)
	if f.cred == (apiclient.Credentials{}) {
		f.cred.APIKey = "key-of-the-test"
	}
	f.mandator = f.AddMandator("Muster GmbH")
	f.bills = f.AddFolder(f.mandator, "Rechnungen")
	f.letters = f.AddFolder(f.mandator, "Briefe")
	f.inbox = f.AddInbox(1, "Administrator")
	f.url = f.Start(t)
	t.Cleanup(func() {
		for _, v := range f.Violations() {
			t.Errorf("not as the specification says: %s", v)
		}
	})
	return f
}

func (f *foreign) mount(t testing.TB, tweak func(*fs.Options)) *mounted {
	t.Helper()
	return mount(t, f.url, f.cred, tweak)
}

// form is a form field of a request, "" when it is absent.
func form(v url.Values, name string) string { return v.Get(name) }
