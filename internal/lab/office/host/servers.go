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
	err = errors.Join(os.Mkdir(filepath.Join(h.dir, "samba"), 0o755),
		os.WriteFile(h.conf, []byte(fmt.Sprintf(global, h.dir, port)+section), 0o600))
	if err != nil {
		return err
	}
	return h.serve(ctx, "smbd", h.SMB, fmt.Sprintf("exec smbd -s %q -F --no-process-group </dev/null", h.conf))
}

// FTP is a server of FTP: the name of its program.
type FTP string

// The servers of FTP. Vsftpd says that all is written before it closes the file, and Proftpd after that.
const (
	Vsftpd  FTP = "vsftpd"
	Proftpd FTP = "proftpd"
)

// vsftpd lets everybody write to the inbox. Its root is not the mount, but the directory above: guests
// must not be able to write to it.
const vsftpd = `listen=YES
listen_address=127.0.0.1
listen_port=%[2]s
background=NO
anonymous_enable=YES
no_anon_password=YES
anon_root=%[1]s
ftp_username=%[4]s
write_enable=YES
anon_upload_enable=YES
anon_other_write_enable=YES
anon_world_readable_only=NO
anon_umask=0077
secure_chroot_dir=%[3]s
seccomp_sandbox=NO
pasv_address=127.0.0.1
`

// proftpd does the same, with the same root.
const proftpd = `ServerName office
ServerType standalone
DefaultAddress 127.0.0.1
SocketBindTight on
Port %[2]s
UseIPv6 off
UseReverseDNS off
UseFtpUsers off
User nobody
Group nogroup
AuthPAM off
DelayEngine off
WtmpLog off
TransferLog none
SystemLog %[3]s/log
PidFile %[3]s/pid
ScoreboardFile none
<Anonymous %[1]s>
  User %[4]s
  UserAlias anonymous %[4]s
  AnonRequirePassword off
  RequireValidShell off
  Umask 077
  AllowOverwrite on
  AllowStoreRestart on
</Anonymous>
`

// StartFTP starts a server of FTP and returns its address.
func (h *Host) StartFTP(ctx context.Context, server FTP) (address string, err error) {
	if address, err = freeAddress(ctx); err != nil {
		return "", err
	}
	format, line := vsftpd, "exec vsftpd %q </dev/null"
	if server == Proftpd {
		format, line = proftpd, "exec proftpd -n -c %q </dev/null"
	}
	dir := filepath.Join(h.dir, string(server))
	file := dir + ".conf"
	_, port, _ := net.SplitHostPort(address)
	if err := errors.Join(os.Mkdir(dir, 0o755), os.WriteFile(file, fmt.Appendf(nil, format, h.dir, port, dir, owner), 0o600)); err != nil { //nolint:gosec // it becomes another user
		return "", err
	}
	return address, h.serve(ctx, string(server), address, fmt.Sprintf(line, file))
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
