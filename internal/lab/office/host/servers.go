//go:build linux

package host

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
)

// global is the head of smb.conf: guests only, on loopback, with all files below one directory.
const global = `[global]
   server role = standalone
   map to guest = Bad User
   guest account = nobody
   smb ports = %[2]s
   interfaces = lo
   bind interfaces only = yes
   disable spoolss = yes
   load printers = no
   log level = 1
   log file = %[1]s/samba.log
   private dir = %[1]s/samba
   lock directory = %[1]s/samba
   state directory = %[1]s/samba
   cache directory = %[1]s/samba
   pid directory = %[1]s/samba
   ncalrpc dir = %[1]s/samba/ncalrpc

`

// startSamba starts Samba with the section that archivefs prints.
func (h *Host) startSamba(ctx context.Context) error {
	section, err := h.run(ctx, h.program, "share", "samba", "--config", h.profile, "--name", Share, "--as", owner, "office")
	if err != nil {
		return err
	}
	if h.SMB, err = freeAddress(ctx); err != nil {
		return err
	}
	section = strings.Replace(section, "/var/lib/samba/", filepath.Join(h.dir, "samba")+"/", 1) + "   guest ok = yes\n"
	_, port, _ := net.SplitHostPort(h.SMB)
	err = errors.Join(os.Mkdir(filepath.Join(h.dir, "samba"), 0o755), //nolint:gosec // Samba becomes another user
		os.WriteFile(h.conf, []byte(fmt.Sprintf(global, h.dir, port)+section), 0o600))
	if err != nil {
		return err
	}
	return h.serve(ctx, "smbd", h.SMB, fmt.Sprintf("exec smbd -s %q -F --no-process-group </dev/null", h.conf))
}

// vsftpd lets everybody write to the inbox.
const vsftpd = `listen=YES
listen_address=127.0.0.1
listen_port=%[2]s
background=NO
anonymous_enable=YES
no_anon_password=YES
anon_root=%[1]s
ftp_username=ftp
write_enable=YES
anon_upload_enable=YES
anon_other_write_enable=YES
anon_world_readable_only=NO
anon_umask=0077
secure_chroot_dir=%[3]s
seccomp_sandbox=NO
pasv_address=127.0.0.1
`

// StartFTP starts a server of FTP and returns its address. Its root is not the mount, but the directory
// above: guests must not be able to write to it.
func (h *Host) StartFTP(ctx context.Context) (address string, err error) {
	if address, err = freeAddress(ctx); err != nil {
		return "", err
	}
	dir, file := filepath.Join(h.dir, "ftp"), filepath.Join(h.dir, "vsftpd.conf")
	_, port, _ := net.SplitHostPort(address)
	if err := errors.Join(os.Mkdir(dir, 0o755), os.WriteFile(file, fmt.Appendf(nil, vsftpd, h.dir, port, dir), 0o600)); err != nil { //nolint:gosec // it becomes another user
		return "", err
	}
	return address, h.serve(ctx, "vsftpd", address, fmt.Sprintf("exec vsftpd %q </dev/null", file))
}

// serve starts a server and waits until it listens.
func (h *Host) serve(ctx context.Context, name, address, line string) error {
	p, err := h.launch(ctx, name, line)
	if err != nil {
		return err
	}
	h.servers = append(h.servers, p)
	var d net.Dialer
	return h.until(ctx, name, p, func() bool {
		conn, err := d.DialContext(ctx, "tcp", address)
		return err == nil && conn.Close() == nil
	})
}
