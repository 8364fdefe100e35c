// Package bustest is a D-Bus for tests, with logind or a notification service on it. It speaks as much
// of D-Bus as their clients need, so none has to be installed.
package bustest

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
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

// daemon is the name of the bus itself.
const daemon = "org.freedesktop.DBus"

// Bus is a bus.
type Bus struct {
	// Address is for DBUS_SYSTEM_BUS_ADDRESS or DBUS_SESSION_BUS_ADDRESS.
	Address string
	// Signals gets the signals of clients.
	Signals chan *dbus.Message
	t       testing.TB
	ended   chan struct{}

	mu       sync.Mutex
	clients  map[*net.UnixConn]bool // +checklocks:mu
	programs map[string]program     // +checklocks:mu
	names    int                    // +checklocks:mu
	serial   uint32                 // +checklocks:mu
	hangs    bool                   // +checklocks:mu
	// last is the method after whose call nothing is read from a client, empty for none; then deaf is closed.
	last string        // +checklocks:mu
	deaf chan struct{} // +checklocks:mu
}

// service is what a program does on the bus.
type service interface {
	// name is its well-known name.
	name() string
	// call carries out a call of a method. The bus passes on one call at a time, and closes a file
	// when it has sent it.
	call(method string, args []any) ([]any, error)
}

// program is a service that runs.
type program struct {
	service
	owner string // its unique name
}

// Start starts a bus that ends with the test.
func Start(t testing.TB) *Bus {
	t.Helper()
	dir, err := os.MkdirTemp("", "bus") //nolint:usetesting // the path of a socket is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	socket := filepath.Join(dir, "bus")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: socket, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	b := &Bus{
		Address: "unix:path=" + dbus.EscapeBusAddressValue(socket), Signals: make(chan *dbus.Message, 100), t: t,
		clients: map[*net.UnixConn]bool{}, programs: map[string]program{}, ended: make(chan struct{}),
	}
	var accepting, serving sync.WaitGroup
	accepting.Go(func() {
		for {
			c, err := l.AcceptUnix()
			if err != nil {
				return // closed
			}
			b.mu.Lock()
			b.clients[c] = false // it has not said hello
			b.mu.Unlock()
			serving.Go(func() { b.serve(c) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		accepting.Wait()
		close(b.ended)
		b.Disconnect()
		serving.Wait()
	})
	return b
}

// Disconnect ends all connections, as a bus that ends.
func (b *Bus) Disconnect() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for c := range b.clients {
		_ = c.Close()
	}
}

// Hang lets nothing be answered from now on, or lets it again.
func (b *Bus) Hang(hangs bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.hangs = hangs
}

// ReadUntil lets nothing be read from a client after its call of a method, which is answered: what it writes
// from then on fills its connection. It says when the call was answered.
func (b *Bus) ReadUntil(method string) (answered <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.last, b.deaf = method, make(chan struct{})
	return b.deaf
}

// run starts a service under a unique name of its own, in place of the one with the same name.
func (b *Bus) run(s service) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.programs[s.name()] = program{s, b.uniqueLocked()}
}

// remove takes a service from the bus.
func (b *Bus) remove(name string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.programs, name)
}

// +checklocks:b.mu
func (b *Bus) uniqueLocked() string {
	b.names++
	return fmt.Sprintf(":1.%d", b.names)
}

// signal sends a signal of a service to all clients.
func (b *Bus) signal(service string, path dbus.ObjectPath, iface, member string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for c, known := range b.clients {
		if known {
			b.sendLocked(c, dbus.TypeSignal, map[dbus.HeaderField]dbus.Variant{
				dbus.FieldPath:      dbus.MakeVariant(path),
				dbus.FieldInterface: dbus.MakeVariant(iface),
				dbus.FieldMember:    dbus.MakeVariant(member),
				dbus.FieldSender:    dbus.MakeVariant(b.programs[service].owner),
			}, args)
		}
	}
}

// serve serves one client until it leaves.
func (b *Bus) serve(c *net.UnixConn) {
	defer func() {
		_ = c.Close()
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.clients, c)
	}()
	in := bufio.NewReader(c)
	err := b.authenticate(in, c)
	for err == nil {
		var m *dbus.Message
		if m, err = dbus.DecodeMessage(in); err == nil {
			b.handle(c, m)
			if b.isLast(m) {
				<-b.ended
			}
		}
	}
}

