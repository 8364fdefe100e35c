package main

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/pkg/xattr"

	"github.com/archivefs/archivefs/apiclient"
	"github.com/archivefs/archivefs/cmd/archivefs/internal/mounted"
	"github.com/archivefs/archivefs/internal/config"
	"github.com/archivefs/archivefs/internal/doctor"
	"github.com/archivefs/archivefs/internal/testing/fusetest"
	"github.com/archivefs/archivefs/internal/testing/hostile"
	"github.com/archivefs/archivefs/internal/testing/loopback"
)

// keyService is a service that shows each API key what it may see, at one address.
type keyService struct {
	t       *testing.T
	address string
	server  *http.Server // nil while nothing listens

	mu   sync.Mutex
	sees map[string]*hostile.Service // by key; guarded by mu
	sent []string                    // the keys of uploads; guarded by mu
}

// ServeHTTP implements http.Handler.
func (k *keyService) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	key := r.Header.Get("API-Key")
	k.mu.Lock()
	sees := k.sees[key]
	if sees != nil && strings.HasSuffix(r.URL.Path, "/file-upload") {
		k.sent = append(k.sent, key)
	}
	k.mu.Unlock()
	if sees == nil {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	sees.ServeHTTP(w, r)
}

// set says what keys see from now on.
func (k *keyService) set(sees map[string]*hostile.Service) {
	k.t.Helper()
	k.mu.Lock()
	k.sees = sees
	k.mu.Unlock()
	if k.server != nil {
		return
	}
	ln, err := new(net.ListenConfig).Listen(k.t.Context(), "tcp", k.address)
	if err != nil {
		k.t.Fatal(err)
	}
	k.address, k.server = ln.Addr().String(), &http.Server{Handler: k, ReadHeaderTimeout: time.Minute}
	go k.server.Serve(ln) //nolint:errcheck // it ends with leave
}

// leave ends the service: nothing listens any more.
func (k *keyService) leave() {
	if k.server != nil {
		_ = k.server.Close() // also the connections
		k.server = nil
	}
}

func (k *keyService) uploads() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.sent)
}

// seen is what a user with that inbox sees of an archive whose only mandator has a document of that name.
func seen(t *testing.T, mandator, inbox string, user int64, document string) *hostile.Service {
	t.Helper()
	s := hostile.New(hostile.Config{})
	t.Cleanup(s.Close)
	letters := s.AddFolder(s.AddMandator(mandator), "Briefe")
	box := s.AddInbox(user, inbox)
	s.AddDocument(letters, hostile.Document{Name: document, Content: []byte("Brief"), Archived: time.Date(2024, 1, 2, 3, 4, 5, 0, time.UTC)})
	s.AddDocument(box, hostile.Document{Name: "scan.txt", Content: []byte("Scan")})
	return s
}

// lettersOf is the only folder of what a user sees.
func lettersOf(s *hostile.Service) (names []string) {
	for _, d := range s.Documents(2) {
		names = append(names, d.Name)
	}
	return names
}

// renewal is a mount with the key k-old, whose state directory and mount point stay.
type renewal struct {
	*keyService
	url       string
	anna      *hostile.Service
	dir       string
	options   []string
	letters   string
	inboxes   string
	stateHome string
}

// newRenewal makes a service that knows k-old as Anna's.
func newRenewal(t *testing.T, options ...string) *renewal {
	t.Helper()
	fusetest.Need(t)
	home := isolate(t)
	r := &renewal{keyService: &keyService{t: t}, anna: seen(t, "Muster GmbH", "Anna", 1, "a.txt"), dir: t.TempDir(), options: options}
	r.address = net.JoinHostPort(loopback.Own().String(), "0")
	t.Cleanup(r.leave)
	r.letters = filepath.Join(r.dir, "Muster GmbH", "Briefe")
	r.inboxes = filepath.Join(r.dir, "inboxes")
	r.stateHome = filepath.Join(home, ".local", "state", "archivefs")
	r.knows("k-old")
	r.url = "http://" + r.address + hostile.DefaultBasePath
	return r
}

// knows lets these keys, and no others, be Anna's.
func (r *renewal) knows(keys ...string) {
	sees := map[string]*hostile.Service{}
	for _, key := range keys {
		sees[key] = r.anna
	}
	r.set(sees)
}

