// Package bustest runs a D-Bus for tests, dbus-daemon(1), with logind or a notification service on it.
package bustest

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/godbus/dbus/v5"
)

// config lets everybody do everything, and starts no service of this machine.
const config = `<busconfig><type>session</type><listen>%s</listen><policy context="default">
<allow user="*"/><allow own="*"/><allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/></policy></busconfig>`

// Bus is a bus.
type Bus struct {
	// Address is for DBUS_SYSTEM_BUS_ADDRESS or DBUS_SESSION_BUS_ADDRESS.
	Address string
	t       testing.TB
	config  string
	daemon  *exec.Cmd
}

// Start starts a bus that ends with the test.
func Start(t testing.TB) *Bus {
	t.Helper()
	dir, err := os.MkdirTemp("", "bus") //nolint:usetesting // the path of a socket is short
	if err != nil {
		t.Fatal(err)
	}
	b := &Bus{Address: "unix:path=" + dbus.EscapeBusAddressValue(filepath.Join(dir, "bus")), config: filepath.Join(dir, "conf"), t: t}
	if err := os.WriteFile(b.config, fmt.Appendf(nil, config, b.Address), 0o600); err != nil {
		t.Fatal(err)
	}
	b.run()
	t.Cleanup(func() {
		b.end()
		_ = os.RemoveAll(dir)
	})
	return b
}

func (b *Bus) run() {
	b.t.Helper()
	b.daemon = exec.Command("dbus-daemon", "--config-file="+b.config, "--nofork", "--nopidfile", "--print-address") //nolint:gosec,noctx // ours; the test ends it
	out, err := b.daemon.StdoutPipe()
	if err == nil {
		err = b.daemon.Start()
	}
	if err == nil {
		_, err = bufio.NewReader(out).ReadString('\n')
	}
	if err != nil {
		b.t.Fatalf("dbus-daemon: %v", err)
	}
}

func (b *Bus) end() {
	_ = b.daemon.Process.Kill()
	_ = b.daemon.Wait() // says that it was killed
}

// Disconnect ends all connections, as a bus that ends. Then there is another bus.
func (b *Bus) Disconnect() {
	b.end()
	b.run()
}

// Hang lets nothing be read and answered from now on, or lets it again.
func (b *Bus) Hang(hangs bool) {
	signal := syscall.SIGCONT
	if hangs {
		signal = syscall.SIGSTOP
	}
	if err := b.daemon.Process.Signal(signal); err != nil {
		b.t.Error(err)
	}
}

// connect returns a connection to the bus that ends with the test.
func (b *Bus) connect() *dbus.Conn {
	b.t.Helper()
	conn, err := dbus.Connect(b.Address)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// Signals returns the signals of an interface that are sent on the bus from now on.
func (b *Bus) Signals(iface string) <-chan *dbus.Signal {
	b.t.Helper()
	conn := b.connect()
	all, wanted := make(chan *dbus.Signal, 100), make(chan *dbus.Signal, 100)
	conn.Signal(all)
	if err := conn.AddMatchSignal(dbus.WithMatchInterface(iface)); err != nil {
		b.t.Fatal(err)
	}
	go func() {
		for signal := range all {
			if strings.HasPrefix(signal.Name, iface+".") { // not what the bus itself says
				wanted <- signal
			}
		}
	}()
	return wanted
}

// serve runs a service under a name; nil: what it is called stays unanswered.
func (b *Bus) serve(name string, path dbus.ObjectPath, iface string, service any) *dbus.Conn {
	b.t.Helper()
	conn := b.connect()
	_, err := conn.RequestName(name, dbus.NameFlagDoNotQueue)
	if err = errors.Join(err, conn.Export(service, path, iface)); err != nil {
		b.t.Fatal(err)
	}
	return conn
}

// signal sends a signal of a service.
func (b *Bus) signal(service *dbus.Conn, path dbus.ObjectPath, name string, args ...any) {
	if err := service.Emit(path, name, args...); err != nil {
		b.t.Error(err)
	}
}
