//go:build linux

// Package smbd runs a server of Samba for the laboratory: on loopback, with all files below one directory,
// and with accounts of people whom the machine does not know.
package smbd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/archivefs/archivefs/internal/lab/bench/machine"
)

// global is the head of smb.conf.
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

// accounts says where the accounts are: in a file that is written here, because smbpasswd(8), which makes
// and converts databases for its first account, has failed to add one.
const accounts = "   passdb backend = smbpasswd:%[1]s/smbpasswd\n"

// Person has an account.
type Person struct {
	Name string
	ID   int // of the user and of the group
}

// Password is that of all accounts.
const Password = "office"

// hashed is Password as NTLM has it: the MD4 of its UTF-16 ([MS-NLMP] 3.3.1).
const hashed = "8150660DA88C815FE07556B83B5AF0DB"

// Server is a running one.
type Server struct {
	Address string
	dir     string
	known   string // what makes the people known to a program
	process *machine.Process
}

// Start starts a server with the section that archivefs share samba prints, and waits until it listens.
// Without people everybody is a guest.
func Start(ctx context.Context, dir, section string, people []Person) (*Server, error) {
	address, err := machine.FreeAddress(ctx)
	if err != nil {
		return nil, err
	}
	s := &Server{Address: address, dir: dir}
	_, port, _ := strings.Cut(address, ":")
	conf := fmt.Sprintf(global, dir, port)
	if len(people) > 0 {
		conf += fmt.Sprintf(accounts, dir)
	}
	conf += "\n" + strings.Replace(section, "/var/lib/samba/", s.path("samba")+"/", 1)
	if len(people) == 0 {
		conf += "\n   guest ok = yes\n"
	}
	err = errors.Join(os.Mkdir(s.path("samba"), 0o755), //nolint:gosec // Samba becomes another user
		os.WriteFile(s.path("smb.conf"), []byte(conf), 0o600), s.admit(people))
	if err != nil {
		return nil, err
	}
	line := fmt.Sprintf("%s exec smbd -s %q -F --no-process-group </dev/null", s.known, s.path("smb.conf"))
	if s.process, err = machine.Start(ctx, line, []string{"HOME=" + dir}, s.path("smbd.log")); err != nil {
		return nil, err
	}
	if err := s.process.Listens(ctx, "smbd", address, patience); err != nil {
		s.Stop()
		return nil, err
	}
	return s, nil
}

// patience is how long a start may take on a busy machine.
const patience = 2 * time.Minute

func (s *Server) path(name string) string { return filepath.Join(s.dir, name) }

// admit writes the accounts, as smbpasswd(5) has them. The server alone knows their users, by
// nss_wrapper(1).
func (s *Server) admit(people []Person) error {
	if len(people) == 0 {
		return nil
	}
	passwd, err := os.ReadFile("/etc/passwd")
	if err != nil {
		return err
	}
	group, err := os.ReadFile("/etc/group")
	if err != nil {
		return err
	}
	var secrets []byte
	for _, p := range people {
		passwd = fmt.Appendf(passwd, "%s:x:%d:%d::/nonexistent:/usr/sbin/nologin\n", p.Name, p.ID, p.ID)
		group = fmt.Appendf(group, "%s:x:%d:\n", p.Name, p.ID)
		secrets = fmt.Appendf(secrets, "%s:%d:%s:%s:[U          ]:LCT-60000000:\n", p.Name, p.ID, strings.Repeat("X", 32), hashed)
	}
	s.known = fmt.Sprintf("export LD_PRELOAD=libnss_wrapper.so NSS_WRAPPER_PASSWD=%q NSS_WRAPPER_GROUP=%q;", s.path("passwd"), s.path("group"))
	return errors.Join(os.WriteFile(s.path("passwd"), passwd, 0o644), //nolint:gosec // as in /etc
		os.WriteFile(s.path("group"), group, 0o644), os.WriteFile(s.path("smbpasswd"), secrets, 0o600)) //nolint:gosec // as in /etc
}

// CloseShare disconnects the clients of a share. They connect again by themselves.
func (s *Server) CloseShare(ctx context.Context, share string) error {
	_, err := machine.Run(ctx, fmt.Sprintf("smbcontrol -s %q smbd close-share %q", s.path("smb.conf"), share), nil, patience)
	return err
}

// Stop ends the server.
func (s *Server) Stop() { s.process.Stop() }
