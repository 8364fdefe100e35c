package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zalando/go-keyring"

	"github.com/archivefs/archivefs/internal/config"
	"github.com/archivefs/archivefs/internal/testing/spooltest"
)

// knowing is the address of a service that knows k-geheim, and erika with p-geheim.
func knowing(t *testing.T) string {
	t.Helper()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, basic := r.BasicAuth()
		if r.Header.Get("API-Key") != "k-geheim" || basic && (user != "erika" || password != "p-geheim") {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		_, _ = w.Write([]byte(`{"folders":[]}`))
	}))
	t.Cleanup(web.Close)
	return web.URL
}

// typing gives the program text as its standard input.
func typing(t *testing.T, text string) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.WriteString(text); err != nil {
		t.Fatal(err)
	}
	_ = w.Close()
	before := os.Stdin
	os.Stdin = r
	t.Cleanup(func() {
		os.Stdin = before
		_ = r.Close()
	})
}

// withKeyring gives the test an empty keyring of its own.
func withKeyring(t *testing.T) {
	t.Helper()
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nowhere")
	keyring.MockInit()
	t.Cleanup(keyring.MockInit)
}

// wantCall fails the test unless a command line ends with the status and says want, and never
// a secret.
func wantCall(t *testing.T, status int, want string, args ...string) {
	t.Helper()
	got, stdout, stderr := call(t, args...)
	if got != status || !strings.Contains(stdout+stderr, want) {
		t.Errorf("%s: exit status %d, output %q, error %q; want %d and %q", strings.Join(args, " "), got, stdout, stderr, status, want)
	}
	if strings.Contains(stdout+stderr, "geheim") {
		t.Errorf("a secret shows in %q and %q", stdout, stderr)
	}
}

func TestLogin(t *testing.T) {
	home := isolate(t)
	withKeyring(t)
	url := knowing(t)
	configure(t, home, "[profile.office]\nbase-url = \""+url+"\"\nuser = \"erika\"\nmountpoint = \"~/missing\"\n")

	wantCall(t, 2, "an API key is required; archivefs login office asks for it and keeps it", "mount", "office")
	typing(t, "k-geheim\nwrong-geheim\n")
	wantCall(t, 1, "not logged in at "+url+"/api/v2: ", "login", "office")
	wantCall(t, 2, "an API key is required", "mount", "office")

	typing(t, "k-geheim\r\np-geheim\n")
	wantCall(t, 0, "logged in to "+url+"/api/v2; the credentials are kept in the system keyring\n", "login", "office")
	wantCall(t, 1, "there is no directory "+home+"/missing", "mount", "office") // so it has its credentials
	wantCall(t, 2, "is for "+url+"/api/v2, and not for https://other.example/api/v2; archivefs login office asks",
		"mount", "office", "--base-url", "https://other.example")
	wantCall(t, 2, "an API key is required; archivefs login --base-url URL asks", "mount", "--base-url", url, home)

	wantCall(t, 0, "logged out of "+url+"/api/v2; the credentials are gone from the system keyring\n", "logout", "office")
	wantCall(t, 0, "there was no login of office\n", "logout", "office")
	wantCall(t, 2, "an API key is required", "mount", "office")
}

func TestLoginWithoutAKeyring(t *testing.T) {
	home := isolate(t)
	url := knowing(t)
	typing(t, "k-geheim\n")
	kept := filepath.Join(home, ".local", "state", "archivefs", "login")
	wantCall(t, 0, "/.local/state/archivefs/login/http:%2F%2F127.0.0.1:", "login", "--base-url", url)
	files, err := os.ReadDir(kept)
	if err != nil || len(files) != 1 {
		t.Fatalf("the files are %v, %v", files, err)
	}
	mountpoint := filepath.Join(home, "missing")
	wantCall(t, 1, "there is no directory", "mount", "--base-url", url, mountpoint)
	wantCall(t, 1, "there is no directory", "mount", "--base-url", url+"/api/v2/", mountpoint)
	wantCall(t, 0, "the credentials are gone from "+kept, "logout", "--base-url", url)
	if _, err := os.Stat(kept); !os.IsNotExist(err) {
		t.Errorf("%s is left: %v", kept, err)
	}
}

func TestLoginRefuses(t *testing.T) {
	tests := []struct {
		name, config, typed, line string
		want                      string
	}{
		{"no service", "", "", "login", "login is about an archive service: name it with --base-url"},
		{"no profile of that name", "[profile.office]\nttl = \"1m\"\n", "", "login offce", `there is no profile "offce" in the configuration (did you mean office?)`},
		{"two profiles", "", "", "login a b", "login takes one PROFILE at most, and was given 2 operands"},
		{"nothing typed", "", "", "login --base-url https://archive.example", "a line of standard input is missing (API key); the API key comes first, and then the password of the user"},
		{
			"a password that was not typed", "", "k-geheim\n", "login --base-url https://archive.example --user erika",
			"a line of standard input is missing (Password of erika); the",
		},
		{
			"a profile with a key", "[profile.office]\nbase-url = \"https://archive.example\"\napi-key = \"k-geheim\"\n", "k-geheim\n", "login office",
			"config.toml:3 says the credentials already, with api-key; leave that out there to keep them by login",
		},
		{"Cloud-ID and user", "", "k-geheim\np-geheim\n", "login --base-url https://archive.example --user erika --cloud-id c", "--cloud-id: "},
		{"an address without a scheme", "", "k-geheim\n", "login --base-url archive.example", "--base-url: add http:// or https://"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			home := isolate(t)
			configure(t, home, tt.config)
			typing(t, tt.typed)
			wantCall(t, 2, tt.want, strings.Fields(tt.line)...)
		})
	}
}

