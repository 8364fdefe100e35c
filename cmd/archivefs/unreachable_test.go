package main

import (
	"bufio"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

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