// begins begins a mount with a key.
func (r *renewal) begins(key string, more ...string) *program {
	r.t.Helper()
	return startMount(r.t, r.dir, slices.Concat([]string{
		"--base-url", r.url, "--api-key", key, "--writes", "async", "--retry-for", "0s", "--drain", "1s", "--ttl", "1h", "--watch", "0s",
	}, r.options, more)...)
}

// mount mounts with a key.
func (r *renewal) mount(key string, more ...string) *program {
	r.t.Helper()
	m := r.begins(key, more...)
	m.line("mounted " + r.url + " at " + r.dir)
	return m
}

// look lists and reads what a person looks at.
func (r *renewal) look(dirs ...string) {
	r.t.Helper()
	for _, dir := range dirs {
		if _, err := os.ReadDir(dir); err != nil {
			r.t.Error(err)
		}
	}
	wantFile(r.t, filepath.Join(r.letters, "a.txt"), "Brief")
}

// waits ends a mount in which a file waits, because nothing listens any more.
func (r *renewal) waits(m *program, name string) {
	r.t.Helper()
	r.leave()
	if err := os.WriteFile(filepath.Join(r.letters, name), []byte("neu"), 0o600); err != nil {
		r.t.Error(err)
	}
	m.stop()
}

// waitsUnder mounts with a key, looks at all and leaves new.txt.
func (r *renewal) waitsUnder(key string) {
	r.t.Helper()
	m := r.mount(key)
	r.look(r.letters, r.inboxes, filepath.Join(r.inboxes, "Anna"))
	r.waits(m, "new.txt")
}

// wantArchived waits until the service has new.txt once.
func (r *renewal) wantArchived() {
	r.t.Helper()
	heals(r.t, "the file is archived", func() bool { return slices.Equal(lettersOf(r.anna), []string{"a.txt", "new.txt"}) })
}

// stateDir is where the mount keeps its state.
func (r *renewal) stateDir() string {
	r.t.Helper()
	_, status, err := mounted.Status(r.dir)
	if err != nil {
		r.t.Fatal(err)
	}
	return status.StateDir
}

// wantStates fails the test unless there are so many state directories, and as many caches.
func (r *renewal) wantStates(want int) {
	r.t.Helper()
	all := config.AllBound("")
	if len(all) != want {
		r.t.Errorf("the state directories are %+v; want %d", all, want)
	}
	for _, b := range all {
		if _, err := os.Stat(b.Cache); err != nil {
			r.t.Error(err)
		}
	}
	if caches, err := os.ReadDir(filepath.Join(os.Getenv("HOME"), ".cache", "archivefs")); err != nil || len(caches) != want {
		r.t.Errorf("the caches are %v, %v; want %d", caches, err, want)
	}
}

func keyIdentity(key string) string { return apiclient.Credentials{APIKey: key}.Identity() }

func setAttribute(t *testing.T, path, name, value string) {
	t.Helper()
	if err := xattr.Set(path, "user.archive."+name, []byte(value)); err != nil {
		t.Errorf("%s of %s: %v", name, path, err)
	}
}

func wantAttribute(t *testing.T, path, name, want string) {
	t.Helper()
	got, err := xattr.Get(path, "user.archive."+name)
	if err != nil || string(got) != want {
		t.Errorf("%s of %s is %q, %v; want %q", name, filepath.Base(path), got, err, want)
	}
}

