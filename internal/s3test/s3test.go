// Package s3test runs a real S3 service for tests, versitygw, behind a proxy that can be told
// to fail. scripts/setup --test installs it.
package s3test

import (
	"context"
	"encoding/pem"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

// Credentials of the service.
const (
	AccessKey = "archivefs-test"
	SecretKey = "secret-0123456789"
)

// Service is a running S3 service.
type Service struct {
	// URL is where it answers.
	URL string
	// Client speaks to it as its owner.
	Client *minio.Core

	proxy *httputil.ReverseProxy
	mu    sync.Mutex
	fault func(w http.ResponseWriter, r *http.Request) bool // guarded by mu
}

// Start runs a service until the end of the test, and has the environment hold its
// credentials. Where it is not installed the test is skipped, or fails with
// ARCHIVEFS_REQUIRE_S3=1, which scripts/test sets.
func Start(t testing.TB) *Service {
	t.Helper()
	program := find(t)
	dir, err := os.MkdirTemp("", "s3") //nolint:usetesting // a socket's path has to be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	for _, name := range []string{"objects", "metadata"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	socket := filepath.Join(dir, "socket")
	// Not every file system has extended attributes, so what describes objects lies beside them.
	command := exec.Command(program, "--quiet", "--keep-alive", "--port", socket, //nolint:noctx,gosec // it ends with the test, and is what setup installed
		"posix", "--sidecar", filepath.Join(dir, "metadata"), filepath.Join(dir, "objects"))
	command.Env = append(os.Environ(), "ROOT_ACCESS_KEY_ID="+AccessKey, "ROOT_SECRET_ACCESS_KEY="+SecretKey)
	var said strings.Builder
	command.Stdout, command.Stderr = &said, &said
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = command.Wait()
	}()
	t.Cleanup(func() {
		_ = command.Process.Kill()
		<-ended
		if t.Failed() {
			t.Logf("the S3 service said:\n%s", said.String())
		}
	})
	await(t, socket, ended)
	s := &Service{}
	s.serve(t, socket)
	t.Setenv("AWS_ACCESS_KEY_ID", AccessKey)
	t.Setenv("AWS_SECRET_ACCESS_KEY", SecretKey)
	return s
}

// find is the installed program.
func find(t testing.TB) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(cache, "archivefs", "tools", "versitygw")
	if _, err := os.Stat(program); err != nil {
		if os.Getenv("ARCHIVEFS_REQUIRE_S3") == "1" {
			t.Fatalf("no S3 service here: %v", err)
		}
		t.Skipf("no S3 service here: %v; scripts/setup --test installs one", err)
	}
	return program
}

// await returns when the service answers.
func await(t testing.TB, socket string, ended <-chan struct{}) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		conn, err := new(net.Dialer).DialContext(t.Context(), "unix", socket)
		if err == nil {
			_ = conn.Close()
			return
		}
		select {
		case <-ended:
			t.Fatal("the S3 service ended at once")
		case <-t.Context().Done():
			t.Fatal("the S3 service did not answer")
		case <-tick.C:
		}
	}
}

// serve puts the proxy before the service: its port is known before it runs, and it can fail.
func (s *Service) serve(t testing.TB, socket string) {
	t.Helper()
	transport := &http.Transport{DisableCompression: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}
	s.proxy = &httputil.ReverseProxy{
		Transport: transport,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host = "http", "s3"
			r.Out.Host = r.In.Host // it is signed
		},
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	front := httptest.NewServer(s)
	t.Cleanup(func() {
		front.CloseClientConnections()
		front.Close()
		transport.CloseIdleConnections()
	})
	s.URL = front.URL
	client, err := minio.NewCore(front.Listener.Addr().String(), &minio.Options{
		Creds: credentials.NewStaticV4(AccessKey, SecretKey, ""), Region: "us-east-1", Transport: &http.Transport{DisableKeepAlives: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	s.Client = client
}

// ServeHTTP implements http.Handler.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	fault := s.fault
	s.mu.Unlock()
	if fault == nil || !fault(w, r) {
		s.Pass(w, r)
	}
}

// Secure has the service answer with TLS as well, and returns where. The environment makes
// its certificate trusted.
func (s *Service) Secure(t testing.TB) string {
	t.Helper()
	front := httptest.NewUnstartedServer(s)
	front.Config.ErrorLog = log.New(io.Discard, "", 0)
	front.StartTLS()
	t.Cleanup(front.Close)
	file := filepath.Join(t.TempDir(), "certificate")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: front.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("SSL_CERT_FILE", file)
	return front.URL
}

// Fail has each request pass fault before it reaches the service; what that answers true for
// ends there. Nil is no fault.
func (s *Service) Fail(fault func(w http.ResponseWriter, r *http.Request) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = fault
}

// Pass answers a request as the service does.
func (s *Service) Pass(w http.ResponseWriter, r *http.Request) { s.proxy.ServeHTTP(w, r) }

// Bucket makes a bucket and returns its address with these query parameters.
func (s *Service) Bucket(t testing.TB, name string, parameters ...string) string {
	t.Helper()
	if err := s.Client.MakeBucket(t.Context(), name, minio.MakeBucketOptions{}); err != nil {
		t.Fatal(err)
	}
	return "s3://" + name + "?" + strings.Join(append(parameters, "endpoint="+url.QueryEscape(s.URL)), "&")
}
