package main

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/archivefs/archivefs/cmd/archivefs/internal/mounted"
	"github.com/archivefs/archivefs/internal/testing/fusetest"
)

// revoked is a mount whose key was revoked.
type revoked struct {
	*program
	administrator
	url, mountpoint string
	key             string // its file
}

// newRevoked is one in which an upload failed of that.
func newRevoked(t *testing.T, options ...string) *revoked {
	r := revoke(t, options...)
	if err := os.WriteFile(r.inInbox("a.txt"), []byte("Inhalt"), 0o600); !errors.Is(err, syscall.EACCES) {
		t.Errorf("a file for a service that refuses the key: %v", err)
	}
	return r
}

// inInbox is a file in the inbox of the mount.
func (r *revoked) inInbox(name string) string {
	return filepath.Join(r.mountpoint, "inboxes", "Inbox", name)
}

// revoke mounts, with a state directory in its usual place, and revokes the key.
func revoke(t *testing.T, options ...string) *revoked {
	fusetest.Need(t)
	home := isolate(t)
	dir, _ := keptArchive(t)
	r := &revoked{administrator: administrator{t, dir}, mountpoint: t.TempDir(), key: filepath.Join(home, "key")}
	typing(t, "p-geheim\n")
	r.administrator.says(0, "added user", "users", "add", "erika")
	key := r.renews()
	r.url = start(t, "serve", "--listen", "127.0.0.1:0", "--data", dir).line("serving " + dir + " at ")
	r.program = r.mounts(options...)
	r.line("mounted " + r.url + " at " + r.mountpoint)
	if _, err := os.ReadDir(r.inInbox("")); err != nil {
		t.Fatal(err)
	}
	r.administrator.says(0, "revoked", "keys", "revoke", "1")
	heals(t, "the key is refused", func() bool { return statusOf(t, r.url+"/inboxes", key) == http.StatusUnauthorized })
	return r
}

// mounts begins a mount with the key in the file.
func (r *revoked) mounts(options ...string) *program {
	r.administrator.t.Helper()
	return startMount(r.administrator.t, r.mountpoint, append([]string{
		"--base-url", r.url, "--api-key-file", r.key, "--ttl", "1h",
	}, options...)...)
}

// renews puts a new key into the file of the mount.
func (r *revoked) renews() (key string) {
	r.administrator.t.Helper()
	key = strings.TrimSpace(r.administrator.says(0, "", "keys", "add"))
	if err := os.WriteFile(r.key, []byte(key), 0o600); err != nil {
		r.administrator.t.Fatal(err)
	}
	return key
}

// wantRefused fails unless the mount tells what failed, why, and what to do.
func (r *revoked) wantRefused(t *testing.T, cure string) {
	t.Helper()
	_, status, err := mounted.Status(r.mountpoint)
	if err != nil {
		t.Fatal(err)
	}
	if status.Cure != cure {
		t.Errorf("the cure is %q, want %q", status.Cure, cure)
	}
	_, table, _ := call(t, "status", r.mountpoint)
	for _, want := range []string{
		"health +away: the service refuses the credentials; what is known is shown; 1 upload failed, see archivefs uploads list " + regexp.QuoteMeta(r.mountpoint),
		"what to do +" + regexp.QuoteMeta(cure),
	} {
		if !regexp.MustCompile("(?m)^" + want + "$").MatchString(table) {
			t.Errorf("no line %q in\n%s", want, table)
		}
	}
	if !strings.Contains(table, "\nlast errors ") || !strings.Contains(table, "credentials refused (HTTP 401)") || strings.Contains(table, "uploads wait") {
		t.Errorf("the status says\n%s", table)
	}
	_, list, _ := call(t, "uploads", "list", r.mountpoint)
	if !strings.Contains(list, "  failed  ") || !strings.Contains(list, "inboxes/Inbox/a.txt  send the file: credentials refused (HTTP 401)") {
		t.Errorf("the list of uploads says\n%s", list)
	}
}

// Another key takes the place of the one that was revoked, and what failed is sent: with a user because that is the same,
// with the key alone because the archive is, and the user.
func TestRevokedKey(t *testing.T) {
	password := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(password, []byte("p-geheim"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		options []string
		says    string
	}{
		"of a user": {[]string{"--user", "erika", "--password-file", password}, "all that was known of the archive is asked for anew"},
		"alone":     {nil, "the API key was renewed: what waits, is kept and is cached under the one before (key:"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRevoked(t, tt.options...)
			r.wantRefused(t, fmt.Sprintf("put valid credentials where it has them from (archivefs login, or a file), then kill -HUP %d; archivefs uploads retry %s sends what failed",
				r.cmd.Process.Pid, r.mountpoint))
			r.renews()
			heals(t, "the mount says "+tt.says, func() bool { // what it knows is compared when it is on disk
				r.signal(syscall.SIGHUP)
				return strings.Contains(r.said(), tt.says)
			})
			if status, stdout, stderr := call(t, "uploads", "retry", r.mountpoint); status != 0 || !strings.Contains(stdout, "a.txt  stored in the inbox\n") {
				t.Errorf("retry: %d %s%s", status, stdout, stderr)
			}
			_, status, err := mounted.Status(r.mountpoint)
			if err != nil || status.Health != "ok" || status.Cure != "" {
				t.Errorf("%+v, %v", status, err)
			}
			r.stop()
		})
	}
}
