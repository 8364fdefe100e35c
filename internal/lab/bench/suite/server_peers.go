//go:build linux

package suite

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/archivefs/archivefs/internal/lab/bench/machine"
)

// nginxConf serves the tree over WebDAV as fast as nginx can. It logs one line a request.
const nginxConf = `load_module %[4]s;
user root; worker_processes 2; pid %[1]s/nginx.pid; error_log %[1]s/error.log; daemon off;
events { worker_connections 512; }
http {
  dav_ext_lock_zone zone=dav:10m;
  log_format m '$request_method $status';
  access_log %[1]s/access.log m;
  client_body_temp_path %[1]s/t1; proxy_temp_path %[1]s/t2; fastcgi_temp_path %[1]s/t3; uwsgi_temp_path %[1]s/t4; scgi_temp_path %[1]s/t5;
  client_max_body_size 0; sendfile on; tcp_nopush on; keepalive_requests 1000000; keepalive_timeout 300; types { application/pdf pdf; }
  server {
    listen %[2]s; root "%[3]s";
    location / {
      dav_methods PUT DELETE MKCOL COPY MOVE; dav_ext_methods PROPFIND OPTIONS LOCK UNLOCK; dav_ext_lock zone=dav;
      create_full_put_path on; dav_access user:rw group:r all:r;
    }
  }
}
`

const sshdConf = `ListenAddress %[2]s
HostKey %[1]s/hostkey
AuthorizedKeysFile %[1]s/id.pub
PidFile %[1]s/sshd.pid
PermitRootLogin prohibit-password
PasswordAuthentication no
UsePAM no
StrictModes no
MaxSessions 50
MaxStartups 50
Subsystem sftp %[3]s
`

// sftpProgram is what packages configure sshd to start, or the one that sshd has in itself.
func sftpProgram() string {
	for _, path := range []string{"/usr/lib/openssh/sftp-server", "/usr/libexec/openssh/sftp-server", "/usr/lib/ssh/sftp-server"} {
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	return "internal-sftp"
}

// davModule is where packages put the module of nginx that lists directories over WebDAV.
func davModule() (string, error) {
	for _, dir := range []string{"/usr/lib/nginx/modules", "/usr/lib64/nginx/modules", "/usr/share/nginx/modules"} {
		path := filepath.Join(dir, "ngx_http_dav_ext_module.so")
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("nginx has no dav-ext module (Debian: libnginx-mod-http-dav-ext)")
}

func (b *Bench) startWebDAV(ctx context.Context) (*server, error) {
	module, err := davModule()
	if err != nil {
		return nil, err
	}
	address, err := freeAddress(ctx)
	if err != nil {
		return nil, err
	}
	dir := b.serverDir("nginx")
	conf := fmt.Sprintf(nginxConf, dir, address, b.corpus.Tree(), module)
	if err := writeServer(dir, "nginx.conf", conf); err != nil {
		return nil, err
	}
	s, err := b.start(ctx, webDAV, address, `exec nginx -c "$DIR/nginx.conf" -p "$DIR" -e "$DIR/error.log"`, "DIR="+dir)
	if err != nil {
		return nil, err
	}
	return s, s.await(ctx, time.Minute, s.listens)
}

func (b *Bench) startSFTP(ctx context.Context) (*server, error) {
	address, err := freeAddress(ctx)
	if err != nil {
		return nil, err
	}
	dir := b.serverDir("ssh")
	if err := writeServer(dir, "sshd_config", fmt.Sprintf(sshdConf, dir, address, sftpProgram())); err != nil {
		return nil, err
	}
	const keys = `for key in hostkey id; do [ -f "$DIR/$key" ] || ssh-keygen -q -t ed25519 -N '' -f "$DIR/$key"; done; mkdir -p /run/sshd`
	if _, err := machine.Run(ctx, keys, []string{"DIR=" + dir}, time.Minute); err != nil {
		return nil, err
	}
	s, err := b.start(ctx, sftp, address, `exec /usr/sbin/sshd -D -f "$DIR/sshd_config" -E "$DIR/error.log"`, "DIR="+dir)
	if err != nil {
		return nil, err
	}
	return s, s.await(ctx, time.Minute, s.listens)
}

func (b *Bench) serverDir(name string) string { return filepath.Join(b.dir, "servers", name) }

func writeServer(dir, name, text string) error {
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600)
}

// loggedRequests counts the lines of nginx's log by method.
func loggedRequests(_ context.Context, s *session) (map[string]int, error) {
	text, err := os.ReadFile(filepath.Join(s.b.serverDir("nginx"), "access.log"))
	if err != nil {
		return nil, err
	}
	counts := map[string]int{}
	for line := range strings.Lines(string(text)) {
		method, _, _ := strings.Cut(line, " ")
		counts[method]++
	}
	return counts, nil
}

// arrivedInTree looks for what was copied in the tree that is served.
func arrivedInTree(_ context.Context, s *session, name string) (files int, bytes int64, err error) {
	return filesBelow(filepath.Join(s.b.corpus.Tree(), "IN", name))
}

// arrivedInMount looks in the mount itself, where close waits until all is kept.
func arrivedInMount(_ context.Context, s *session, name string) (files int, bytes int64, err error) {
	return filesBelow(filepath.Join(s.mnt, "IN", name))
}

func filesBelow(path string) (files int, bytes int64, err error) {
	err = filepath.WalkDir(path, func(_ string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return ignoreAbsent(err)
		}
		info, err := d.Info()
		if err == nil {
			files++
			bytes += info.Size()
		}
		return ignoreAbsent(err)
	})
	return files, bytes, err
}

func ignoreAbsent(err error) error {
	if os.IsNotExist(err) {
		return nil
	}
	return err
}
