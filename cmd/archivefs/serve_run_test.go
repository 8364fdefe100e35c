package main

import (
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
)

// A service tells Prometheus what it does, without a name of a document or a user.
func TestMetricsOfAService(t *testing.T) {
	home := isolate(t)
	metrics := freeAddress(t)
	p := start(t, "serve", "--listen", "127.0.0.1:0", "--data", filepath.Join(home, "office"), "--api-key", "k", "--metrics", metrics)
	address := strings.TrimSuffix(strings.TrimPrefix(p.line("serving "), filepath.Join(home, "office")+" at http://"), "/api/v2")
	for path, want := range map[string]int{"/api/v2/inboxes": 401, "/api/v2/openapi.json": 200, "/healthz": 200, "/readyz": 200} {
		if status, text := scrape(t, address, path); status != want {
			t.Errorf("%s: %d %s", path, status, text)
		}
	}
	status, text := 0, ""
	heals(t, "the service has done everything", func() bool { // a client may have its answer before
		status, text = scrape(t, metrics, "/metrics")
		return strings.Contains(text, `requests_total{method="GET",route="/api/v2/openapi.json",status="2xx"} 1`) &&
			strings.Contains(text, "requests_in_flight 0") && strings.Contains(text, `connections{pool="write",state="used"} 0`)
	})
	if status != http.StatusOK {
		t.Fatalf("status %d: %s", status, text)
	}
	for _, want := range []string{
		`archivefs_server_requests_total{method="other",route="other",status="4xx"} 1`,
		`archivefs_server_denied_total{reason="no-credentials"} 1`,
		`archivefs_server_requests_total{method="POST",route="/api/v2/file-upload",status="2xx"} 0`,
		`archivefs_server_request_duration_seconds_count{method="GET",route="/healthz"} 1`,
		"archivefs_server_folders 2", "archivefs_server_documents 0", "archivefs_server_ready 1", "archivefs_build_info{version=",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if problems, err := promlint.New(strings.NewReader(text)).Lint(); err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", problems, err)
	}
	if status, text := scrape(t, metrics, "/readyz"); status != http.StatusOK {
		t.Errorf("readiness: %d %s", status, text)
	}
	p.stop()
}

// A service that ends says so first, waits for what is under way, and ends at once when it is
// told again.
func TestServeEndsInOrder(t *testing.T) {
	home := isolate(t)
	metrics := freeAddress(t)
	p := start(t, "serve", "--listen", "127.0.0.1:0", "--data", filepath.Join(home, "office"), "--api-key", "k", "--metrics", metrics,
		"--drain-delay", "1h", "--drain", "1h")
	address := strings.TrimSuffix(strings.TrimPrefix(p.line("serving "), filepath.Join(home, "office")+" at http://"), "/api/v2")
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	upload := "POST /api/v2/file-upload HTTP/1.1\r\nHost: h\r\nAPI-Key: k\r\nContent-Type: multipart/form-data; boundary=XX\r\nContent-Length: 9999\r\n\r\n" +
		"--XX\r\nContent-Disposition: form-data; name=\"upload-data\"; filename=\"a.txt\"\r\n\r\nhalf"
	if _, err := io.WriteString(conn, upload); err != nil {
		t.Fatal(err)
	}
	heals(t, "the upload begins", func() bool {
		_, text := scrape(t, metrics, "/metrics")
		return strings.Contains(text, "archivefs_server_uploads_in_flight 1")
	})
	p.signal(os.Interrupt)
	heals(t, "the service is not ready any more", func() bool {
		status, text := scrape(t, address, "/readyz")
		return status == http.StatusServiceUnavailable && text == "the service is ending\n"
	})
	if status, _ := scrape(t, address, "/healthz"); status != http.StatusOK {
		t.Errorf("it is alive and answers %d", status)
	}
	p.signal(syscall.SIGTERM)
	p.wantExit(0)
	for _, want := range []string{
		`level=info msg="the service ends: interrupt signal received" at-most=2h0m0s requests=1`,
		`level=warning msg="the service ends at once: terminated signal received"`,
		`level=warning msg="requests are cut off at the end" requests=1`, `level=info msg="the service has ended" seconds=`,
	} {
		if !strings.Contains(p.said(), want) {
			t.Errorf("no %q in\n%s", want, p.said())
		}
	}
	staged, err := os.ReadDir(filepath.Join(home, "office", "contents", "incoming"))
	if err != nil || len(staged) > 0 {
		t.Errorf("the upload left %v, %v", staged, err)
	}
}

func TestServeRefusesLimitsThatMakeNoSense(t *testing.T) {
	home := isolate(t)
	for _, args := range [][]string{
		{"--max-requests", "0"}, {"--max-uploads", "-1"}, {"--stall", "0s"}, {"--drain", "-1s"}, {"--drain-delay", "-1s"}, {"--metrics", "9464"},
	} {
		status, stdout, stderr := call(t, append([]string{"serve", "--listen", "127.0.0.1:0"}, args...)...)
		if status != 2 || stdout != "" || !strings.HasPrefix(stderr, "archivefs: --") || !strings.Contains(stderr, args[0]) {
			t.Errorf("%v: exit status %d, output %q, error %q", args, status, stdout, stderr)
		}
	}
	wantUntouched(t, home)
}
