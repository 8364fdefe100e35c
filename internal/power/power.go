// Package power tells when the machine goes to sleep and wakes up, as logind announces it
// (org.freedesktop.login1(5)), and delays the sleep for a moment.
package power

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/godbus/dbus/v5"
	"golang.org/x/sys/unix"
)

const (
	service = "org.freedesktop.login1"
	path    = dbus.ObjectPath("/org/freedesktop/login1")
	manager = service + ".Manager"
)

// Awake is how long the machine may run after Sleep without a word that it woke up: then the sleep
// failed. logind waits 5 s for its delays at most, and the kernel 20 s for processes to stop.
const Awake = 30 * time.Second

// errEnded says that the bus has closed the connection.
var errEnded = errors.New("the connection to the system bus has ended")

// Sleeper is told what the machine does. Its methods are called one after the other.
type Sleeper interface {
	// Sleep is called when the machine is about to sleep, which waits until it returns, for some seconds at most.
	Sleep()
	// Wake is called when it has woken up, or has not slept after all.
	Wake()
}

// Watch tells s until ctx ends, and returns then, or with the error of the bus. A bus that does
// not answer holds it up for 5 s at most after that.
func Watch(ctx context.Context, s Sleeper) error {
	err := watchBus(ctx, s)
	if ctx.Err() != nil {
		return nil
	}
	return err
}

func watchBus(ctx context.Context, s Sleeper) error {
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	connecting := context.AfterFunc(ctx, end) // not later: see delay
	bus, err := dbus.ConnectSystemBus(dbus.WithContext(life))
	connecting()
	if err != nil {
		return fmt.Errorf("connect to the system bus: %w", err)
	}
	defer bus.Close() //nolint:errcheck // nothing is lost
	signals := make(chan *dbus.Signal, 8)
	bus.Signal(signals)
	if err := bus.AddMatchSignalContext(ctx, dbus.WithMatchObjectPath(path), dbus.WithMatchInterface(manager), dbus.WithMatchMember("PrepareForSleep")); err != nil {
		return fmt.Errorf("listen to logind: %w", err)
	}
	w := &watch{bus: bus, sleeper: s, lock: -1}
	defer w.release()
	if err := w.delay(ctx); err != nil {
		return err
	}
	return w.follow(ctx, signals)
}

// watch is a connection to logind.
type watch struct {
	bus     *dbus.Conn
	sleeper Sleeper
	lock    int // descriptor of the inhibitor lock; -1 for none
}

// answer is how long logind may take to answer.
const answer = 5 * time.Second

// delay takes a lock that delays the next sleep (systemd-inhibit(1)). It goes on when ctx ends: a lock
// whose answer nobody awaits would stay.
func (w *watch) delay(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), answer)
	defer cancel()
	var fd dbus.UnixFD
	err := w.bus.Object(service, path).CallWithContext(ctx, manager+".Inhibit", 0,
		"sleep", "archivefs", "Requests to the archive service are ended first", "delay").Store(&fd)
	if err != nil {
		return fmt.Errorf("delay the sleep of the machine: %w", err)
	}
	w.lock = int(fd)
	unix.CloseOnExec(w.lock)
	return nil
}

// release lets the machine sleep.
func (w *watch) release() {
	if w.lock >= 0 {
		_ = unix.Close(w.lock) // nothing was written
		w.lock = -1
	}
}

// follow passes on what logind announces.
func (w *watch) follow(ctx context.Context, signals <-chan *dbus.Signal) error {
	asleep := false
	var awake <-chan time.Time // nil while awake
	wake := func() {
		if asleep {
			asleep, awake = false, nil
			w.sleeper.Wake()
		}
	}
	defer wake()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-awake:
			wake()
		case signal, open := <-signals:
			if !open {
				return errEnded
			}
			var begins bool
			if signal.Name != manager+".PrepareForSleep" || dbus.Store(signal.Body, &begins) != nil {
				continue
			}
			if !begins {
				wake()
				if w.lock < 0 {
					if err := w.delay(ctx); err != nil {
						return err
					}
				}
				continue
			}
			if !asleep {
				w.sleeper.Sleep()
			}
			asleep, awake = true, time.After(Awake) // a sleep of the machine does not count
			w.release()
		}
	}
}
