//go:build linux

package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/archivefs/archivefs/internal/lab/bench/machine"
)

// nginxConfig is a server of static files and nothing else, in the foreground.
const nginxConfig = `daemon off;
worker_processes auto;
pid %[1]s/nginx.pid;
error_log %[1]s/error.log;
events { worker_connections 1024; }
http {
  access_log off;
  sendfile on;
  tcp_nopush on;
  keepalive_requests 1000000;
  client_body_temp_path %[1]s/body;
  proxy_temp_path %[1]s/proxy;
  fastcgi_temp_path %[1]s/fastcgi;
  uwsgi_temp_path %[1]s/uwsgi;
  scgi_temp_path %[1]s/scgi;
  server { listen %[2]s; root %[1]s/files; }
}
`

// measureNginx measures what the machine gives at most: the same bytes as a static file,
// without a database or credentials. Without nginx there is no such row.
func measureNginx(ctx context.Context, o options, dir string) (results []result, err error) {
	if _, err := exec.LookPath("nginx"); err != nil {
		progress("nginx is not installed, and not measured")
		return nil, nil
	}
	dir = filepath.Join(dir, "nginx")
	if err := os.MkdirAll(filepath.Join(dir, "files"), 0o755); err != nil { //nolint:gosec // its workers are another user
		return nil, err
	}
	for d := dir; d != filepath.Dir(filepath.Dir(dir)); d = filepath.Dir(d) {
		if err := os.Chmod(d, 0o755); err != nil { //nolint:gosec // its workers are another user
			return nil, err
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "files", "content"), pdf(contentSize, 0), 0o644); err != nil { //nolint:gosec // as above
		return nil, err
	}
	address, err := freeAddress(ctx)
	if err != nil {
		return nil, err
	}
	config := filepath.Join(dir, "nginx.conf")
	if err := os.WriteFile(config, fmt.Appendf(nil, nginxConfig, dir, address), 0o600); err != nil {
		return nil, err
	}
	process, err := machine.Start(ctx, `exec nginx -c "$CONFIG" -e "$CONFIG.log"`, []string{"CONFIG=" + config}, filepath.Join(dir, "log"))
	if err != nil {
		return nil, err
	}
	defer process.Stop()
	dialer := net.Dialer{Timeout: time.Second}
	if err := awaitStart(ctx, process, func() bool {
		c, err := dialer.DialContext(ctx, "tcp", address)
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	}); err != nil {
		return nil, fmt.Errorf("start nginx: %w", err)
	}
	static := operation{"the same 1 MiB from nginx", func(ctx context.Context, _ *rand.Rand) (*http.Request, error) {
		return http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/content", nil)
	}}
	for _, connections := range o.connections {
		progress("nginx, %d connections", connections)
		r, err := measure(ctx, static, connections, o.each)
		if err != nil {
			return nil, fmt.Errorf("nginx: %w", err)
		}
		results = append(results, r)
	}
	return results, nil
}

// freeAddress is one at which nobody listens.
func freeAddress(ctx context.Context) (string, error) {
	ln, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return ln.Addr().String(), ln.Close()
}
