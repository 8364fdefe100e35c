//go:build linux

package screen

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/godbus/dbus/v5"

	"github.com/archivefs/archivefs/internal/lab/bench/machine"
)

// Limit is how long anything that shall happen on the screen may take.
const Limit = time.Minute

// Screen is one desktop session.
type Screen struct {
	dir, home string
	env       []string
	processes []*machine.Process // in the order of their start
	a11y      *dbus.Conn         // where programs say what they show
}

// Start starts a session with a home, that keeps what else it needs in dir. Its processes end
// with Stop.
func Start(ctx context.Context, dir, home string) (*Screen, error) {
	s := &Screen{dir: dir, home: home}
	if err := s.start(ctx); err != nil {
		s.Stop()
		return nil, err
	}
	return s, nil
}

func (s *Screen) start(ctx context.Context) error {
	home := s.Home()
	for _, d := range []string{home, s.path("run"), s.path("logs"), filepath.Join(home, "Desktop"), filepath.Join(home, "Documents")} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return err
		}
	}
	s.env = []string{
		"HOME=" + home, "XDG_RUNTIME_DIR=" + s.path("run"), "LC_ALL=C.UTF-8", "LANGUAGE=", "NO_AT_BRIDGE=0",
		"XDG_CONFIG_HOME=" + filepath.Join(home, ".config"), "XDG_CACHE_HOME=" + filepath.Join(home, ".cache"),
		"XDG_DATA_HOME=" + filepath.Join(home, ".local/share"), "XDG_STATE_HOME=" + filepath.Join(home, ".local/state"),
		"PATH=" + filepath.Join(home, ".local/bin") + ":" + os.Getenv("PATH"),
		"XDG_SESSION_TYPE=x11", "WAYLAND_DISPLAY=", "GDK_BACKEND=x11", "GTK_MODULES=gail:atk-bridge",
		"QT_QPA_PLATFORM=xcb", "LIBGL_ALWAYS_SOFTWARE=1",
		"GSK_RENDERER=cairo", "SAL_USE_VCLPLUGIN=gtk3", "DBUS_SESSION_BUS_ADDRESS=unix:path=" + s.path("run/bus"),
	}
	if err := s.startDisplay(ctx); err != nil {
		return err
	}
	if err := s.startBus(ctx); err != nil {
		return err
	}
	if _, err := s.Launch(ctx, "openbox", "exec openbox --sm-disable"); err != nil {
		return err
	}
	return Until(ctx, "a window manager", func() (bool, error) {
		out, err := s.Run(ctx, "xprop -root _NET_SUPPORTING_WM_CHECK")
		return err == nil && strings.Contains(out, "window id"), nil
	})
}

// Home is the home of the session's user.
func (s *Screen) Home() string { return s.home }

// Logs is a directory for what is told about the session; the output of programs is there.
func (s *Screen) Logs() string { return s.path("logs") }

func (s *Screen) path(name string) string { return filepath.Join(s.dir, name) }

// startDisplay starts the X server, which says which number it took.
func (s *Screen) startDisplay(ctx context.Context) error {
	number := s.path("run/display")
	p, err := s.Launch(ctx, "xvfb", `exec Xvfb -displayfd 3 -screen 0 1024x640x24 -nolisten tcp -noreset 3>`+quoted(number))
	if err != nil {
		return err
	}
	return Until(ctx, "an X server", func() (bool, error) {
		if p.Failed() {
			return false, errors.New("Xvfb ended; its log is in " + s.Logs())
		}
		text, err := os.ReadFile(number) //nolint:gosec // a file of this session
		if err != nil || !strings.HasSuffix(string(text), "\n") {
			return false, nil // it is not there yet
		}
		s.env = append(s.env, "DISPLAY=:"+strings.TrimSpace(string(text)))
		return true, nil
	})
}

// startBus starts the session bus, and asks it for the bus of accessibility.
func (s *Screen) startBus(ctx context.Context) error {
	if _, err := s.Launch(ctx, "dbus", `exec dbus-daemon --session --nofork --address="$DBUS_SESSION_BUS_ADDRESS"`); err != nil {
		return err
	}
	var bus *dbus.Conn
	err := Until(ctx, "a session bus", func() (bool, error) {
		var err error
		bus, err = dbus.Connect("unix:path="+s.path("run/bus"), dbus.WithContext(ctx))
		return err == nil, nil
	})
	if err != nil {
		return err
	}
	defer bus.Close() //nolint:errcheck // it was only asked
	var address string
	object := bus.Object("org.a11y.Bus", "/org/a11y/bus")
	if err := object.CallWithContext(ctx, "org.a11y.Bus.GetAddress", 0).Store(&address); err != nil {
		return fmt.Errorf("the accessibility bus: %w", err)
	}
	for _, property := range []string{"IsEnabled", "ScreenReaderEnabled"} {
		if err := object.SetProperty("org.a11y.Status."+property, dbus.MakeVariant(true)); err != nil {
			return fmt.Errorf("the accessibility bus: %w", err)
		}
	}
	// Qt shows nothing unless it finds the bus here.
	if _, err := s.Run(ctx, "xprop -root -f AT_SPI_BUS 8s -set AT_SPI_BUS "+quoted(address)); err != nil {
		return err
	}
	s.a11y, err = dbus.Connect(address, dbus.WithContext(ctx))
	return err
}

// Launch starts a command line of bash in the session. Its output goes to a log of that name.
func (s *Screen) Launch(ctx context.Context, name, line string) (*machine.Process, error) {
	p, err := machine.Start(ctx, line, s.env, filepath.Join(s.Logs(), name+".log"))
	if err == nil {
		s.processes = append(s.processes, p)
	}
	return p, err
}

// Run runs a command line of bash in the session and returns what it printed.
func (s *Screen) Run(ctx context.Context, line string) (string, error) {
	r, err := machine.Run(ctx, line, s.env, 4*Limit)
	return r.Output, err
}

// Stop ends all that runs in the session.
func (s *Screen) Stop() {
	if s.a11y != nil {
		_ = s.a11y.Close() // nothing is asked any more
	}
	for i := len(s.processes) - 1; i >= 0; i-- {
		s.processes[i].Stop()
	}
}

// Until asks again and again whether something has come, up to Limit.
func Until(ctx context.Context, what string, come func() (bool, error)) error {
	return until(ctx, Limit, what, come)
}

func until(ctx context.Context, limit time.Duration, what string, come func() (bool, error)) error {
	for deadline := time.Now().Add(limit); ; {
		ok, err := come()
		if err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		if ok {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%s did not come within %s", what, limit)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// quoted makes one word of a command line.
func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