// isLast reports whether nothing is read from the client of a call any more.
func (b *Bus) isLast(m *dbus.Message) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if method, _ := m.Headers[dbus.FieldMember].Value().(string); b.last == "" || method != b.last {
		return false
	}
	close(b.deaf)
	return true
}

// authenticate is the server's part of the handshake: everybody is let in.
func (b *Bus) authenticate(in *bufio.Reader, out io.Writer) error {
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
			if answer = "REJECTED EXTERNAL"; rest != "" {
				answer = "OK 0123456789abcdef0123456789abcdef"
			}
		case "NEGOTIATE_UNIX_FD":
			answer = "AGREE_UNIX_FD"
		}
		if err := b.say(out, answer); err != nil {
			return err
		}
	}
}

// say answers a line of the handshake, unless the bus hangs.
func (b *Bus) say(out io.Writer, answer string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.hangs {
		return nil
	}
	_, err := io.WriteString(out, answer+"\r\n")
	return err
}

// handle answers a call, and keeps a signal, unless the bus hangs.
func (b *Bus) handle(c *net.UnixConn, m *dbus.Message) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.hangs:
	case m.Type == dbus.TypeSignal:
		select {
		case b.Signals <- m:
		default:
			b.t.Error("a client sends more signals than the test takes")
		}
	case m.Type == dbus.TypeMethodCall:
		sender, body, err := b.callLocked(c, m)
		headers := map[dbus.HeaderField]dbus.Variant{
			dbus.FieldReplySerial: dbus.MakeVariant(m.Serial()), dbus.FieldSender: dbus.MakeVariant(sender),
		}
		kind := dbus.TypeMethodReply
		if err != nil {
			kind, body = dbus.TypeError, []any{err.Error()}
			headers[dbus.FieldErrorName] = dbus.MakeVariant("org.freedesktop.DBus.Error.Failed")
		}
		b.sendLocked(c, kind, headers, body)
	}
}

// callLocked carries out a call, and says who did.
// +checklocks:b.mu
func (b *Bus) callLocked(c *net.UnixConn, m *dbus.Message) (sender string, body []any, err error) {
	to, _ := m.Headers[dbus.FieldDestination].Value().(string)
	method, _ := m.Headers[dbus.FieldMember].Value().(string)
	if to != daemon {
		p, runs := b.programs[to]
		if !runs {
			return daemon, nil, fmt.Errorf("there is no %s", to)
		}
		body, err = p.call(method, m.Body)
		return p.owner, body, err
	}
	switch method {
	case "Hello":
		b.clients[c] = true
		return daemon, []any{b.uniqueLocked()}, nil
	case "AddMatch": // all get all signals
		return daemon, nil, nil
	case "GetNameOwner":
		var name string
		err = dbus.Store(m.Body, &name)
		if b.programs[name].owner == "" {
			err = errors.Join(err, fmt.Errorf("there is no %s", name))
		}
		return daemon, []any{b.programs[name].owner}, err
	}
	return daemon, nil, fmt.Errorf("there is no method %s", method)
}

// sendLocked sends a message with its file, if it has one, which it closes.
// +checklocks:b.mu
func (b *Bus) sendLocked(c *net.UnixConn, kind dbus.Type, headers map[dbus.HeaderField]dbus.Variant, body []any) {
	for i, arg := range body {
		if f, is := arg.(*os.File); is {
			defer f.Close()               //nolint:errcheck // the client has its own
			body[i] = dbus.UnixFD(f.Fd()) //nolint:gosec // a descriptor
			headers[dbus.FieldUnixFDs] = dbus.MakeVariant(uint32(1))
		}
	}
	if len(body) > 0 {
		headers[dbus.FieldSignature] = dbus.MakeVariant(dbus.SignatureOf(body...))
	}
	m := &dbus.Message{Type: kind, Headers: headers, Body: body}
	var text bytes.Buffer
	fds, err := m.EncodeToWithFDs(&text, binary.LittleEndian)
	if err != nil {
		b.t.Errorf("the bus cannot send %v: %v", m, err)
		return
	}
	b.serial++
	binary.LittleEndian.PutUint32(text.Bytes()[8:], b.serial) // which the library gives to its own connections alone
	var rights []byte
	if len(fds) > 0 {
		rights = syscall.UnixRights(fds...)
	}
	_, _, _ = c.WriteMsgUnix(text.Bytes(), rights, nil) // who has gone does not listen
}
