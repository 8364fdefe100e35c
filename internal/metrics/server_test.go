package metrics

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func example() []Family {
	return []Family{
		One(Gauge, "archivefs_up", "Whether it answers.", 1),
		{Name: "archivefs_asked_total", Help: "Requests.", Labels: []string{"operation"}, Rows: []Row{{Labels: []string{"a\"b\n"}, Value: 3}}},
		{Name: "archivefs_took_seconds", Help: "Time.", Kind: Times, Labels: []string{"operation"}, Rows: []Row{{Labels: []string{"list"}, Times: Distribution{
			Bounds: []time.Duration{time.Millisecond, time.Second}, Counts: []int64{1, 2, 4}, Sum: 90 * time.Second,
		}}}},
	}
}

// get asks srv, over a socket or TCP.
func get(t *testing.T, srv *Server, path string) (status int, text string) {
	t.Helper()
	network := srv.listener.Addr().Network()
	transport := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, network, srv.Address())
	}}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://archivefs"+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	if err := resp.Body.Close(); err != nil {
		t.Error(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

func serve(t *testing.T, address string, source Source) *Server {
	t.Helper()
	srv, err := Serve(t.Context(), address, source)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := srv.Close(); err != nil {
			t.Error(err)
		}
	})
	return srv
}

func TestMetrics(t *testing.T) {
	srv := serve(t, "127.0.0.1:0", Source{Families: example})
	status, text := get(t, srv, "/metrics")
	if status != http.StatusOK {
		t.Fatalf("status %d: %s", status, text)
	}
	for _, want := range []string{
		"archivefs_up 1\n",
		`archivefs_asked_total{operation="a\"b\n"} 3` + "\n",
		`archivefs_took_seconds_bucket{operation="list",le="0.001"} 1` + "\n",
		`archivefs_took_seconds_bucket{operation="list",le="1"} 3` + "\n",
		`archivefs_took_seconds_bucket{operation="list",le="+Inf"} 7` + "\n",
		`archivefs_took_seconds_sum{operation="list"} 90` + "\n",
		`archivefs_took_seconds_count{operation="list"} 7` + "\n",
		"# TYPE archivefs_took_seconds histogram\n",
		"process_start_time_seconds ",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	problems, err := promlint.New(strings.NewReader(text)).Lint()
	if err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", problems, err)
	}
}

func TestHealthAndReadiness(t *testing.T) {
	why := "the service is away"
	srv := serve(t, "127.0.0.1:0", Source{Families: example, Ready: func() (bool, string) { return why == "", why }})
	if status, text := get(t, srv, "/healthz"); status != http.StatusOK || text != "ok\n" {
		t.Errorf("alive: %d %q", status, text)
	}
	if status, text := get(t, srv, "/readyz"); status != http.StatusServiceUnavailable || text != why+"\n" {
		t.Errorf("away: %d %q", status, text)
	}
	why = ""
	if status, text := get(t, srv, "/readyz"); status != http.StatusOK || text != "ok\n" {
		t.Errorf("ready: %d %q", status, text)
	}
	if status, _ := get(t, srv, "/"); status != http.StatusNotFound {
		t.Errorf("another path: %d", status)
	}
}

func TestSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "metrics.sock")
	srv := serve(t, "unix:"+path, Source{Families: example})
	if status, _ := get(t, srv, "/healthz"); status != http.StatusOK {
		t.Errorf("status %d", status)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if mode := info.Mode().Perm(); mode != 0o600 {
		t.Errorf("mode %o; others could ask", mode)
	}
	if _, err := Serve(t.Context(), "unix:"+path, Source{Families: example}); err == nil {
		t.Error("a socket that answers is taken away")
	}
}

// A program that was killed leaves its socket; a file is never taken for one.
func TestWhatLiesWhereTheSocketGoes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "metrics.sock")
	var lc net.ListenConfig
	ln, err := lc.Listen(t.Context(), "unix", path)
	if err != nil {
		t.Fatal(err)
	}
	ln.(*net.UnixListener).SetUnlinkOnClose(false) // of network unix
	if err := ln.Close(); err != nil {
		t.Fatal(err)
	}
	srv := serve(t, "unix:"+path, Source{Families: example})
	if status, _ := get(t, srv, "/healthz"); status != http.StatusOK {
		t.Errorf("status %d", status)
	}
	file := filepath.Join(t.TempDir(), "letter.pdf")
	if err := os.WriteFile(file, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Serve(t.Context(), "unix:"+file, Source{Families: example}); err == nil {
		t.Error("a file is replaced by a socket")
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "text" {
		t.Errorf("the file is %q now, %v", text, err)
	}
}

func TestCheckAddress(t *testing.T) {
	for address, ok := range map[string]bool{
		"127.0.0.1:0": true, ":9464": true, "[::1]:9464": true, "unix:/run/a.sock": true,
		"": false, "9464": false, "unix:a.sock": false, "unix:": false,
	} {
		if err := CheckAddress(address); (err == nil) != ok {
			t.Errorf("%q: %v", address, err)
		}
	}
}
