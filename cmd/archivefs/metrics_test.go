package main

import (
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"github.com/archivefs/archivefs/cmd/archivefs/internal/command"
	"github.com/archivefs/archivefs/internal/testing/fusetest"
	"github.com/archivefs/archivefs/internal/testing/loopback"
)

func scrape(t *testing.T, address, path string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(resp.Body)
	if err := resp.Body.Close(); err != nil {
		t.Error(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

// freeAddress is one of loopback where nobody listens, and nobody begins to.
func freeAddress(t *testing.T) string {
	t.Helper()
	var lc net.ListenConfig
	ln, err := lc.Listen(t.Context(), "tcp", net.JoinHostPort(loopback.Own().String(), "0"))
	if err != nil {
		t.Fatal(err)
	}
	if err := ln.Close(); err != nil {
		t.Fatal(err)
	}
	return ln.Addr().String()
}

// A mount tells Prometheus what it did, without a name of a document, and a load balancer or
// a monitor whether its service answers.
func TestMetricsOfAMount(t *testing.T) {
	fusetest.Need(t)
	isolate(t)
	o := startOffice(t)
	dir, address := t.TempDir(), freeAddress(t)
	m := o.mount(dir, t.TempDir()+"/state", "--metrics", address, "--retry-for", "0s", "--ttl", "1ms")
	path := filepath.Join(dir, "My Archive", "Steuerbescheid.pdf")
	if err := os.WriteFile(path, []byte("%PDF-1.4\n%%EOF\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	status, text := scrape(t, address, "/metrics")
	if status != http.StatusOK {
		t.Fatalf("status %d: %s", status, text)
	}
	for _, want := range []string{
		"archivefs_service_up 1\n",
		`archivefs_requests_total{operation="file-upload"} 1` + "\n",
		`archivefs_request_duration_seconds_count{operation="file-upload"} 1` + "\n",
		`archivefs_request_wait_seconds_count{operation="file-upload"} 1` + "\n",
		`archivefs_fuse_duration_seconds_count{operation="CREATE"} 1` + "\n",
		`archivefs_fuse_duration_seconds_bucket{operation="FLUSH",le="+Inf"} 1` + "\n",
		`archivefs_fuse_duration_seconds_sum{operation="LOOKUP"} `,
		`archivefs_uploads{state="failed"} 0` + "\n",
		`archivefs_cache_misses_total{cache="documents"} `,
		`archivefs_build_info{version="` + command.Version() + `"} 1` + "\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "Steuerbescheid") || strings.Contains(text, `sent_bytes_total{operation="file-upload"} 0`+"\n") {
		t.Errorf("a name, or no bytes sent, in\n%s", text)
	}
	if problems, err := promlint.New(strings.NewReader(text)).Lint(); err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", problems, err)
	}
	if status, text := scrape(t, address, "/readyz"); status != http.StatusOK {
		t.Errorf("ready: %d %s", status, text)
	}
	o.running.stop()
	if _, err := os.ReadDir(filepath.Dir(path)); err != nil { // it is known, and finds out that the service is away
		t.Error(err)
	}
	if status, text := scrape(t, address, "/readyz"); status != http.StatusServiceUnavailable || !strings.Contains(text, "away") {
		t.Errorf("away: %d %s", status, text)
	}
	if _, text := scrape(t, address, "/metrics"); !strings.Contains(text, "archivefs_service_up 0\n") {
		t.Error("the service is up, it says")
	}
	m.stop()
	if _, err := net.Dial("tcp", address); err == nil { //nolint:noctx // loopback
		t.Error("it answers after the mount has ended")
	}
}

func TestMetricsAddress(t *testing.T) {
	isolate(t)
	dir := t.TempDir()
	if status, _, stderr := call(t, "mount", "--metrics", "9464", dir); status != 2 || !strings.Contains(stderr, "--metrics: \"9464\" is no address") {
		t.Errorf("exit status %d, error %q", status, stderr)
	}
	var lc net.ListenConfig
	taken, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close() //nolint:errcheck // nothing was asked of it
	if status, _, stderr := call(t, "mount", "--metrics", taken.Addr().String(), dir); status != 1 || !strings.Contains(stderr, "name another address") {
		t.Errorf("exit status %d, error %q", status, stderr)
	}
}
