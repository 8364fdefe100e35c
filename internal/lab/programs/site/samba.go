//go:build linux

package site

import (
	"context"
	"fmt"

	"github.com/archivefs/archivefs/internal/lab/bench/machine"
	"github.com/archivefs/archivefs/internal/lab/smbd"
)

// startSamba exports the mount with the section that archivefs prints. Its files belong to root, who
// mounted it.
func (s *Site) startSamba(ctx context.Context) error {
	line := fmt.Sprintf("exec %q share samba --config %q --name archive --as root lab", s.program, s.path("config.toml"))
	section, err := machine.Run(ctx, line, []string{"HOME=" + s.dir}, patience)
	if err != nil {
		return err
	}
	s.samba, err = smbd.Start(ctx, s.dir, section.Output, nil)
	return err
}
