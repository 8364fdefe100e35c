package mount

import (
	"context"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/archivefs/archivefs/internal/network"
	"github.com/archivefs/archivefs/internal/notify"
	"github.com/archivefs/archivefs/internal/power"
)

const (
	// sleepGrace is how long requests in flight have to end by themselves before the machine sleeps.
	sleepGrace = time.Second
	// sleepLimit is how long the machine waits for the end of all requests: less than the 5 s of
	// logind (logind.conf(5), InhibitDelayMaxSec).
	sleepLimit = 3 * time.Second
)

// followMachine lets the mount sleep and wake with the machine, and learn of another network, until end
// is called. The embedded service needs neither.
func (s *session) followMachine(ctx context.Context) (end func()) {
	if s.settings.Embedded {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	all.Go(func() {
		if err := power.Watch(ctx, machine{s, ctx, &all}); err != nil {
			s.log.Debugf("the mount does not notice when the machine sleeps: %v", err)
		}
	})
	all.Go(func() {
		if err := network.Watch(ctx, func() { s.reconnect(ctx, "the network has changed") }); err != nil {
			s.log.Debugf("the mount does not notice another network: %v", err)
		}
	})
	return func() {
		cancel()
		all.Wait()
	}
}

// machine is the mount, as the machine sees it.
type machine struct {
	*session
	ctx  context.Context
	work *sync.WaitGroup
}

// Sleep implements power.Sleeper: nobody waits for the service any more.
func (m machine) Sleep() {
	m.log.Debug("the machine is about to sleep")
	ctx, cancel := context.WithTimeout(m.ctx, sleepLimit)
	defer cancel()
	if err := m.client.Pause(ctx, sleepGrace); err != nil {
		m.log.Warnf("the machine goes to sleep with requests in flight: %v", err)
	}
}

// Wake implements power.Sleeper.
func (m machine) Wake() {
	m.client.Resume()
	m.work.Go(func() { m.reconnect(m.ctx, "the machine has woken up") })
}

// reconnect makes connections anew, and asks the service at once.
func (s *session) reconnect(ctx context.Context, why string) {
	s.log.Infof("%s; the archive service is asked at once", why)
	s.client.Reconnect()
	if err := s.fs.Reconnect(ctx); err != nil {
		s.log.Debugf("ask the archive service: %v", err)
	}
}

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
