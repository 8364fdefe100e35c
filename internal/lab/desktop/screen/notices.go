//go:build linux

package screen

import (
	"context"

	"github.com/godbus/dbus/v5"
)

// Notice is a notification that a program of the session asked for.
type Notice struct{ Summary, Body string }

// Notices returns what programs ask the desktop to tell the user from now on, until ctx ends.
func (s *Screen) Notices(ctx context.Context) (<-chan Notice, error) {
	bus, err := dbus.Connect("unix:path="+s.path("run/bus"), dbus.WithContext(ctx))
	if err != nil {
		return nil, err
	}
	rule := "type='method_call',interface='org.freedesktop.Notifications',member='Notify'"
	if err := bus.BusObject().CallWithContext(ctx, "org.freedesktop.DBus.Monitoring.BecomeMonitor", 0, []string{rule}, uint32(0)).Err; err != nil {
		return nil, err
	}
	calls, notices := make(chan *dbus.Message, 100), make(chan Notice, 100)
	bus.Eavesdrop(calls)
	go func() {
		for call := range calls {
			var app, icon, summary, body string
			var replaces uint32
			if len(call.Body) > 5 && dbus.Store(call.Body[:5], &app, &replaces, &icon, &summary, &body) == nil {
				notices <- Notice{summary, body}
			}
		}
	}()
	return notices, nil
}