// What waits, is kept and is cached under a key goes on under the key that took its place, and so does all that was
// said of folders and documents.
func TestRenewedKeyGoesOn(t *testing.T) {
	for name, options := range map[string][]string{
		"in the usual place":  nil,
		"with a --state-dir":  {"--state-dir", filepath.Join(t.TempDir(), "state")},
		"in the background":   {"--daemon", "--log-file", filepath.Join(t.TempDir(), "log")},
		"with a new identity": nil,
	} {
		t.Run(name, func(t *testing.T) {
			r := newRenewal(t, options...)
			m := r.mount("k-old")
			scan := filepath.Join(r.inboxes, "Anna", "scan.txt")
			r.look(r.letters, r.inboxes, filepath.Dir(scan))
			wantCall(t, 0, "1 document is kept here", "keep", r.letters)
			setAttribute(t, r.letters, "upload.keywords", "rot")
			setAttribute(t, scan, "keywords", "eilig")
			state := r.stateDir()
			r.leave()
			file, touched := filepath.Join(r.letters, "new.txt"), time.Date(2001, 2, 3, 4, 5, 6, 0, time.UTC)
			if err := errors.Join(os.WriteFile(file, []byte("neu"), 0o600), os.Chtimes(file, touched, touched)); err != nil {
				t.Error(err)
			}
			r.end(m)

			r.knows("k-new")
			kept := fmt.Sprintf("/document/%d/pdf", r.anna.Documents(2)[0].ID)
			asked := r.anna.Count("GET", kept)
			var more []string
			if name == "with a new identity" {
				more = []string{"--identity", "Anna Muster"}
			}
			m = r.mount("k-new", more...)
			r.wantArchived()
			if d := r.anna.Documents(2)[1]; !slices.Equal(d.Keywords, []string{"rot"}) {
				t.Errorf("the keywords of the file are %q", d.Keywords)
			}
			wantAttribute(t, r.letters, "keep", "1")
			wantAttribute(t, r.letters, "upload.keywords", "rot")
			wantAttribute(t, scan, "keywords", "eilig")
			wantFile(t, filepath.Join(r.letters, "a.txt"), "Brief")
			if info, err := os.Stat(file); err != nil || !info.ModTime().Equal(touched) {
				t.Errorf("the time is %v, %v", info.ModTime(), err)
			}
			if n := r.anna.Count("GET", kept) - asked; n != 0 {
				t.Errorf("the content that is kept was downloaded %d times again", n)
			}
			if r.stateDir() != state {
				t.Errorf("the state directory is %s, was %s", r.stateDir(), state)
			}
			_, table, _ := call(t, "status", r.dir)
			if !strings.Contains(table, "\nAPI key ") || !strings.Contains(table, "was renewed; since ") {
				t.Errorf("the status says\n%s", table)
			}
			r.end(m)
			if _, err := os.Stat(filepath.Join(state, "archive")); err != nil {
				t.Error(err)
			}
			m = r.mount("k-new", more...) // and stays
			if r.stateDir() != state {
				t.Errorf("the next mount has the state directory %s, was %s", r.stateDir(), state)
			}
			r.end(m)
		})
	}
}

