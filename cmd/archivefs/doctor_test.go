package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/archivefs/archivefs/apiclient"
	"github.com/archivefs/archivefs/internal/config"
	"github.com/archivefs/archivefs/internal/doctor"
	"github.com/archivefs/archivefs/internal/testing/fusetest"
)

// diagnose returns what doctor finds, by the names of the checks but for those of mounts,
// which are everybody's on this machine. The exit status must say the same.
func diagnose(t *testing.T, args ...string) map[string]doctor.Finding {
	t.Helper()
	status, stdout, stderr := call(t, append([]string{"doctor", "--json"}, args...)...)
	var findings []doctor.Finding
	if err := json.Unmarshal([]byte(stdout), &findings); err != nil {
		t.Fatalf("exit status %d, output %q, error %q: %v", status, stdout, stderr, err)
	}
	if failed := doctor.Failures(findings) > 0; failed != (status == 1) || failed != (stderr != "") || status > 1 {
		t.Errorf("exit status %d, error %q, with %+v", status, stderr, findings)
	}
	if strings.Contains(stdout+stderr, "geheim") {
		t.Errorf("a secret shows in %q and %q", stdout, stderr)
	}
	all := map[string]doctor.Finding{}
	for _, f := range findings {
		if f.Check != "mount" {
			all[f.Check] = f
		}
	}
	return all
}

// wantFinding fails the test unless a check ended so, with a text and a cure that have these
// parts.
func wantFinding(t *testing.T, all map[string]doctor.Finding, check string, level doctor.Level, text, do string) {
	t.Helper()
	if f := all[check]; f.Level != level || !strings.Contains(f.Text, text) || !strings.Contains(f.Do, do) {
		t.Errorf("%s: got %+v, want %s, %q and %q", check, f, level, text, do)
	}
}

// wantReached fails the test unless the service at a URL answered, however long that took.
func wantReached(t *testing.T, all map[string]doctor.Finding, url string) {
	t.Helper()
	if f := all["reachability"]; f.Level == doctor.Failure || !strings.Contains(f.Text, url) {
		t.Errorf("reachability: got %+v, want that %s is reached", f, url)
	}
}

func TestDoctorOfAServiceThatIsWell(t *testing.T) {
	home := isolate(t)
	url := knowing(t)
	path := configure(t, home, "[profile.office]\nbase-url = \""+url+"\"\nuser = \"erika\"\nmountpoint = \"~/mnt\"\n")
	if err := os.Mkdir(filepath.Join(home, "mnt"), 0o700); err != nil {
		t.Fatal(err)
	}
	withKeyring(t)
	typing(t, "k-geheim\np-geheim\n")
	wantCall(t, 0, "logged in", "login", "office")
	all := diagnose(t, "office")
	wantFinding(t, all, "configuration", doctor.OK, path, "")
	wantReached(t, all, url+"/api/v2")
	wantFinding(t, all, "TLS", doctor.OK, "none is needed", "")
	wantFinding(t, all, "credentials", doctor.OK, "the service takes them (an API key and the user erika, from the system keyring)", "")
	wantFinding(t, all, "clock", doctor.OK, "the same", "")
	wantFinding(t, all, "state", doctor.OK, " is made at the first mount", "")
	wantFinding(t, all, "mount point", doctor.OK, home+"/mnt is free", "")
	for _, check := range []string{"FUSE device", "FUSE helper", "kernel", "other users", "space for uploads", "space for the cache"} {
		if all[check].Level == "" {
			t.Errorf("there is no check of %s", check)
		}
	}
	if _, err := os.Stat(filepath.Join(home, ".local", "state", "archivefs")); !os.IsNotExist(err) {
		t.Errorf("doctor made a state directory: %v", err)
	}
}

func TestDoctorOfAnArchiveOfOnesOwn(t *testing.T) {
	home := isolate(t)
	all := diagnose(t)
	wantFinding(t, all, "archive", doctor.OK, home+"/.local/share/archivefs is made at the first mount", "")
	wantFinding(t, all, "space for the archive", doctor.OK, "free", "")
	wantUntouched(t, home)
	if err := os.WriteFile(filepath.Join(home, "letter"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	all = diagnose(t, "--data", home, "/nowhere")
	wantFinding(t, all, "archive", doctor.Failure, home+" is no archive of this program and not empty; name an empty or new directory", "")
	wantFinding(t, all, "mount point", doctor.Failure, "there is no directory /nowhere to mount at; make it first: mkdir -p /nowhere", "")
}

func TestDoctorFindsWhatIsWrong(t *testing.T) {
	web := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(web.Close)
	tests := []struct {
		name, url string
		check     string
		text, do  string
	}{
		{"wrong key", refusing(t), "credentials", "the service refuses them (an API key): list the folders: ", "check the API key"},
		{"nobody there", "http://127.0.0.1:1", "reachability", "cannot be reached: ", "check --base-url and the network"},
		{"something else there", web.URL, "service", "it does not answer as an archive service does", "check --base-url and the network: what answers there is not the archive service"},
		{"http for https", strings.Replace(web.URL, "http", "https", 1), "reachability", "cannot be reached", "the service speaks http: write --base-url " + web.URL},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			isolate(t)
			all := diagnose(t, "--base-url", tt.url, "--api-key", "k-geheim")
			wantFinding(t, all, tt.check, doctor.Failure, tt.text, tt.do)
			wantFinding(t, all, "space for uploads", doctor.OK, "free", "") // the other checks go on
		})
	}
}

