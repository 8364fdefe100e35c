package doctor

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/archivefs/archivefs/internal/fusectl"
)

// SELinuxFS is where the kernel shows its SELinux; there is nothing where it has none.
const SELinuxFS = "/sys/fs/selinux"

// SELinux warns if SELinux, as selinuxfs shows it, keeps Samba from what the archive at dir shares: its
// boolean for FUSE is off (samba_selinux(8)), and none of the mounts has given the archive another label.
func SELinux(selinuxfs, dir string, mounts []fusectl.Mounted) []Finding {
	enforces, _ := os.ReadFile(filepath.Join(selinuxfs, "enforce")) //nolint:gosec // of the kernel
	permits, err := os.ReadFile(filepath.Join(selinuxfs, "booleans", "samba_share_fusefs"))
	if err != nil || !strings.HasPrefix(string(enforces), "1") || !strings.HasPrefix(string(permits), "0") {
		return nil
	}
	for _, m := range mounts {
		if strings.HasPrefix(dir+"/", m.Dir+"/") && m.Kind == Kind && strings.Contains(m.Options, "context=") {
			return nil
		}
	}
	return []Finding{Warn("share", "SELinux keeps Samba from "+dir, "setsebool -P samba_share_fusefs on, as root")}
}
