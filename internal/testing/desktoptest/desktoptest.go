// Package desktoptest is a session bus with a notification service, for tests. It speaks as much of
// D-Bus as a client of that service needs, so no bus has to be installed.
package desktoptest

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/godbus/dbus/v5"
)

const (
	notifications = "org.freedesktop.Notifications"
	objectPath    = dbus.ObjectPath("/org/freedesktop/Notifications")
	// limit is for what never comes.
	limit = time.Minute
)

// Notification is a call of Notify, and the id that was answered.
type Notification struct {
	App, Icon, Summary, Body string
	Replaces, ID             uint32
	Actions                  []string
	Hints                    map[string]dbus.Variant
	Expires                  int32
}

// Bus is the bus and its notification service.
type Bus struct {
	// Address is for DBUS_SESSION_BUS_ADDRESS.
	Address string
	t       testing.TB
	got     chan Notification

	mu    sync.Mutex
	can   []string             // +checklocks:mu
	runs  int                  // +checklocks:mu
	ids   uint32               // +checklocks:mu
	hangs bool                 // +checklocks:mu
	gone  bool                 // +checklocks:mu
	conns map[*connection]bool // +checklocks:mu
}

// Start starts a bus whose notification service has these capabilities, until the test ends.
func Start(t testing.TB, capabilities ...string) *Bus {
	t.Helper()
	dir, err := os.MkdirTemp("", "bus") //nolint:usetesting // the path of a socket is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	socket := filepath.Join(dir, "bus")
	ln, err := net.Listen("unix", socket) //nolint:noctx // it does not wait
	if err != nil {
		t.Fatal(err)
	}
	b := &Bus{
		Address: "unix:path=" + dbus.EscapeBusAddressValue(socket), t: t, got: make(chan Notification, 100),
		can: capabilities, runs: 1, conns: map[*connection]bool{},
	}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return // closed
			}
			c := &connection{bus: b, conn: conn}
			b.mu.Lock()
			b.conns[c] = true
			b.mu.Unlock()
			serving.Go(c.serve)
		}
	})
	t.Cleanup(func() {
		_ = ln.Close()
		b.Disconnect()
		serving.Wait()
	})
	return b
}

// Next waits for the next notification.
func (b *Bus) Next() Notification {
	b.t.Helper()
	select {
	case n := <-b.got:
		return n
	case <-time.After(limit):
		b.t.Fatal("no notification was shown")
		return Notification{}
	}
}

// Waiting is how many notifications were shown that Next has not returned.
func (b *Bus) Waiting() int { return len(b.got) }

// Invoke chooses an action of a notification. The token is for the window that it opens.
func (b *Bus) Invoke(id uint32, action, token string) {
	if token != "" {
		b.signal("ActivationToken", id, token)
	}
	b.signal("ActionInvoked", id, action)
}

// Dismiss closes a notification as a person does.
func (b *Bus) Dismiss(id uint32) { b.signal("NotificationClosed", id, uint32(2)) }

// Restart makes the notification service another one, which knows no notification.
func (b *Bus) Restart() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.runs, b.ids = b.runs+1, 0
}

// Hang lets no call be answered from now on, or lets them again.
func (b *Bus) Hang(hangs bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.hangs = hangs
}

// Remove takes the notification service from the bus.
func (b *Bus) Remove() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.gone = true
}

// Disconnect ends all connections.
func (b *Bus) Disconnect() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for c := range b.conns {
		_ = c.conn.Close()
	}
}

// ownerLocked is the unique name of the notification service.
// +checklocks:b.mu
func (b *Bus) ownerLocked() string { return fmt.Sprintf(":1.%d", 1000+b.runs) }

// signal sends a signal of the notification service to all.
func (b *Bus) signal(name string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for c := range b.conns {
		c.send(dbus.TypeSignal, map[dbus.HeaderField]dbus.Variant{
			dbus.FieldPath: dbus.MakeVariant(objectPath), dbus.FieldInterface: dbus.MakeVariant(notifications),
			dbus.FieldMember: dbus.MakeVariant(name), dbus.FieldSender: dbus.MakeVariant(b.ownerLocked()),
		}, args...)
	}
}

// connection is one client.
type connection struct {
	bus  *Bus
	conn net.Conn

	sending sync.Mutex
	serial  uint32 // +checklocks:sending
}

func (c *connection) serve() {
	defer c.end()
	in := bufio.NewReader(c.conn)
	if err := c.authenticate(in); err != nil {
		return
	}
	for {
		m, err := dbus.DecodeMessage(in)
		if err != nil {
			return
		}
		c.answer(m)
	}
}

