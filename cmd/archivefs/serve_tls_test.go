package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sirupsen/logrus"
)

// testPair are the files of a certificate for 127.0.0.1 and its key.
type testPair struct {
	cert, key string
	pool      *x509.CertPool // who trusts it
}

// certify writes a certificate of its own authority, with a serial number to tell it by.
func certify(t *testing.T, dir string, serial int64, lasts time.Duration) testPair {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: "office"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(lasts), IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, &template, &template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	p := testPair{cert: filepath.Join(dir, "cert.pem"), key: filepath.Join(dir, "key.pem"), pool: x509.NewCertPool()}
	for file, block := range map[string]*pem.Block{p.cert: {Type: "CERTIFICATE", Bytes: der}, p.key: {Type: "PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(file+".new", pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(file+".new", file); err != nil {
			t.Fatal(err)
		}
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	p.pool.AddCert(parsed)
	return p
}

// client trusts the pair alone.
func (p testPair) client(t *testing.T) *http.Client {
	t.Helper()
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: p.pool, MinVersion: tls.VersionTLS12}, ForceAttemptHTTP2: true}
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
	dir := t.TempDir()
	first := certify(t, dir, 1, 90*24*time.Hour)
	p := start(t, "serve", "--listen", "127.0.0.1:0", "--generate", "1x1", "--api-key", "k", "--tls-cert", first.cert, "--tls-key", first.key)
	address := strings.TrimSuffix(p.line("serving generated archive 1x1 at https://"), "/api/v2")
	old := first.client(t)
	if version, serial := healthy(t, old, address); version != 2 || serial != 1 {
		t.Errorf("HTTP/%d with certificate %d", version, serial)
	}
	if _, err := (&tls.Dialer{Config: &tls.Config{RootCAs: first.pool, MaxVersion: tls.VersionTLS11, MinVersion: tls.VersionTLS10}}).DialContext(t.Context(), "tcp", address); err == nil {
		t.Error("TLS 1.1 is spoken")
	}
	second := certify(t, dir, 2, 24*time.Hour)
	p.signal(syscall.SIGHUP)
	p.says("the certificate was read anew")
	p.says("renew it")
	if _, serial := healthy(t, second.client(t), address); serial != 2 {
		t.Errorf("certificate %d", serial)
	}
	healthy(t, old, address) // over the connection that it has: it does not trust the other one
	if err := os.WriteFile(second.key, []byte("nonsense"), 0o600); err != nil {
		t.Fatal(err)
	}
	p.signal(syscall.SIGHUP)
	p.says("the certificate stays as it was")
	healthy(t, second.client(t), address)
	p.stop()
}

// A certificate that has ended is not said to end.
func TestACertificateThatHasEnded(t *testing.T) {
	dir := t.TempDir()
	var said strings.Builder
	log := logrus.New()
	log.SetOutput(&said)
	for lasts, want := range map[time.Duration]string{-time.Minute: " ended at ", time.Hour: " ends at "} {
		said.Reset()
		pair := certify(t, dir, 1, lasts)
		c, err := openCertificate(pair.cert, pair.key, log)
		if err != nil {
			t.Fatal(err)
		}
		c.reload()
		other := map[string]string{" ended at ": " ends at ", " ends at ": " ended at "}[want]
		if strings.Count(said.String(), want) != 3 || strings.Contains(said.String(), other) || !strings.Contains(said.String(), "renew it") {
			t.Errorf("%s: %s", lasts, said.String())
		}
	}
}

// What certbot changes is seen without a signal.
func TestACertificateThatChangesIsReadAnew(t *testing.T) {
	dir := t.TempDir()
	pair := certify(t, dir, 1, time.Hour*24*90)
	log := logrus.New()
	log.SetOutput(io.Discard)
	c, err := openCertificate(pair.cert, pair.key, log)
	if err != nil {
		t.Fatal(err)
	}
	serial := func() int64 {
		got, err := c.get(nil)
		if err != nil {
			t.Fatal(err)
		}
		return got.Leaf.SerialNumber.Int64()
	}
	looked := func(at time.Time) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.looked = at
	}
	looked(time.Now())
	certify(t, dir, 2, time.Hour*24*90)
	if got := serial(); got != 1 {
		t.Errorf("certificate %d, as if the files were looked at for each connection", got)
	}
	looked(time.Time{})
	if got := serial(); got != 2 {
		t.Errorf("certificate %d", got)
	}
	if err := os.Remove(pair.key); err != nil {
		t.Fatal(err)
	}
	looked(time.Time{})
	if got := serial(); got != 2 {
		t.Errorf("certificate %d without its key", got)
	}
}

func TestServeWithAWrongCertificate(t *testing.T) {
	home := isolate(t)
	one, other := certify(t, t.TempDir(), 1, time.Hour), certify(t, t.TempDir(), 2, time.Hour)
	open := certify(t, t.TempDir(), 3, time.Hour)
	if err := os.Chmod(open.key, 0o644); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"no key":              {[]string{"--tls-cert", one.cert}, "go together"},
		"no certificate":      {[]string{"--tls-key", one.key}, "go together"},
		"a key of another":    {[]string{"--tls-cert", one.cert, "--tls-key", other.key}, "private key does not match public key"},
		"a key for everybody": {[]string{"--tls-cert", open.cert, "--tls-key", open.key}, "others can read"},
		"nothing there":       {[]string{"--tls-cert", one.cert + ".absent", "--tls-key", one.key}, "no such file"},
		"exchanged":           {[]string{"--tls-cert", one.key, "--tls-key", one.cert}, "--tls-cert"},
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
