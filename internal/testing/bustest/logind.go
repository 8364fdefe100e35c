package bustest

import (
	"fmt"
	"os"
	"testing"
)

const login1 = "org.freedesktop.login1"

// Logind is a bus with logind on it, which announces when the machine sleeps, and notes who delays it.
type Logind struct {
	*Bus
	// Delays gets a lock for each delay that somebody asks for.
	Delays chan *Lock
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
	l.run(manager{l.Delays})
	return l
}

// PrepareForSleep announces that the machine sleeps, or has woken up.
func (l *Logind) PrepareForSleep(begins bool) {
	l.signal(login1, "/org/freedesktop/login1", login1+".Manager", "PrepareForSleep", begins)
}

// manager is the service.
type manager struct{ delays chan<- *Lock }

func (manager) name() string { return login1 }

func (m manager) call(method string, args []any) ([]any, error) {
	if method != "Inhibit" || len(args) != 4 || args[0] != "sleep" || args[3] != "delay" {
		return nil, fmt.Errorf("logind cannot %s(%v)", method, args)
	}
	read, held, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	lock := &Lock{Released: make(chan struct{})}
	go func() {
		defer read.Close()                //nolint:errcheck // it was only read
		_, _ = read.Read(make([]byte, 1)) // ends when nobody holds it
		close(lock.Released)
	}()
	m.delays <- lock
	return []any{held}, nil
}
