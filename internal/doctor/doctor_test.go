package doctor_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/archivefs/archivefs/apiclient"
	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/doctor"
	"github.com/archivefs/archivefs/internal/testing/hostile"
)

// want fails the test unless a finding is that one. A text or cure that begins with "~" is a
// part.
func want(t *testing.T, got doctor.Finding, level doctor.Level, text, do string) {
	t.Helper()
	fits := func(got, want string) bool {
		part, some := strings.CutPrefix(want, "~")
		return got == want || some && strings.Contains(got, part)
	}
	if got.Level != level || !fits(got.Text, text) || !fits(got.Do, do) || got.Check == "" {
		t.Errorf("got %+v, want %s: %s; %s", got, level, text, do)
	}
	if level != doctor.OK && got.Do == "" {
		t.Errorf("%+v does not say what to do", got)
	}
}

func TestDevice(t *testing.T) {
	there := filepath.Join(t.TempDir(), "fuse")
	want(t, doctor.Device(there, false), doctor.Failure, "there is no "+there,
		"root loads it with modprobe fuse; a container needs --device "+there+" and the capability SYS_ADMIN")
	if err := os.WriteFile(there, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	want(t, doctor.Device(there, false), doctor.OK, there+" can be opened", "")
	want(t, doctor.Device(filepath.Dir(there), true), doctor.Failure, "~ cannot be opened: is a directory", "~a container needs --device")
	if os.Geteuid() == 0 {
		return // who may open everything
	}
	if err := os.Chmod(there, 0); err != nil {
		t.Fatal(err)
	}
	want(t, doctor.Device(there, false), doctor.Warning, "you may not open "+there+"; fusermount3 has to do it for you", "~chmod 666")
}

func TestHelper(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	want(t, doctor.Helper("fusermount3", false), doctor.Failure, "the program fusermount3 is missing", "install fuse3: apt install fuse3, or dnf install fuse3")
	path := filepath.Join(dir, "fusermount3")
	if err := os.WriteFile(path, nil, 0o755); err != nil {
		t.Fatal(err)
	}
	want(t, doctor.Helper("fusermount3", true), doctor.OK, path, "")
	want(t, doctor.Helper("fusermount3", false), doctor.Failure, path+" may not mount for you, because it does not run as root",
		"root gives it that back: chown root "+path+" && chmod u+s "+path)
	if os.Geteuid() != 0 {
		return // nobody else makes it root's
	}
	if err := os.Chmod(path, 0o755|os.ModeSetuid); err != nil {
		t.Fatal(err)
	}
	want(t, doctor.Helper("fusermount3", false), doctor.OK, path, "")
}

func TestOtherUsers(t *testing.T) {
	refusal := errors.New("--allow-other needs user_allow_other")
	want(t, doctor.OtherUsers(true, refusal), doctor.Failure, "they cannot be let in", refusal.Error())
	want(t, doctor.OtherUsers(false, refusal), doctor.OK, "they stay out; "+refusal.Error(), "")
	want(t, doctor.OtherUsers(true, nil), doctor.OK, "--allow-other lets them in", "")
	want(t, doctor.OtherUsers(false, nil), doctor.OK, "they stay out; --allow-other would let them in", "")
}

func TestKernel(t *testing.T) {
	for release, text := range map[string]string{
		"6.9.0":            "passthrough is possible",
		"6.18.44-fc":       "passthrough is possible",
		"10.0-rc1":         "passthrough is possible",
		"6.8.12-amd64":     "no passthrough yet",
		"5.10.0-30-amd64":  "no passthrough yet",
		"6.1-cloud":        "no passthrough yet",
		"something-else":   "older than what",
		"4.19.0-27-amd64":  "older than what",
		"4.20.0-1-generic": "no passthrough yet",
	} {
		if got := doctor.Kernel(release, true); !strings.Contains(got.Text, text) {
			t.Errorf("%s: got %q, want %q", release, got.Text, text)
		}
	}
	want(t, doctor.Kernel("6.9.0", false), doctor.OK, "Linux 6.9.0; passthrough takes the capability SYS_ADMIN, which you do not have", "")
	for status, privileged := range map[string]bool{
		"Name:\tx\nCapEff:\t000001ffffffffff\n": true, "CapEff:\t0000000000200000\n": true,
		"CapEff:\t0000000000000000\n": false, "CapPrm:\t000001ffffffffff\n": false, "": false,
	} {
		if doctor.Privileged(status) != privileged {
			t.Errorf("%q: privileged is not %v", status, privileged)
		}
	}
}

func TestSpace(t *testing.T) {
	const keep = 64 << 20
	tests := []struct {
		name  string
		usage doctor.Usage
		level doctor.Level
		text  string
	}{
		{"much", doctor.Usage{Free: 5 << 30, Total: 9 << 30}, doctor.OK, "5.0 GiB free for /nowhere"},
		{"little", doctor.Usage{Free: 100 << 20, Total: 9 << 30}, doctor.Warning, "little: 100 MiB free for /nowhere"},
		{"nothing", doctor.Usage{Total: 9 << 30}, doctor.Failure, "the disk is full: 0 B free for /nowhere, and 64 MiB are kept free"},
		{"no disk", doctor.Usage{}, doctor.Failure, "nothing can be kept in /nowhere, which is on no disk"},
		{"the reserve", doctor.Usage{Free: keep, Total: 9 << 30}, doctor.Failure, "the disk is full: 64 MiB free for /nowhere, and 64 MiB are kept free"},
		{"the reserve of a small disk", doctor.Usage{Free: 1 << 20, Total: 16 << 20}, doctor.Failure, "~and 1.0 MiB are kept free"},
		{"no further files", doctor.Usage{Free: 5 << 30, Total: 9 << 30, AllFiles: 10}, doctor.Failure, "the disk of /nowhere can have no further files"},
		{"some files", doctor.Usage{Free: 5 << 30, Total: 9 << 30, AllFiles: 10, Files: 1}, doctor.OK, "5.0 GiB free for /nowhere"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			do := ""
			if tt.level != doctor.OK {
				do = "~" // something
			}
			want(t, doctor.Space("uploads", "/nowhere", tt.usage, nil, keep), tt.level, tt.text, do)
		})
	}
	want(t, doctor.Space("uploads", "/nowhere", doctor.Usage{}, syscall.EIO, keep), doctor.Failure,
		"the disk of /nowhere does not say what it has: input/output error", "look at it with df /")
	if u, err := doctor.UsageOf(filepath.Join(t.TempDir(), "a", "b")); err != nil || u.Total == 0 {
		t.Errorf("got %+v, %v", u, err)
	}
}

