package closing

import (
	"os"
	"strconv"
	"strings"

	"github.com/archivefs/archivefs/internal/fusectl"
)

// Unseen says which programs cannot be looked at here, so that one which was killed while it wrote cannot
// be told from one that has finished; empty if all can. others says that other users have access.
func (*Mounts) Unseen(others bool) string {
	namespace, err := os.Readlink("/proc/self/ns/pid")
	switch {
	case err != nil:
		return "any program, because /proc is not mounted"
	case otherProc():
		return "any program, because /proc is that of another PID namespace"
	case namespace != "pid:[4026531836]": // PROC_PID_INIT_INO of the kernel
		return "programs outside the PID namespace (the container) that it runs in"
	case others && os.Geteuid() != 0 && hides(fusectl.Mounts("self")):
		return "programs of other users, because /proc is mounted with hidepid"
	}
	return ""
}

// otherProc reports whether /proc has the processes of another PID namespace.
func otherProc() bool {
	self, err := os.Readlink("/proc/self")
	return err == nil && self != strconv.Itoa(os.Getpid())
}

// hides reports whether /proc is mounted with hidepid (proc(5)).
func hides(all []fusectl.Mounted) (hidden bool) {
	for _, at := range all {
		if at.Dir == "/proc" { // the last one is on top
			_, how, given := strings.Cut(at.Options, "hidepid=")
			hidden = given && !strings.HasPrefix(how, "0") && !strings.HasPrefix(how, "off")
		}
	}
	return hidden
}
