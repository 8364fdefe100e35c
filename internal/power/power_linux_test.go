package power_test

import (
	"context"
	"testing"
	"time"

	"github.com/archivefs/archivefs/internal/power"
	"github.com/archivefs/archivefs/internal/testing/bustest"
)

// sleeper notes what it is told.
type sleeper chan string

func (s sleeper) Sleep() { s <- "sleep" }
func (s sleeper) Wake()  { s <- "wake" }

// next waits for what comes from a channel.
func next[T any](t *testing.T, what string, from <-chan T) (got T) {
	t.Helper()
	select {
	case got = <-from:
	case <-time.After(time.Minute):
		t.Fatalf("no %s within a minute", what)
	}
	return got
}

func wantTold(t *testing.T, s sleeper, want string) {
	t.Helper()
	if got := next(t, want, s); got != want {
		t.Errorf("was told %q, want %q", got, want)
	}
}

// watched starts to watch, and returns how that ends.
func watched(t *testing.T, ctx context.Context, s power.Sleeper) <-chan error {
	t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- power.Watch(ctx, s) }()
	return ended
}

// The machine sleeps when it was let, and is delayed anew after that.
func TestWatch(t *testing.T) {
	logind := bustest.StartLogind(t)
	t.Setenv("DBUS_SYSTEM_BUS_ADDRESS", logind.Address)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s := make(sleeper)
	ended := watched(t, ctx, s)
	for range 2 {
		lock := next(t, "delay", logind.Delays)
		logind.PrepareForSleep(true)
		select {
		case <-lock.Released:
			t.Error("the machine may sleep before anybody is told")
		case got := <-s:
			if got != "sleep" {
				t.Errorf("was told %q, want sleep", got)
			}
		}
		next(t, "release", lock.Released)
		logind.PrepareForSleep(false)
		wantTold(t, s, "wake")
	}
	lock := next(t, "delay", logind.Delays)
	cancel()
	if err := next(t, "end", ended); err != nil {
		t.Error(err)
	}
	next(t, "release", lock.Released)
}

// A bus that does not answer holds up nobody.
func TestWatchOnABusThatHangs(t *testing.T) {
	for _, when := range []string{"from the beginning", "after a sleep"} {
		t.Run(when, func(t *testing.T) {
			logind := bustest.StartLogind(t)
			t.Setenv("DBUS_SYSTEM_BUS_ADDRESS", logind.Address)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			s := make(sleeper)
			logind.Hang(when == "from the beginning")
			ended := watched(t, ctx, s)
			if when == "after a sleep" {
				lock := next(t, "delay", logind.Delays)
				logind.PrepareForSleep(true)
				wantTold(t, s, "sleep")
				next(t, "release", lock.Released)
				logind.Mute.Store(true)
				logind.PrepareForSleep(false)
				wantTold(t, s, "wake")
			}
			cancel()
			if err := next(t, "end", ended); err != nil {
				t.Error(err)
			}
		})
	}
}

// Without a bus, or when it ends, that is an error; what sleeps is woken before.
func TestWatchWithoutABus(t *testing.T) {
	t.Setenv("DBUS_SYSTEM_BUS_ADDRESS", "unix:path=/nonexistent/bus")
	if err := power.Watch(t.Context(), make(sleeper)); err == nil {
		t.Error("there is no error without a bus")
	}
	logind := bustest.StartLogind(t)
	t.Setenv("DBUS_SYSTEM_BUS_ADDRESS", logind.Address)
	s := make(sleeper)
	ended := watched(t, t.Context(), s)
	next(t, "delay", logind.Delays)
	logind.PrepareForSleep(true)
	wantTold(t, s, "sleep")
	logind.Disconnect()
	wantTold(t, s, "wake")
	if err := next(t, "end", ended); err == nil {
		t.Error("there is no error after the end of the bus")
	}
}