func TestWritable(t *testing.T) {
	dir := t.TempDir()
	below := filepath.Join(dir, "a", "b")
	want(t, doctor.Writable("state", dir), doctor.OK, dir, "")
	want(t, doctor.Writable("state", below), doctor.OK, below+" is made at the first mount", "")
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	want(t, doctor.Writable("state", file+"/a"), doctor.Failure, "you cannot write to "+file+"/a: not a directory", "change who owns it: chown, or name another directory")
}

func TestMount(t *testing.T) {
	tests := []struct {
		name  string
		state doctor.State
		err   error
		level doctor.Level
		text  string
		do    string
	}{
		{"well", doctor.State{}, nil, doctor.OK, "/my a works", ""},
		{
			"stale",
			doctor.State{},
			&fs.PathError{Op: "stat", Path: "/my a", Err: syscall.ENOTCONN}, doctor.Failure,
			"/my a is stale (Transport endpoint is not connected): the process behind it is gone",
			"archivefs unmount '/my a' takes it away; then mount again, and what waited goes on",
		},
		{"of another user", doctor.State{}, os.ErrPermission, doctor.OK, "/my a belongs to another user", ""},
		{"gone", doctor.State{}, os.ErrNotExist, doctor.OK, "/my a has just gone", ""},
		{"broken", doctor.State{}, syscall.EIO, doctor.Failure, "/my a cannot be asked: input/output error", "see the log of its process; fusermount3 -uz '/my a' takes it away"},
		{"disk", doctor.State{Disk: "/state: full", Failed: 1}, nil, doctor.Warning, "/my a takes no files: /state: full", "make the disk of its state directory writable, or make room on it"},
		{"away", doctor.State{Away: "no connection"}, nil, doctor.Warning, "/my a works, but its service is away: no connection", "see what is said about the service"},
		{"failed uploads", doctor.State{Failed: 2}, nil, doctor.Warning, "/my a works; uploads that failed: 2", "archivefs uploads list '/my a' shows them"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			want(t, doctor.Mount("/my a", tt.err, tt.state), tt.level, tt.text, tt.do)
		})
	}
}

const base = "https://archive.example/api/v2"