// What waits for a user of the machine is sent in that user's name, whatever key the mount has by now.
func TestRenewedKeyOfAMountForManyUsers(t *testing.T) {
	users, key := filepath.Join(t.TempDir(), "users"), filepath.Join(t.TempDir(), "key")
	for path, text := range map[string]string{users: fmt.Sprintf("[%d]\napi-key-file = %q\n", os.Getuid(), key), key: "k-own"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r := newRenewal(t, "--map-users", users)
	r.knows("k-old", "k-own")
	r.waitsUnder("k-old")
	r.knows("k-new", "k-own")
	m := r.mount("k-new")
	m.says("the API key was renewed")
	r.wantArchived()
	m.stop()
	if sent := r.uploads(); !slices.Equal(sent, []string{"k-own"}) {
		t.Errorf("there were uploads with %q", sent)
	}
}

// end unmounts, whoever waits for the mount.
func (r *renewal) end(m *program) {
	r.t.Helper()
	if slices.Contains(r.options, "--daemon") {
		endsAfter(r.t, r.dir, func() { _ = start(r.t, "unmount", r.dir).wait() })
		return
	}
	m.stop()
}

// Nobody's uploads reach another user or another archive, whatever the key that comes next is.
func TestKeyOfSomebodyElse(t *testing.T) {
	const anna, muster = "Anna", "Muster GmbH"
	for name, tt := range map[string]struct {
		sees    *hostile.Service
		options []string // of the mount with the other key
		before  func(r *renewal)
		why     string
	}{
		"another user":        {sees: seen(t, muster, "Max", 2, "a.txt"), why: "other mandators or inboxes"},
		"a user of that name": {sees: seen(t, muster, anna, 2, "a.txt"), why: "other mandators or inboxes"},
		"other mandators":     {sees: seen(t, "Beispiel AG", anna, 1, "a.txt"), why: "other mandators or inboxes"},
		"another archive":     {sees: seen(t, muster, anna, 1, "b.txt"), why: "other documents"},
		"nothing to compare": {why: "too few listings are kept to compare it", before: func(r *renewal) {
			if err := os.Remove(filepath.Join(config.AllBound("")[0].Cache, "known.db")); err != nil {
				r.t.Fatal(err)
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRenewal(t)
			r.waitsUnder("k-old")
			if tt.before != nil {
				tt.before(r)
			}
			other := tt.sees
			if other == nil {
				other = r.anna
			}
			r.set(map[string]*hostile.Service{"k-new": other, "k-old": r.anna})
			m := r.mount("k-new")
			m.says("belongs to another API key (" + keyIdentity("k-old") + ") and stays as it is: ")
			m.says(tt.why)
			m.says("--identity " + keyIdentity("k-old"))
			m.stop()
			r.wantStates(2)
			if sent := r.uploads(); len(sent) != 0 {
				t.Errorf("there were uploads with %q", sent)
			}
			m = r.mount("k-old")
			r.wantArchived()
			m.stop()
			if sent := r.uploads(); !slices.Equal(sent, []string{"k-old"}) {
				t.Errorf("there were uploads with %q", sent)
			}
		})
	}
}

// A user or a Cloud-ID beside the key, which the service ignores, renews nothing: with the key alone all is as it was.
func TestKeyWithAUserBesideIt(t *testing.T) {
	password := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(password, []byte("geheim"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, more := range map[string][]string{
		"basic:erika": {"--user", "erika", "--password-file", password},
		"cloud:5":     {"--cloud-id", "5"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRenewal(t)
			m := r.mount("k-old")
			r.look(r.letters, r.inboxes, filepath.Join(r.inboxes, "Anna"))
			setAttribute(t, r.letters, "upload.keywords", "rot")
			m.stop()
			m = r.mount("k-old", more...)
			m.says("belongs to another API key (" + keyIdentity("k-old") + ") and stays as it is: that key is still given, beside ")
			m.stop()
			if strings.Contains(m.said(), "renewed") {
				t.Errorf("it says %s", m.said())
			}
			m = r.mount("k-old")
			wantAttribute(t, r.letters, "upload.keywords", "rot")
			m.stop()
			r.knows("k-new")
			m = r.mount("k-new")
			m.says("the API key was renewed")
			m.stop()
		})
	}
}

// Who has another profile is somebody else, even if both see the same.
func TestKeyOfAnotherProfile(t *testing.T) {
	r := newRenewal(t)
	profile := "[profile.%s]\nbase-url = \"" + r.url + "\"\nwrites = \"async\"\nretry-for = \"0s\"\ndrain = \"1s\"\n"
	configure(t, os.Getenv("HOME"), fmt.Sprintf(profile, "anna")+fmt.Sprintf(profile, "max"))
	mount := func(profile, key string) *program {
		unmountAtEnd(t, r.dir)
		m := start(t, "mount", profile, r.dir, "--api-key", key)
		m.line("mounted ")
		return m
	}
	m := mount("anna", "k-old")
	r.look(r.letters, r.inboxes, filepath.Join(r.inboxes, "Anna"))
	r.waits(m, "new.txt")
	r.knows("k-new", "k-max")
	m = mount("max", "k-max")
	m.says("1 upload waits for this service in ")
	m.stop()
	r.wantStates(2)
	m = mount("anna", "k-new")
	m.says("the API key was renewed")
	r.wantArchived()
	m.stop()
	r.wantStates(2)
	if sent := r.uploads(); !slices.Equal(sent, []string{"k-new"}) {
		t.Errorf("there were uploads with %q", sent)
	}
}

// Only the service shows whose a key is: while it is away nothing is mounted with a new one, and nothing is lost.
func TestRenewedKeyWhileTheServiceIsAway(t *testing.T) {
	r := newRenewal(t)
	r.waitsUnder("k-old")
	m := r.begins("k-new")
	m.wantExit(1)
	m.says("cannot use the archive service at " + r.url + ": ")
	m.says("what belongs to an earlier API key (" + keyIdentity("k-old") + ") stays in ")
	r.wantStates(1)
	r.knows("k-other")
	m = r.begins("k-wrong")
	m.wantExit(1)
	m.says("credentials refused (HTTP 401)")
	r.wantStates(1)
	r.knows("k-new")
	m = r.mount("k-new")
	r.wantArchived()
	m.stop()
	r.wantStates(1)
}

// A mount of which nobody looked at the inboxes has learned at its end what tells users apart.
func TestRenewedKeyOfAMountWithoutALookAtTheInboxes(t *testing.T) {
	r := newRenewal(t)
	m := r.mount("k-old")
	r.look(r.letters)
	m.stop()
	m = r.mount("k-old")
	r.waits(m, "new.txt")
	r.knows("k-new")
	m = r.mount("k-new")
	m.says("the API key was renewed")
	r.wantArchived()
	m.stop()
}

// Two keys that are in use at the same time have a state directory each.
func TestTwoKeysInUse(t *testing.T) {
	r := newRenewal(t)
	r.knows("k-old", "k-new")
	m := r.mount("k-old")
	r.look(r.letters, r.inboxes, filepath.Join(r.inboxes, "Anna"))
	dir := t.TempDir()
	second := startMount(t, dir, "--base-url", r.url, "--api-key", "k-new")
	second.line("mounted ")
	second.says("belongs to another API key (" + keyIdentity("k-old") + ") and stays as it is: the state directory ")
	second.says(" is in use by another mount of this archive, at " + r.dir)
	second.stop()
	m.stop()
	r.wantStates(2)
	for key, other := range map[string]string{"k-old": "k-new", "k-new": "k-old"} {
		m := r.mount(key)
		if b, err := config.BoundTo(r.stateDir()); err != nil || b.Caller() != keyIdentity(key) {
			t.Errorf("with %s the state directory is of %+v, %v", key, b, err)
		}
		m.stop()
		if strings.Contains(m.said(), keyIdentity(other)) {
			t.Errorf("with %s it says %s", key, m.said())
		}
	}
}

// A mount that is killed while the key is compared, or right after the state directory was given to it, leaves all to
// the next one.
func TestRenewedKeyAndCrashes(t *testing.T) {
	for name, at := range map[string]hostile.Fault{
		"before it is compared": {Method: "GET", Path: "/archivestructure"},
		"while it is compared":  {Method: "GET", Path: "/document/{id}/data"},
		"after that":            {Method: "GET", Path: "/archivestructure", Nth: 2},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRenewal(t)
			r.waitsUnder("k-old")
			r.knows("k-new")
			gate := hostile.NewGate()
			t.Cleanup(gate.Open)
			at.Do, at.Times = hostile.StallBefore(gate), 1
			r.anna.Fault(at)
			m := r.begins("k-new")
			awaits(t, "the request", gate.Arrived())
			m.signal(os.Kill)
			_ = m.wait()
			m = r.mount("k-new")
			r.wantArchived()
			m.stop()
			r.wantStates(1)
		})
	}
}

// A mount takes the new key when it is told to, and a state directory with it: what waited is sent, and the mounts
// after a crash, and after an end, find it.
func TestRenewedKeyOfARunningMount(t *testing.T) {
	r := newRenewal(t, "--daemon", "--log-file", filepath.Join(t.TempDir(), "log"))
	key := filepath.Join(t.TempDir(), "key")
	write := func(text string) {
		if err := os.WriteFile(key, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("k-old")
	mount := func() {
		p := startMount(t, r.dir, slices.Concat([]string{"--base-url", r.url, "--api-key-file", key, "--writes", "async", "--retry-for", "0s", "--drain", "1s"}, r.options)...)
		p.line("mounted ")
		p.wantExit(0)
	}
	mount()
	r.look(r.letters, r.inboxes, filepath.Join(r.inboxes, "Anna"))
	wantCall(t, 0, "1 document is kept here", "keep", r.letters)
	state := r.stateDir()
	max := seen(t, "Muster GmbH", "Max", 2, "a.txt")
	r.set(map[string]*hostile.Service{"k-new": r.anna, "k-max": max})
	if err := os.WriteFile(filepath.Join(r.letters, "new.txt"), []byte("neu"), 0o600); err != nil {
		t.Fatal(err)
	}
	pid := processOf(t, r.dir)
	hangup := func(key, says string) { // more than once: what it knows is compared when it is on disk
		t.Helper()
		write(key)
		heals(t, "the log says "+says, func() bool {
			if err := syscall.Kill(pid, syscall.SIGHUP); err != nil {
				t.Fatal(err)
			}
			log, err := os.ReadFile(r.options[2])
			return err == nil && strings.Contains(string(log), says)
		})
	}
	hangup("k-max", "options and credentials stay as they are: it is not certain that they are of the same user: the service shows other mandators or inboxes")
	r.leave()
	hangup("k-new", "options and credentials stay as they are: it is not certain that they are of the same user: list the folders: service unreachable")
	r.set(map[string]*hostile.Service{"k-new": r.anna, "k-max": max})
	hangup("k-new", "the API key was renewed")
	r.wantArchived()
	if sent := r.uploads(); !slices.Equal(sent, []string{"k-new"}) {
		t.Errorf("there were uploads with %q", sent)
	}
	wantCall(t, 0, "was renewed; since ", "status", r.dir)

	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	heals(t, "the mount is stale", func() bool { return mounted.IsLeft(r.dir) })
	mount()
	if r.stateDir() != state {
		t.Errorf("after a crash the state directory is %s, was %s", r.stateDir(), state)
	}
	r.end(nil)
	mount()
	wantAttribute(t, r.letters, "keep", "1")
	if r.stateDir() != state {
		t.Errorf("the next mount has the state directory %s, was %s", r.stateDir(), state)
	}
	r.end(nil)
	r.wantStates(1)
}

// What the service does not prove, the user may say: by the name that what is kept has, or with the login.
func TestRenewedKeyByTheUsersWord(t *testing.T) {
	tests := map[string]func(r *renewal) *program{
		"by an option": func(r *renewal) *program { return r.mount("k-new", "--identity", keyIdentity("k-old")) },
		"by a login": func(r *renewal) *program {
			typing(r.t, "k-new\n")
			wantCall(r.t, 2, "no state directory on this machine belongs to key:0 at "+r.url, "login", "--base-url", r.url, "--replaces", "key:0")
			typing(r.t, "k-new\n")
			wantCall(r.t, 0, "logged in to "+r.url, "login", "--base-url", r.url, "--replaces", keyIdentity("k-old"))
			m := startMount(r.t, r.dir, "--base-url", r.url, "--writes", "async")
			m.line("mounted ")
			return m
		},
	}
	for name, mount := range tests {
		t.Run(name, func(t *testing.T) {
			r := newRenewal(t)
			r.waitsUnder("k-old")
			if err := os.RemoveAll(filepath.Join(os.Getenv("HOME"), ".cache", "archivefs")); err != nil {
				t.Fatal(err)
			}
			r.knows("k-new")
			m := r.mount("k-new") // without a word
			m.says("1 upload waits for this service in ")
			m.stop()
			m = mount(r)
			r.wantArchived()
			m.stop()
			if all := config.AllBound(""); len(all) != 2 {
				t.Errorf("%+v", all)
			}
		})
	}
}

// Under a name the user needs no proof, whatever the key, and also while the service is away.
func TestIdentity(t *testing.T) {
	r := newRenewal(t, "--identity", "Anna Muster")
	r.waitsUnder("k-old")
	m := r.mount("k-new")
	m.says("is away")
	r.knows("k-new")
	r.wantArchived()
	m.stop()
	r.wantStates(1)
	wantCall(t, 2, "a name holds no line breaks", "mount", "--base-url", r.url, "--api-key", "k", "--identity", "a\nb", r.dir)
}

// Doctor says what an earlier key left, and names the caches that no mount bounds any more.
func TestDoctorOfEarlierKeys(t *testing.T) {
	r := newRenewal(t)
	r.waitsUnder("k-old")
	r.knows("k-new")
	of := []string{"--base-url", r.url, "--api-key", "k-new"}
	all := config.AllBound("")
	if len(all) != 1 {
		t.Fatal(all)
	}
	wantFinding(t, diagnose(t, of...), "earlier key", doctor.Warning, all[0].State+" belongs to another API key ("+keyIdentity("k-old")+")",
		"a mount goes on with it if the service shows the same archive and user")
	r.set(map[string]*hostile.Service{"k-new": seen(t, "Muster GmbH", "Max", 2, "a.txt")})
	m := r.mount("k-new")
	m.stop()
	found := diagnose(t, of...)
	wantFinding(t, found, "old cache", doctor.Warning, "no --cache-size counts "+all[0].Cache+", which belongs to another API key ("+keyIdentity("k-old")+")",
		"rm -r "+all[0].Cache+" removes it")
	if f, there := found["earlier key"]; there {
		t.Errorf("the key has a state directory of its own: %+v", f)
	}
	wantFinding(t, found, "uploads", doctor.Warning, "1 upload waits for this service", "archivefs login --replaces "+keyIdentity("k-old"))
	if err := os.RemoveAll(all[0].Cache); err != nil {
		t.Fatal(err)
	}
	if f, there := diagnose(t, of...)["old cache"]; there {
		t.Errorf("nothing is left: %+v", f)
	}
}
