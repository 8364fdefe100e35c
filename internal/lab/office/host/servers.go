//go:build linux

package host

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/cloudsoda/go-smb2"

	"github.com/archivefs/archivefs/internal/lab/bench/machine"
	"github.com/archivefs/archivefs/internal/lab/smbd"
)

// startSamba starts Samba with the section that archivefs prints.
func (h *Host) startSamba(ctx context.Context) error {
	kind := "--each=" + strconv.FormatBool(h.options.Each)
	section, err := h.run(ctx, h.program, "share", "samba", "--config", h.profile, "--name", Share, "--as", owner, kind, "office")
	if err != nil {
		return err
	}
	if h.options.Own {
		section = strings.Replace(section, "   force user = "+owner+"\n", "", 1)
	}
	if h.options.Each {
		if section, err = h.eachOf(section); err != nil {
			return err
		}
	}
	var people []smbd.Person
	for i := range h.options.People {
		people = append(people, smbd.Person{Name: Person(i), ID: firstPerson + i})
	}
	h.samba, err = smbd.Start(ctx, h.dir, section, people)
	return err
}

// Person is the name of the account of a person.
func Person(i int) string { return fmt.Sprintf("person%02d", i+1) }

// firstPerson is the user id of the first person.
const firstPerson = 61001

// Login is a session of a person, or of a guest if the name is empty, over a connection to Samba.
func Login(ctx context.Context, conn net.Conn, person string) (*smb2.Session, *smb2.Share, error) {
	who := &smb2.NTLMInitiator{User: "guest"}
	if person != "" {
		who = &smb2.NTLMInitiator{User: person, Password: smbd.Password}
	}
	session, err := (&smb2.Dialer{Initiator: who}).DialConn(ctx, conn, conn.RemoteAddr().String())
	if err != nil {
		return nil, nil, err
	}
	share, err := session.WithContext(ctx).Mount(Share)
	return session, share, err
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
delete_failed_uploads=YES
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
  DeleteAbortedStores on
</Anonymous>
`

// StartFTP starts a server of FTP and returns its address.
func (h *Host) StartFTP(ctx context.Context, server FTP) (address string, err error) {
	if address, err = machine.FreeAddress(ctx); err != nil {
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
	return p.Listens(ctx, name, address, patience)
}
