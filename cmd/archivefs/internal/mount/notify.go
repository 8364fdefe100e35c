package mount

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"

	"github.com/archivefs/archivefs/internal/notify"
)

// notifier tells the person at the desktop what goes wrong, until the session ends. It is nil with
// --notify none.
func (s *session) notifier(cure string) *notify.Notifier {
	if !s.settings.Notify {
		return nil
	}
	n := notify.New(notify.NewBus(s.showUploads), cure, s.log)
	s.later(n.Close)
	return n
}

// showUploads shows what waits and what failed, in a process of its own that may outlive the mount.
func (s *session) showUploads(token string) {
	program, err := os.Executable()
	if err != nil {
		s.log.Warnf("the uploads cannot be shown: %v", err)
		return
	}
	line := []string{program, "uploads", "show", "--", s.settings.Mountpoint}
	if manager, err := exec.LookPath("systemd-run"); err == nil && os.Getenv("INVOCATION_ID") != "" {
		// Else a browser that begins here would end with the unit of the mount.
		line = slices.Concat([]string{manager, "--user", "--quiet", "--collect", "--setenv=XDG_ACTIVATION_TOKEN=" + token}, line)
	}
	show := exec.Command(line[0], line[1:]...) //nolint:gosec,noctx // our own program, which ends by itself
	// It needs none of the mount's options, which may have secrets.
	show.Env = slices.DeleteFunc(os.Environ(), func(pair string) bool { return strings.HasPrefix(pair, "ARCHIVEFS_") })
	if token != "" {
		show.Env = append(show.Env, "XDG_ACTIVATION_TOKEN="+token)
	}
	show.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := show.Start(); err != nil {
		s.log.Warnf("the uploads cannot be shown: %v", err)
		return
	}
	go func() {
		if err := show.Wait(); err != nil {
			s.log.Warnf("archivefs uploads show: %v", err)
		}
	}()
}
