package main

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/archivefs/archivefs/cmd/archivefs/internal/mounted"
	"github.com/archivefs/archivefs/cmd/archivefs/internal/running"
	"github.com/archivefs/archivefs/internal/testing/fusetest"
)

// listener is a service manager. It reads all that it is told, as a program that tells more than the socket holds waits.
type listener struct {
	t    *testing.T
	told chan string
}

// newListener makes a service manager that starts the programs of the test.
func newListener(t *testing.T) *listener {
	t.Helper()
	dir, err := os.MkdirTemp("", "n") //nolint:usetesting // the path of a socket is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	path := filepath.Join(dir, "notify")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	t.Setenv("NOTIFY_SOCKET", path)
	l := &listener{t, make(chan string, 1<<12)}
	go func() {
		defer close(l.told)
		for buf := make([]byte, 1<<16); ; {
			n, err := conn.Read(buf)
			if err != nil {
				return
			}
			l.told <- string(buf[:n])
		}
	}()
	return l
}

// hears waits for a message with all of these in it, and returns it.
func (l *listener) hears(want ...string) string {
	l.t.Helper()
	limit := time.After(time.Minute)
	for {
		select {
		case text := <-l.told:
			if !slices.ContainsFunc(want, func(w string) bool { return !strings.Contains(text, w) }) {
				return text
			}
		case <-limit:
			l.t.Fatalf("no message with %q", want)
		}
	}
}

// A mount that cannot start says why at once, and ends later, so that the service manager, which
// starts a mount that crashed again at once, does not ask the service all the time.
func TestMountThatCannotStartKeepsTheServiceManager(t *testing.T) {
	isolate(t)
	newListener(t)
	p := start(t, "mount", "--base-url", refusing(t), "--api-key", "k", t.TempDir())
	p.says("check the API key")
	p.signal(syscall.SIGTERM) // it has not ended
	p.wantExit(1)
	if said := p.said(); strings.Count(said, "archivefs: ") != 1 {
		t.Errorf("said %q", said)
	}
}

func TestMountTellsTheServiceManager(t *testing.T) {
	l := newListener(t)
	b := newBusy(t, nil, "a.txt")
	l.hears("READY=1", "STATUS=mounted at "+b.dir)
	l.hears("STATUS=mounted at " + b.dir + "; 1 upload, 9 B to be archived")
	b.program.signal(syscall.SIGTERM)
	l.hears("STOPPING=1")
	l.hears("STATUS=waiting for 1 upload, 9 B")
	b.gate.open()
	b.program.wantExit(0)
}

func TestServiceManagerHearsOfAnUnmount(t *testing.T) {
	l := newListener(t)
	b := newBusy(t, nil)
	l.hears("READY=1")
	start(t, "unmount", b.dir).wantExit(0)
	l.hears("STOPPING=1")
	b.program.wantExit(0)
}

func TestServeTellsTheServiceManager(t *testing.T) {
	isolate(t)
	l := newListener(t)
	t.Setenv("WATCHDOG_USEC", "300000")
	o := startOffice(t)
	l.hears("READY=1", "STATUS=serving at "+o.address())
	l.hears("WATCHDOG=1")
	o.running.stop()
	l.hears("STOPPING=1")
}

// The watchdog hears of the mount as long as that answers.
func TestWatchdog(t *testing.T) {
	l := newListener(t)
	t.Setenv("WATCHDOG_USEC", "300000")
	b := newBusy(t, nil)
	for range 3 {
		l.hears("WATCHDOG=1")
	}
	b.program.stop()
}

func TestLookAtWhatDoesNotAnswer(t *testing.T) {
	nothing := filepath.Join(t.TempDir(), "nothing")
	l := running.NewLook(func() error { return mounted.Answers(nothing) }, time.Millisecond)
	defer l.End()
	<-l.Due
	l.Begin()
	l.Begin() // no second one beside the first
	if err := <-l.Answer; err == nil {
		t.Error("what is not there answers")
	}
	select {
	case err := <-l.Answer:
		t.Errorf("a second answer: %v", err)
	default:
	}
	if l := running.NewLook(nil, 0); l.Due != nil {
		t.Error("somebody looks although nobody waits for it")
	}
}

// caretaker stands before an archive service and wants the password that it has.
type caretaker struct {
	url      string
	password atomic.Value // a string
}

func newCaretaker(t *testing.T, service, key, password string) *caretaker {
	t.Helper()
	target, err := url.Parse(strings.TrimSuffix(service, "/api/v2"))
	if err != nil {
		t.Fatal(err)
	}
	c := &caretaker{}
	c.password.Store(password)
	through := httputil.NewSingleHostReverseProxy(target)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, got, _ := r.BasicAuth(); got != c.password.Load() {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		r.Header.Del("Authorization")
		r.Header.Set("API-Key", key)
		through.ServeHTTP(w, r)
	}))
	t.Cleanup(web.Close)
	c.url = web.URL + "/api/v2"
	return c
}

// SIGHUP asks for the archive, the password and the level of the log anew.
func TestHangup(t *testing.T) {
	fusetest.Need(t)
	home := isolate(t)
	l := newListener(t)
	o := startOffice(t)
	l.hears("READY=1")
	key, err := os.ReadFile(filepath.Join(o.data, "api-key"))
	if err != nil {
		t.Fatal(err)
	}
	c := newCaretaker(t, o.url, strings.TrimSpace(string(key)), "p-alt")
	password, dir := filepath.Join(home, "password"), t.TempDir()
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(password, "p-alt\n")
	profile := fmt.Sprintf("[profile.office]\nbase-url = %q\nuser = \"erika\"\napi-key-file = %q\npassword-file = %q\nttl = \"1h\"\nmountpoint = %q\n",
		c.url, filepath.Join(o.data, "api-key"), password, dir)
	configure(t, home, profile)
	unmountAtEnd(t, dir)
	m := start(t, "mount", "office")
	m.line("mounted " + c.url + " at " + dir)
	l.hears("READY=1")
	wantEntries(t, filepath.Join(dir, "My Archive"), "")

	other := t.TempDir()
	by := o.mount(other, filepath.Join(t.TempDir(), "state"))
	if err := os.Mkdir(filepath.Join(other, "My Archive", "New"), 0o700); err != nil {
		t.Fatal(err)
	}
	by.stop()
	wantEntries(t, filepath.Join(dir, "My Archive"), "") // for an hour
	c.password.Store("p-neu")
	write(password, "p-neu\n")
	configure(t, home, profile+"log-level = \"debug\"\n")
	m.signal(syscall.SIGHUP)
	l.hears("RELOADING=1", "\nMONOTONIC_USEC=")
	l.hears("READY=1", "STATUS=mounted at "+dir)
	wantEntries(t, filepath.Join(dir, "My Archive"), "New")
	m.says("all that was known of the archive is asked for anew")
	m.says("level=debug")

	configure(t, home, "[profile.office]\nttl = \"long\"\n")
	m.signal(syscall.SIGHUP)
	m.says("options and credentials stay as they are: ")
	l.hears("READY=1")
	m.stop()
	if said := m.said(); strings.Contains(said, "p-neu") || strings.Contains(said, "p-alt") {
		t.Errorf("a secret shows in %q", said)
	}
}
