// Package bustest is a D-Bus for tests, with logind on it: that announces when the machine sleeps, and
// notes who delays it. The bus also keeps the signals that its clients send.
package bustest

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/godbus/dbus/v5"
)

const manager = "org.freedesktop.login1.Manager"

// Bus is a bus with logind on it.
type Bus struct {
	// Address is that of the bus, as DBUS_SYSTEM_BUS_ADDRESS and DBUS_SESSION_BUS_ADDRESS have it.
	Address string
	// Signals gets the signals of clients.
	Signals chan *dbus.Message
	t       testing.TB
	// Delays gets a lock for each delay that somebody asks for.
	Delays chan *Lock

	mu      sync.Mutex
	clients []*net.UnixConn // +checklocks:mu
	serial  uint32          // +checklocks:mu
}

// Lock delays the sleep of the machine.
type Lock struct {
	// Released is closed when its holder lets the machine sleep.
	Released chan struct{}
}

// New makes a bus that ends with the test.
func New(t *testing.T) *Bus {
	t.Helper()
	dir, err := os.MkdirTemp("", "b") //nolint:usetesting // the path of a socket is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	socket := filepath.Join(dir, "bus")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: socket, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // other users in tests have it, too
		t.Fatal(err)
	}
	b := &Bus{t: t, Address: "unix:path=" + socket, Signals: make(chan *dbus.Message, 100), Delays: make(chan *Lock, 100)}
	var served sync.WaitGroup
	served.Go(func() {
		for {
			conn, err := l.AcceptUnix()
			if err != nil {
				return
			}
			served.Go(func() { b.serve(conn) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		b.Disconnect()
		served.Wait()
	})
	return b
}

// Disconnect ends all connections, as a bus that ends.
func (b *Bus) Disconnect() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range b.clients {
		_ = c.Close()
	}
}

// PrepareForSleep announces that the machine sleeps, or has woken up.
func (b *Bus) PrepareForSleep(begins bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range b.clients {
		// One that has gone does not listen.
		_ = b.sendLocked(c, &dbus.Message{Type: dbus.TypeSignal, Headers: map[dbus.HeaderField]dbus.Variant{
			dbus.FieldPath:      dbus.MakeVariant(dbus.ObjectPath("/org/freedesktop/login1")),
			dbus.FieldInterface: dbus.MakeVariant(manager),
			dbus.FieldMember:    dbus.MakeVariant("PrepareForSleep"),
			dbus.FieldSender:    dbus.MakeVariant(":1.1"),
		}, Body: []any{begins}})
	}
}

// sendLocked sends a message with its descriptors.
// +checklocks:b.mu
func (b *Bus) sendLocked(c *net.UnixConn, m *dbus.Message) error {
	if len(m.Body) > 0 {
		m.Headers[dbus.FieldSignature] = dbus.MakeVariant(dbus.SignatureOf(m.Body...))
	}
	fds, err := m.CountFds()
	if err != nil {
		return err
	}
	if fds > 0 {
		m.Headers[dbus.FieldUnixFDs] = dbus.MakeVariant(uint32(fds)) //nolint:gosec // one
	}
	var text bytes.Buffer
	passed, err := m.EncodeToWithFDs(&text, binary.LittleEndian)
	if err != nil {
		return err
	}
	b.serial++
	binary.LittleEndian.PutUint32(text.Bytes()[8:], b.serial) // which the library leaves at 0
	_, _, err = c.WriteMsgUnix(text.Bytes(), syscall.UnixRights(passed...), nil)
	return err
}

// serve answers one client until it leaves.
func (b *Bus) serve(conn *net.UnixConn) {
	defer conn.Close() //nolint:errcheck // all was said
	in := bufio.NewReader(conn)
	if err := authenticate(in, conn); err != nil {
		b.t.Errorf("a client of the bus: %v", err)
		return
	}
	b.mu.Lock()
	b.clients = append(b.clients, conn)
	b.mu.Unlock()
	for {
		call, err := dbus.DecodeMessage(in)
		if err != nil {
			return
		}
		if call.Type == dbus.TypeSignal {
			b.Signals <- call
		}
		if call.Type != dbus.TypeMethodCall {
			continue
		}
		if err := b.answer(conn, call); err != nil {
			return
		}
	}
}

// authenticate is the server's part of the handshake: everybody is let in.
func authenticate(in *bufio.Reader, out io.Writer) error {
	if _, err := in.ReadByte(); err != nil { // a zero
		return err
	}
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return err
		}
		answer := "ERROR"
		switch word, rest, _ := strings.Cut(strings.TrimSpace(line), " "); word {
		case "BEGIN":
			return nil
		case "AUTH":
			if answer = "REJECTED EXTERNAL"; strings.HasPrefix(rest, "EXTERNAL") {
				answer = "OK 0123456789abcdef0123456789abcdef"
			}
		case "NEGOTIATE_UNIX_FD":
			answer = "AGREE_UNIX_FD"
		}
		if _, err := io.WriteString(out, answer+"\r\n"); err != nil {
			return err
		}
	}
}

// answer answers a call.
func (b *Bus) answer(conn *net.UnixConn, call *dbus.Message) error {
	reply := &dbus.Message{Type: dbus.TypeMethodReply, Headers: map[dbus.HeaderField]dbus.Variant{
		dbus.FieldReplySerial: dbus.MakeVariant(call.Serial()),
		dbus.FieldSender:      dbus.MakeVariant("org.freedesktop.DBus"),
	}}
	switch member := call.Headers[dbus.FieldMember].Value(); member {
	case "Hello":
		reply.Body = []any{":1.2"}
	case "AddMatch", "RemoveMatch":
	case "Inhibit":
		if len(call.Body) != 4 || call.Body[0] != "sleep" || call.Body[3] != "delay" {
			b.t.Errorf("Inhibit was called with %v", call.Body)
		}
		lock, held, err := newLock()
		if err != nil {
			return err
		}
		defer held.Close()                         //nolint:errcheck // the client has its own
		reply.Body = []any{dbus.UnixFD(held.Fd())} //nolint:gosec // a descriptor
		b.Delays <- lock
	default:
		return fmt.Errorf("there is no method %v", member)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.sendLocked(conn, reply)
}

// newLock returns a lock and the descriptor of its holder.
func newLock() (*Lock, *os.File, error) {
	read, held, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	l := &Lock{Released: make(chan struct{})}
	go func() {
		defer read.Close()                //nolint:errcheck // it was only read
		_, _ = read.Read(make([]byte, 1)) // ends when nobody holds it
		close(l.Released)
	}()
	return l, held, nil
}
