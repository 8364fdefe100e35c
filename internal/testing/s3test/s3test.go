// Package s3test runs a real S3 service for tests, versitygw, behind a proxy that can be told
// to fail. scripts/setup --test installs it.
package s3test

import (
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

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

	program *program
	front   *httptest.Server
	proxy   *httputil.ReverseProxy
	mu      sync.Mutex
	fault   func(w http.ResponseWriter, r *http.Request) bool // guarded by mu
}

// shared is the one service of a test process for all tests that need no more than a bucket.
var shared = sync.OnceValues(func() (*Service, error) {
	s, err := start()
	if err == nil {
		running.Store(s)
	}
	return s, err
})

// running is the shared service once it has been started.
var running atomic.Pointer[Service]

var buckets atomic.Int64

// End ends the service behind Bucket and removes its files. TestMain calls it after the tests;
// otherwise both happen once the process has ended, and take as long as the disk does.
func End() {
	if s := running.Load(); s != nil {
		s.end()
	}
}

func (s *Service) end() {
	s.front.CloseClientConnections()
	s.front.Close()
	s.program.end()
}

// Bucket returns the address of a new bucket, and has the environment hold the credentials for
// it. Where no S3 service is installed the test is skipped, or fails with ARCHIVEFS_REQUIRE_S3=1,
// which scripts/test sets.
func Bucket(t testing.TB) string {
	t.Helper()
	s, err := shared()
	s.need(t, err)
	return s.Bucket(t, fmt.Sprintf("bucket-%d", buckets.Add(1)))
}

// Start is Bucket with a service of the test's own, which may fail.
func Start(t testing.TB) *Service {
	t.Helper()
	s, err := start()
	s.need(t, err)
	t.Cleanup(func() {
		s.end()
		if t.Failed() {
			t.Logf("the S3 service said:\n%s", s.program.said.String())
		}
	})
	return s
}

func (s *Service) need(t testing.TB, err error) {
	t.Helper()
	switch {
	case err == nil:
	case errors.Is(err, fs.ErrNotExist) && os.Getenv("ARCHIVEFS_REQUIRE_S3") != "1":
		t.Skipf("%v; scripts/setup --test installs it", err)
	default:
		t.Fatal(err)
	}
	for name, value := range environment() {
		if os.Getenv(name) != value {
			t.Setenv(name, value)
		}
	}
}

func environment() map[string]string {
	return map[string]string{"AWS_ACCESS_KEY_ID": AccessKey, "AWS_SECRET_ACCESS_KEY": SecretKey}
}

// Login has the environment of the process hold the credentials. TestMain calls it where tests are parallel, which
// must not change the environment themselves.
func Login() error {
	var err error
	for name, value := range environment() {
		err = errors.Join(err, os.Setenv(name, value))
	}
	return err
}

func start() (*Service, error) {
	program, err := run()
	if err != nil {
		return nil, err
	}
	s := &Service{program: program}
	return s, s.serve(program.socket)
}

// serve puts the proxy before the service: its port is known before it runs, and it can fail.
func (s *Service) serve(socket string) (err error) {
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
	s.front = httptest.NewServer(s)
	s.URL = s.front.URL
	s.Client, err = minio.NewCore(s.front.Listener.Addr().String(), &minio.Options{
		Creds: credentials.NewStaticV4(AccessKey, SecretKey, ""), Region: "us-east-1", Transport: &http.Transport{DisableKeepAlives: true},
	})
	return err
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
