package main

import (
	"crypto/tls"
	"io"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/archivefs/archivefs/internal/testing/certtest"
)

// trusting is a client that trusts the pair alone.
func trusting(t *testing.T, p certtest.Pair) *http.Client {
	t.Helper()
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: p.Pool, MinVersion: tls.VersionTLS12}, ForceAttemptHTTP2: true}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// healthy asks a service over TLS, and tells the version of HTTP and the certificate's number.
func healthy(t *testing.T, client *http.Client, address string) (version int, serial int64) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+address+"/healthz", nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, response.Body)
	_ = response.Body.Close()
	if response.StatusCode != http.StatusOK {
		t.Error(response.Status)
	}
	return response.ProtoMajor, response.TLS.PeerCertificates[0].SerialNumber.Int64()
}

// A service speaks TLS and HTTP/2, takes a new certificate, and drops nobody for that.
func TestServeTLS(t *testing.T) {
	isolate(t)
	dir, data := t.TempDir(), t.TempDir()
	first := certtest.Write(t, dir, 1, 90*24*time.Hour)
	p := start(t, "serve", "--listen", "127.0.0.1:0", "--data", data, "--tls-cert", first.Cert, "--tls-key", first.Key)
	address := strings.TrimSuffix(p.line("serving "+data+" at https://"), "/api/v2")
	old := trusting(t, first)
	if version, serial := healthy(t, old, address); version != 2 || serial != 1 {
		t.Errorf("HTTP/%d with certificate %d", version, serial)
	}
	if _, err := (&tls.Dialer{Config: &tls.Config{RootCAs: first.Pool, MaxVersion: tls.VersionTLS11, MinVersion: tls.VersionTLS10}}).DialContext(t.Context(), "tcp", address); err == nil {
		t.Error("TLS 1.1 is spoken")
	}
	second := certtest.Write(t, dir, 2, 24*time.Hour)
	p.signal(syscall.SIGHUP)
	p.says("the certificate was read anew")
	p.says("renew it")
	if _, serial := healthy(t, trusting(t, second), address); serial != 2 {
		t.Errorf("certificate %d", serial)
	}
	healthy(t, old, address) // over the connection that it has: it does not trust the other one
	if err := os.WriteFile(second.Key, []byte("nonsense"), 0o600); err != nil {
		t.Fatal(err)
	}
	p.signal(syscall.SIGHUP)
	p.says("the certificate stays as it was")
	healthy(t, trusting(t, second), address)
	p.stop()
}

func TestServeWithAWrongCertificate(t *testing.T) {
	home := isolate(t)
	one, other := certtest.Write(t, t.TempDir(), 1, time.Hour), certtest.Write(t, t.TempDir(), 2, time.Hour)
	open := certtest.Write(t, t.TempDir(), 3, time.Hour)
	if err := os.Chmod(open.Key, 0o644); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"no key":              {[]string{"--tls-cert", one.Cert}, "go together"},
		"no certificate":      {[]string{"--tls-key", one.Key}, "go together"},
		"a key of another":    {[]string{"--tls-cert", one.Cert, "--tls-key", other.Key}, "private key does not match public key"},
		"a key for everybody": {[]string{"--tls-cert", open.Cert, "--tls-key", open.Key}, "others can read"},
		"nothing there":       {[]string{"--tls-cert", one.Cert + ".absent", "--tls-key", one.Key}, "no such file"},
		"exchanged":           {[]string{"--tls-cert", one.Key, "--tls-key", one.Cert}, "--tls-cert"},
	} {
		t.Run(name, func(t *testing.T) {
			status, stdout, stderr := call(t, append([]string{"serve", "--listen", "127.0.0.1:0"}, test.args...)...)
			if status != 2 || stdout != "" || !strings.Contains(stderr, test.want) || strings.Count(stderr, "\n") != 1 {
				t.Errorf("exit status %d, output %q, error %q; want 2 and %q", status, stdout, stderr, test.want)
			}
		})
	}
	wantUntouched(t, home)
}
