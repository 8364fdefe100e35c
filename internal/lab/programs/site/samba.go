//go:build linux

package site

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/archivefs/archivefs/internal/lab/bench/machine"
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

// startSamba exports the mount with the section that archivefs prints. Its files belong to root, who
// mounted it.
func (s *Site) startSamba(ctx context.Context) error {
	line := fmt.Sprintf("exec %q share samba --config %q --name archive --as root lab", s.program, s.path("config.toml"))
	section, err := machine.Run(ctx, line, []string{"HOME=" + s.dir}, patience)
	if err != nil {
		return err
	}
	if s.smb, err = machine.FreeAddress(ctx); err != nil {
		return err
	}
	_, port, _ := net.SplitHostPort(s.smb)
	conf := fmt.Sprintf(global, s.dir, port) + strings.Replace(section.Output, "/var/lib/samba/", filepath.Join(s.dir, "samba")+"/", 1) + "\n   guest ok = yes\n"
	file := s.path("smb.conf")
	if err := errors.Join(os.Mkdir(s.path("samba"), 0o700), os.WriteFile(file, []byte(conf), 0o600)); err != nil {
		return err
	}
	s.samba, err = machine.Start(ctx, fmt.Sprintf("exec smbd -s %q -F --no-process-group </dev/null", file), nil, s.path("smbd.log"))
	if err != nil {
		return err
	}
	var d net.Dialer
	return until(ctx, "smbd", s.samba, func() bool {
		conn, err := d.DialContext(ctx, "tcp", s.smb)
		return err == nil && conn.Close() == nil
	})
}
