package main

import (
	"bufio"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// refusing is the address of a service that knows nobody's key.
func refusing(t *testing.T) string {
	t.Helper()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
	}))
	t.Cleanup(web.Close)
	return web.URL
}

// A mount that the service refuses leaves nothing behind.
func TestMountWithAWrongKey(t *testing.T) {
	home := isolate(t)
	mountpoint := t.TempDir()
	status, stdout, stderr := call(t, "mount", mountpoint, "--base-url", refusing(t), "--api-key", "k-geheim")
	if status != 1 || stdout != "" || !strings.Contains(stderr, "check the API key") || strings.Count(stderr, "\n") != 1 {
		t.Errorf("exit status %d, output %q, error %q; want 1 and a sentence about the key", status, stdout, stderr)
	}
	wantUntouched(t, home)
	wantUntouched(t, mountpoint)
}

// The option reaches the check by all its names; then it is the service that refuses.
func TestMountNonempty(t *testing.T) {
	isolate(t)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "letter"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	mount := []string{"mount", dir, "--base-url", refusing(t), "--api-key", "k-geheim"}
	if status, _, stderr := call(t, mount...); status != 1 || !strings.Contains(stderr, "-o nonempty") {
		t.Errorf("exit status %d, error %q; want 1 and a sentence about -o nonempty", status, stderr)
	}
	for _, option := range []string{"-ononempty", "--nonempty"} {
		if status, _, stderr := call(t, append(mount, option)...); status != 1 || !strings.Contains(stderr, "check the API key") {
			t.Errorf("%s: exit status %d, error %q; want 1 and a sentence about the key", option, status, stderr)
		}
	}
}

// wantCure fails the test unless a mount of the service says in one sentence what to do, and
// logs nothing.
func wantCure(t *testing.T, url, want string, options ...string) {
	t.Helper()
	isolate(t)
	status, _, stderr := call(t, append([]string{"mount", "--base-url=" + url, "--api-key=k", t.TempDir()}, options...)...)
	if status != 1 || !strings.HasSuffix(stderr, "; "+want+"\n") || strings.Count(stderr, "\n") != 1 {
		t.Errorf("exit status %d, error %q; want 1 and %q", status, stderr, want)
	}
}

func TestMountOnAServiceThatIsNotTrusted(t *testing.T) {
	service := httptest.NewUnstartedServer(http.NotFoundHandler())
	service.Config.ErrorLog = log.New(io.Discard, "", 0)
	service.StartTLS()
	t.Cleanup(service.Close)
	wantCure(t, service.URL, "name the certificate authority with --ca-file, if this is the right service")

	plain := "http" + strings.TrimPrefix(service.URL, "https")
	wantCure(t, plain, "if the service speaks https, write --base-url "+service.URL+"/api/v2")
}

func TestMountThroughAProxyThatIsNotThere(t *testing.T) {
	wantCure(t, "https://archive.test", "check --proxy (none for a service that is reached without one), --base-url and the network", "--proxy=127.0.0.1:9", "--retry-for=0s")
}

func TestMountOverHTTPSOfAServiceThatSpeaksHTTP(t *testing.T) {
	service := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(service.Close)
	wantCure(t, "https"+strings.TrimPrefix(service.URL, "http"), "the service speaks http: write --base-url "+service.URL+"/api/v2")
}

// Some services that speak TLS close a connection that does not.
func TestMountOnAServiceThatCloses(t *testing.T) {
	ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ln.Close() })
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			_, _ = bufio.NewReader(conn).ReadString('\n')
			_ = conn.Close()
		}
	}()
	address := ln.Addr().String()
	wantCure(t, "http://"+address, "if the service speaks https, write --base-url https://"+address+"/api/v2", "--retry-for=0s")
}

func TestMountOnNoService(t *testing.T) {
	service := httptest.NewServer(http.NotFoundHandler())
	service.Close()
	wantCure(t, service.URL, "check --base-url and the network", "--retry-for=0s")
}