func TestCredentialsOfACommand(t *testing.T) {
	home := isolate(t)
	url := knowing(t)
	missing := filepath.Join(home, "missing")
	wantCall(t, 1, "there is no directory", "mount", "--base-url", url, "--api-key-command", "echo k-geheim", missing)
	wantCall(t, 2, "--api-key-command: the command failed: exit status 1; see", "mount", "--base-url", url, "--api-key-command", "echo k-geheim; exit 1", missing)
	wantCall(t, 2, "--password-command: the first line that the command prints is empty", "mount", "--base-url", url,
		"--api-key", "k-geheim", "--user", "erika", "--password-command", "true", missing)
	wantCall(t, 2, "--api-key-file and --api-key-command say the same: give one of them", "mount", "--base-url", url,
		"--api-key-command", "echo k-geheim", "--api-key-file", "/key", missing)
	file := configure(t, home, "[profile.office]\nbase-url = \""+url+"\"\napi-key-command = \"exit 7\"\n")
	wantCall(t, 2, file+":3: api-key-command: the command failed: exit status 7; see", "mount", "office", missing)
	wantCall(t, 0, "right", "config", "check") // runs no command
}

func TestCredentialsOfTheServiceManager(t *testing.T) {
	home := isolate(t)
	dir := t.TempDir()
	for name, text := range map[string]string{"api-key": "k-geheim\n", "password": "p-geheim\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o400); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("CREDENTIALS_DIRECTORY", dir)
	t.Setenv("HOME", "") // as for a service of the system
	mount := []string{"mount", "--base-url", refusing(t), "--state-dir", filepath.Join(home, "state")}
	wantCall(t, 1, "check the API key", append(mount, "--user=erika", t.TempDir())...)
	wantCall(t, 1, "check the API key", append(mount, t.TempDir())...)
	t.Setenv("CREDENTIALS_DIRECTORY", "")
	wantCall(t, 2, "an API key is required", append(mount, t.TempDir())...)
}

func TestLogoutPurges(t *testing.T) {
	home := isolate(t)
	withKeyring(t)
	url := knowing(t)
	configure(t, home, "[profile.office]\nbase-url = \""+url+"\"\nuser = \"erika\"\n")
	typing(t, "k-geheim\np-geheim\n")
	wantCall(t, 2, "the operand of login is empty", "login", "")
	wantCall(t, 0, "logged in", "login", "office")
	dirs, err := config.OpenDirs("", url+"/api/v2 basic:erika")
	if err != nil {
		t.Fatal(err)
	}
	read := filepath.Join(dirs.Cache, "content", "read.pdf")
	if err := os.MkdirAll(filepath.Dir(read), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(read, []byte("a letter"), 0o600); err != nil {
		t.Fatal(err)
	}
	wantCall(t, 1, "is in use by another mount", "logout", "office", "--purge")
	if err := dirs.Close(); err != nil {
		t.Fatal(err)
	}

	queue := filepath.Join(dirs.State, "spool")
	spooltest.Orphan(t, queue, "dn0yb93wtpu0", []byte("Inhalt")) // without a record: it is damaged
	wantCall(t, 1, "1 upload is not archived yet (in "+dirs.State+"), so nothing was removed; mount the archive", "logout", "office", "--purge")
	if err := os.RemoveAll(queue); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(read); err != nil {
		t.Errorf("a refused purge removed the cache: %v", err)
	}

	wantCall(t, 0, "removed "+dirs.Cache+"\nlogged out of", "logout", "office", "--purge")
	if _, err := os.Stat(dirs.Cache); !os.IsNotExist(err) {
		t.Errorf("the cache is left: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dirs.State, "archive")); err != nil {
		t.Errorf("the state is gone as well: %v", err)
	}
	wantCall(t, 2, "it is not known whose cache to remove", "logout", "--base-url", url, "--purge")
	wantCall(t, 0, "there was no login", "logout", "--base-url", url, "--api-key=k-geheim", "--purge") // which never was mounted
}

// What a login keeps is read by nobody but this program.
func TestLoginIsJSON(t *testing.T) {
	isolate(t)
	withKeyring(t)
	url := knowing(t)
	typing(t, "k-geheim\n")
	wantCall(t, 0, "logged in", "login", "--base-url", url)
	text, err := keyring.Get("archivefs", url+"/api/v2")
	if err != nil || !json.Valid([]byte(text)) || !bytes.Contains([]byte(text), []byte("k-geheim")) {
		t.Errorf("the keyring has %q, %v", text, err)
	}
}