// encrypted is the address of a service whose certificate, for the hosts, ends at a time, and
// the file of the authority that signed it.
func encrypted(t *testing.T, ends time.Time, host string) (url, authority string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotBefore: ends.AddDate(-1, 0, 0), NotAfter: ends,
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	if ip := net.ParseIP(host); ip != nil {
		template.IPAddresses = []net.IP{ip}
	} else {
		template.DNSNames = []string{host}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	authority = filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(authority, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	web := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"folders":[]}`) }))
	web.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
	web.Config.ErrorLog = log.New(io.Discard, "", 0)
	web.StartTLS()
	t.Cleanup(web.Close)
	return web.URL, authority
}

func TestDoctorOfCertificates(t *testing.T) {
	now := time.Now().UTC() // whose days are all of 24 hours
	later, soon, past := now.AddDate(0, 3, 0), now.AddDate(0, 0, 3), now.AddDate(0, 0, -3)
	tests := []struct {
		name    string
		ends    time.Time
		host    string
		trusted bool
		level   doctor.Level
		text    string
		do      string
	}{
		{"good", later, "127.0.0.1", true, doctor.OK, "the certificate is valid until " + later.Format(time.DateOnly), ""},
		{"ends soon", soon, "127.0.0.1", true, doctor.Warning, "2 days from now", "has to renew it"},
		{"expired", past, "127.0.0.1", true, doctor.Failure, "expired", " to " + past.Format(time.DateOnly) + ": who runs the service has to renew it, unless the date of this machine is wrong"},
		{"unknown authority", later, "127.0.0.1", false, doctor.Failure, "", "name the certificate authority with --ca-file, if this is the right service"},
		{"another host", later, "other.example", true, doctor.Failure, "", "the certificate is for other.example: check the host in --base-url"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			isolate(t)
			url, authority := encrypted(t, tt.ends, tt.host)
			args := []string{"--base-url", url, "--api-key", "k-geheim"}
			if tt.trusted {
				args = append(args, "--ca-file", authority)
			}
			all := diagnose(t, args...)
			wantFinding(t, all, "TLS", tt.level, tt.text, tt.do)
			wantReached(t, all, url)
		})
	}
}

// Doctor names the proxy, and says that a unit does not have that of the environment.
func TestDoctorOfProxies(t *testing.T) {
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"folders":[]}`) }))
	t.Cleanup(proxy.Close)
	for name, tt := range map[string]struct {
		environment, option string
		level               doctor.Level
		text                string
	}{
		"none":               {"", "none", doctor.OK, "none"},
		"by the environment": {proxy.URL, "", doctor.Warning, proxy.URL + " (HTTP_PROXY)"},
		"by the option":      {"", strings.Replace(proxy.URL, "//", "//otto:geheim@", 1), doctor.OK, proxy.URL + " (--proxy)"},
	} {
		t.Run(name, func(t *testing.T) {
			isolate(t)
			t.Setenv("HTTP_PROXY", tt.environment)
			args := []string{"--base-url", "http://archive.test", "--api-key", "k-geheim", "--retry-for", "0s"}
			if tt.option != "" {
				args = append(args, "--proxy", tt.option)
			}
			all := diagnose(t, args...)
			wantFinding(t, all, "proxy", tt.level, tt.text, "")
			if tt.text != "none" {
				wantReached(t, all, "archive.test")
			}
		})
	}
}