func (c *connection) end() {
	_ = c.conn.Close()
	c.bus.mu.Lock()
	defer c.bus.mu.Unlock()
	delete(c.bus.conns, c)
}

// authenticate lets everybody in, after a first NUL byte.
func (c *connection) authenticate(in *bufio.Reader) error {
	if _, err := in.ReadByte(); err != nil {
		return err
	}
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return err
		}
		reply := ""
		switch word, rest, _ := strings.Cut(strings.TrimSpace(line), " "); {
		case word == "BEGIN":
			return nil
		case word == "AUTH" && rest != "":
			reply = "OK 0123456789abcdef0123456789abcdef"
		case word == "AUTH":
			reply = "REJECTED EXTERNAL"
		default:
			reply = "ERROR"
		}
		if c.isHung() {
			continue
		}
		if _, err := c.conn.Write([]byte(reply + "\r\n")); err != nil {
			return err
		}
	}
}

func (c *connection) isHung() bool {
	c.bus.mu.Lock()
	defer c.bus.mu.Unlock()
	return c.bus.hangs
}

// answer answers a call, unless the bus hangs.
func (c *connection) answer(m *dbus.Message) {
	c.bus.mu.Lock()
	defer c.bus.mu.Unlock()
	if c.bus.hangs {
		return
	}
	to, _ := m.Headers[dbus.FieldDestination].Value().(string)
	member, _ := m.Headers[dbus.FieldMember].Value().(string)
	headers := map[dbus.HeaderField]dbus.Variant{
		dbus.FieldReplySerial: dbus.MakeVariant(m.Serial()), dbus.FieldSender: dbus.MakeVariant("org.freedesktop.DBus"),
	}
	if to == notifications {
		headers[dbus.FieldSender] = dbus.MakeVariant(c.bus.ownerLocked())
	}
	reply, err := c.bus.callLocked(to, member, m.Body)
	if err != nil {
		headers[dbus.FieldErrorName] = dbus.MakeVariant("org.freedesktop.DBus.Error.ServiceUnknown")
		c.send(dbus.TypeError, headers, err.Error())
		return
	}
	c.send(dbus.TypeMethodReply, headers, reply...)
}

// callLocked carries out a call.
// +checklocks:b.mu
func (b *Bus) callLocked(to, member string, args []any) ([]any, error) {
	switch {
	case member == "Hello":
		return []any{":1.7"}, nil
	case member == "AddMatch":
		return nil, nil
	case b.gone:
		return nil, errors.New("the name is not activatable")
	case member == "GetNameOwner":
		return []any{b.ownerLocked()}, nil
	case to == notifications && member == "GetCapabilities":
		return []any{b.can}, nil
	case to == notifications && member == "Notify":
		var n Notification
		if err := dbus.Store(args, &n.App, &n.Replaces, &n.Icon, &n.Summary, &n.Body, &n.Actions, &n.Hints, &n.Expires); err != nil {
			return nil, err
		}
		if n.ID = n.Replaces; n.ID == 0 {
			b.ids++
			n.ID = b.ids
		}
		b.got <- n
		return []any{n.ID}, nil
	}
	return nil, fmt.Errorf("there is no %s at %s", member, to)
}

// send sends a message. Who does not read it any more has gone.
func (c *connection) send(kind dbus.Type, headers map[dbus.HeaderField]dbus.Variant, body ...any) {
	if len(body) > 0 {
		headers[dbus.FieldSignature] = dbus.MakeVariant(dbus.SignatureOf(body...))
	}
	c.sending.Lock()
	defer c.sending.Unlock()
	c.serial++
	m := &dbus.Message{Type: kind, Headers: headers, Body: body}
	if err := encode(c.conn, m, c.serial); err != nil && !errors.Is(err, net.ErrClosed) {
		c.bus.t.Logf("the fake bus: %v", err)
	}
}

// serialAt is where a message has its serial number.
const serialAt = 8

// encode writes a message with a serial number, which the library gives to its own connections alone.
func encode(conn net.Conn, m *dbus.Message, serial uint32) error {
	var b bytes.Buffer
	if err := m.EncodeTo(&b, binary.LittleEndian); err != nil {
		return err
	}
	binary.LittleEndian.PutUint32(b.Bytes()[serialAt:], serial)
	_, err := b.WriteTo(conn)
	return err
}