func TestService(t *testing.T) {
	now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	cert := func(end time.Time) *tls.ConnectionState {
		return &tls.ConnectionState{Version: tls.VersionTLS13, PeerCertificates: []*x509.Certificate{{NotAfter: end}}}
	}
	good := doctor.Answer{Date: now, TLS: cert(now.Add(90 * 24 * time.Hour)), Took: 3 * time.Millisecond}
	with := func(change func(*doctor.Answer)) *doctor.Answer {
		a := good
		change(&a)
		return &a
	}
	slow := good
	slow.Took = 2100 * time.Millisecond
	failed := func(kind archive.Kind) error { return &archive.Error{Op: "list the folders", Kind: kind} }
	tests := []struct {
		name   string
		base   string
		answer *doctor.Answer
		err    error
		check  string // of the finding that is looked at
		level  doctor.Level
		text   string
		do     string
	}{
		{"well", base, &good, nil, "reachability", doctor.OK, base + " answers within 3ms", ""},
		{"slow", base, &slow, nil, "reachability", doctor.Warning, base + " is slow: it answers within 2.1s", "a longer --ttl asks it less often; tell who runs it"},
		{"well", base, &good, nil, "TLS", doctor.OK, "TLS 1.3; the certificate is valid until 2026-06-02, 90 days from now", ""},
		{"well", base, &good, nil, "credentials", doctor.OK, "the service takes them (an API key)", ""},
		{"well", base, &good, nil, "clock", doctor.OK, "the same as that of the service", ""},
		{"no connection", base, nil, failed(archive.KindUnreachable), "reachability", doctor.Failure, "~cannot be reached: list the folders: ", "check --base-url and the network"},
		{"certificate that ends", base, with(func(a *doctor.Answer) { a.TLS = cert(now.Add(49 * time.Hour)) }), nil, "TLS", doctor.Warning, "~valid until 2026-03-06, 2 days from now", "who runs the service has to renew it before"},
		{"no TLS", "http://archive.example/api/v2", with(func(a *doctor.Answer) { a.TLS = nil }), nil, "TLS", doctor.Warning, "none: credentials and documents can be read on the way", "use https, if the service has it"},
		{"no TLS on this machine", "http://[::1]:80/api/v2", with(func(a *doctor.Answer) { a.TLS = nil }), nil, "TLS", doctor.OK, "none, and none is needed on this machine", ""},
		{"wrong key", base, &good, failed(archive.KindUnauthorized), "credentials", doctor.Failure, "~the service refuses them (an API key): ", "check the API key, and the user with password or the Cloud-ID that go with it"},
		{"not allowed", base, &good, failed(archive.KindForbidden), "credentials", doctor.Failure, "~the service refuses them", "~check the API key"},
		{"a login page", base, &good, failed(archive.KindForeign), "service", doctor.Failure, "~it does not answer as an archive service does: ", "check --base-url and the network: what answers there is not the archive service"},
		{"another service", base, &good, failed(archive.KindProtocol), "service", doctor.Failure, "~it does not answer as an archive service does: ", "check --base-url: what answers there is no archive service"},
		{"a broken service", base, &good, failed(archive.KindServer), "service", doctor.Failure, "~it has a problem of its own: ", "try again later, or ask who runs it"},
		{"clock behind", base, with(func(a *doctor.Answer) { a.Date = now.Add(time.Hour) }), nil, "clock", doctor.Warning, "this machine is 1h0m0s behind the service", "~set the clock"},
		{"clock ahead", base, with(func(a *doctor.Answer) { a.Date = now.Add(-time.Hour) }), nil, "clock", doctor.Warning, "this machine is 1h0m0s ahead of the service", "~set the clock"},
		{"a second is nothing", base, with(func(a *doctor.Answer) { a.Date = now.Add(-time.Second) }), nil, "clock", doctor.OK, "the same as that of the service", ""},
		{"no date", base, with(func(a *doctor.Answer) { a.Date = time.Time{} }), nil, "clock", doctor.OK, "the service does not tell its time", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name+", "+tt.check, func(t *testing.T) {
			for _, f := range doctor.Service(tt.base, "an API key", tt.answer, tt.err, now) {
				if f.Check == tt.check {
					want(t, f, tt.level, tt.text, tt.do)
					return
				}
			}
			t.Error("there is no such finding")
		})
	}
}

// stocked is a service with a document deep down, and what a client of it finds.
func stocked(t *testing.T, cfg hostile.Config, documents bool) []doctor.Finding {
	t.Helper()
	s := hostile.New(cfg)
	mandator := s.AddMandator("Muster GmbH")
	folder := s.AddFolder(mandator, "Rechnungen")
	if documents {
		s.AddDocument(folder, hostile.Document{Name: "letter"})
	}
	client, err := apiclient.New(apiclient.Config{BaseURL: s.Start(t), Credentials: apiclient.Credentials{APIKey: "k"}, RetryFor: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return doctor.Operations(context.Background(), client)
}

func TestOperations(t *testing.T) {
	all := stocked(t, hostile.Config{}, true)
	want(t, all[0], doctor.OK, "folders, inboxes, documents and their data are there", "")
	want(t, all[1], doctor.OK, "~the service has originals, PDFs, lengths without a download, metadata; whether it can rename", "")
	eight := stocked(t, hostile.Config{OnlyEight: true}, true)
	want(t, eight[1], doctor.Warning, "~the service has the eight operations of its specification alone; it lacks originals, PDFs, ",
		"files hold the data of documents, as JSON; ask who runs the service for the contents")
	empty := stocked(t, hostile.Config{}, false)
	want(t, empty[0], doctor.OK, "folders, inboxes and documents are listed; no document was found to ask about further ones", "")
	broken := stocked(t, hostile.Config{Credentials: hostile.Credentials{APIKey: "other"}}, true)
	want(t, broken[0], doctor.Failure, "~the service does not answer with inboxes: ", "ask who runs the service")
}

func TestFindings(t *testing.T) {
	all := []doctor.Finding{doctor.Fine("a", ""), doctor.Fail("b", "bad \x1b[31m", "do\u202e"), doctor.Warn("c", "", "")}
	if n := doctor.Failures(all); n != 1 {
		t.Errorf("%d failures", n)
	}
	if strings.ContainsAny(all[1].Text+all[1].Do, "\x1b\u202e") {
		t.Errorf("%+v reaches a terminal", all[1])
	}
}