func TestDoctorOfTheConfiguration(t *testing.T) {
	home := isolate(t)
	path := configure(t, home, "[profile.office]\nwrites = \"maybe\"\n")
	wantFinding(t, diagnose(t, "office"), "configuration", doctor.Failure, path+`:2: writes: "maybe" is neither sync nor async`, "archivefs config check shows all")
	configure(t, home, "tttl = 5\n")
	wantFinding(t, diagnose(t), "configuration", doctor.Failure, path+`:1: there is no key "tttl"`, "archivefs config check shows all")
	configure(t, home, "tttl = 5\nttttl = 5\n[profile.office]\nbase-url = \""+refusing(t)+"\"\napi-key = \"k-geheim\"\n")
	all := diagnose(t, "office")
	wantFinding(t, all, "configuration", doctor.Failure, "(and more: archivefs config check shows all)", "correct that")
	if do := all["configuration"].Do; do != "correct that" {
		t.Errorf("the same is said twice: %q", do)
	}
	wantFinding(t, all, "credentials", doctor.Failure, "the service refuses them", "check the API key") // the other checks go on
	all = diagnose(t, "no-such")
	if f, there := all["mount point"]; there || all["archive"].Level != "" {
		t.Errorf("what may be a profile is taken for a directory (%+v), or for the archive of one's own (%+v)", f, all["archive"])
	}
	made := filepath.Join(home, "made")
	configure(t, home, "[profile.office]\nbase-url = \""+refusing(t)+"\"\napi-key-command = \"touch "+made+"\"\n")
	if err := os.Chmod(path, 0o666); err != nil {
		t.Fatal(err)
	}
	wantFinding(t, diagnose(t, "office"), "configuration", doctor.Failure, "everybody can write to it", "")
	if _, err := os.Stat(made); !os.IsNotExist(err) {
		t.Errorf("a command was run that anybody may have written: %v", err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	configure(t, home, "")
	wantCall(t, 2, `--writes: "maybe" is neither sync nor async; see archivefs doctor --help`, "doctor", "--writes=maybe")
	wantCall(t, 2, "the embedded service needs no credentials", "doctor", "--api-key=k-geheim")
}

// Without a key all is examined that needs none.
func TestDoctorOfAStranger(t *testing.T) {
	home := isolate(t)
	url := knowing(t)
	all := diagnose(t, "--base-url", url)
	wantReached(t, all, url+"/api/v2")
	wantFinding(t, all, "TLS", doctor.OK, "none is needed", "")
	wantFinding(t, all, "clock", doctor.OK, "the same", "")
	wantFinding(t, all, "credentials", doctor.Failure, "an API key is required", "archivefs login --base-url URL asks for it and keeps it")
	wantFinding(t, all, "state", doctor.OK, home+"/.local/state/archivefs is made at the first mount", "")
	wantFinding(t, all, "space for uploads", doctor.OK, "free", "")
	all = diagnose(t, "--base-url", url, "--api-key-file", "/nowhere/key", "--state-dir", home)
	wantFinding(t, all, "credentials", doctor.Failure, "--api-key-file: open /nowhere/key: no such file or directory", "")
	wantFinding(t, all, "state", doctor.OK, home, "")
}

func TestDoctorOfADirectoryOfTheKernel(t *testing.T) {
	isolate(t)
	all := diagnose(t, "--base-url", knowing(t), "--api-key", "k-geheim", "--state-dir", "/proc/x")
	wantFinding(t, all, "state", doctor.Failure, "nothing can be kept in /proc/x, which is on no disk", "name another directory")
	wantFinding(t, all, "space for uploads", doctor.Failure, "nothing can be kept in /proc/x", "name another directory")
}

func TestDoctorOfTheState(t *testing.T) {
	home := isolate(t)
	url, state := knowing(t), filepath.Join(home, "state")
	doctorOf := func(key string) map[string]doctor.Finding {
		return diagnose(t, "--base-url", url, "--state-dir", state, "--api-key", key)
	}
	identity := url + "/api/v2 " + apiclient.Credentials{APIKey: "k-geheim"}.Identity()
	dirs, err := config.OpenDirs(state, identity)
	if err != nil {
		t.Fatal(err)
	}
	wantFinding(t, doctorOf("k-geheim"), "state", doctor.OK, state+" is in use by a mount", "")
	if err := dirs.Close(); err != nil {
		t.Fatal(err)
	}
	wantFinding(t, doctorOf("k-geheim"), "state", doctor.OK, state, "")
	other := doctorOf("k-other")
	wantFinding(t, other, "earlier key", doctor.Warning, state+" belongs to another API key (key:", "--identity key:")
	wantFinding(t, other, "state", doctor.OK, state, "")
	wantFinding(t, diagnose(t, "--base-url", url+"/x", "--state-dir", state, "--api-key", "k-geheim"), "state", doctor.Failure,
		"belongs to another archive or other credentials", "")
	if dirs, err = config.OpenDirs(state, identity); err != nil { // looking leaves no lock
		t.Fatal(err)
	}
	if err := dirs.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestDoctorOfAStaleMount(t *testing.T) {
	fusetest.Need(t)
	isolate(t)
	dir := t.TempDir()
	m := startMount(t, dir)
	m.line("mounted ")
	_, stdout, _ := call(t, "doctor", dir)
	if want := dir + " works\n"; !strings.Contains(stdout, want) {
		t.Errorf("got %s, want %s", stdout, want)
	}
	if err := m.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = m.wait() // it was killed
	status, stdout, stderr := call(t, "doctor", dir)
	want := dir + " is stale (Transport endpoint is not connected): the process behind it is gone; " +
		"archivefs unmount " + dir + " takes it away; then mount again, and what waited goes on\n"
	if status != 1 || !strings.Contains(stdout, want) || !strings.Contains(stderr, " failed\n") {
		t.Errorf("exit status %d, output %s, error %q; want %s", status, stdout, stderr, want)
	}
	wantCall(t, 0, "", "unmount", dir)
}
