package bustest

import (
	"os"
	"sync/atomic"
	"testing"

	"github.com/godbus/dbus/v5"
)

const (
	login1     = "org.freedesktop.login1"
	login1Path = dbus.ObjectPath("/org/freedesktop/login1")
)

// Logind is a bus with logind on it, which announces when the machine sleeps, and notes who delays it.
type Logind struct {
	*Bus
	// Delays gets a lock for each delay that somebody asks for.
	Delays chan *Lock
	// Mute lets nothing be answered.
	Mute    atomic.Bool
	service *dbus.Conn
}

// Lock delays the sleep of the machine.
type Lock struct {
	// Released is closed when its holder lets the machine sleep.
	Released chan struct{}
}

// StartLogind starts a bus with logind that ends with the test.
func StartLogind(t testing.TB) *Logind {
	t.Helper()
	l := &Logind{Bus: Start(t), Delays: make(chan *Lock, 100)}
	l.service = l.serve(login1, login1Path, login1+".Manager", nil)
	calls := make(chan *dbus.Message, 100)
	l.service.Eavesdrop(calls) // the library does not close what it answers with
	go func() {
		for call := range calls {
			if call.Type == dbus.TypeMethodCall && !l.Mute.Load() {
				l.inhibit(call)
			}
		}
	}()
	return l
}

// PrepareForSleep announces that the machine sleeps, or has woken up.
func (l *Logind) PrepareForSleep(begins bool) {
	l.signal(l.service, login1Path, login1+".Manager.PrepareForSleep", begins)
}

// inhibit answers a call of Inhibit, the only method (org.freedesktop.login1(5)).
func (l *Logind) inhibit(call *dbus.Message) {
	if method, _ := call.Headers[dbus.FieldMember].Value().(string); method != "Inhibit" || len(call.Body) != 4 || call.Body[0] != "sleep" || call.Body[3] != "delay" {
		l.t.Errorf("logind is called: %v", call)
		return
	}
	read, held, err := os.Pipe()
	if err != nil {
		l.t.Error(err)
		return
	}
	lock := &Lock{Released: make(chan struct{})}
	go func() {
		defer read.Close()                //nolint:errcheck // it was only read
		_, _ = read.Read(make([]byte, 1)) // ends when nobody holds it
		close(lock.Released)
	}()
	l.Delays <- lock
	l.service.Send(&dbus.Message{Type: dbus.TypeMethodReply, Body: []any{dbus.UnixFD(held.Fd())}, Headers: map[dbus.HeaderField]dbus.Variant{ //nolint:gosec // a descriptor
		dbus.FieldReplySerial: dbus.MakeVariant(call.Serial()), dbus.FieldDestination: call.Headers[dbus.FieldSender],
		dbus.FieldSignature: dbus.MakeVariant(dbus.SignatureOf(dbus.UnixFD(0))),
	}}, nil)
	_ = held.Close() // the client has its own
}
