package notify

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/godbus/dbus/v5"
)

// The names of the Desktop Notifications Specification, version 1.2.
const (
	service    = "org.freedesktop.Notifications"
	objectPath = dbus.ObjectPath("/org/freedesktop/Notifications")
)

// Values of the hint urgency.
const (
	normal   = byte(1)
	critical = byte(2)
)

// The actions: the button, and a click on the message itself.
const (
	actionShow    = "show"
	actionDefault = "default"
)

// app is the name of the program, of its icon and of its desktop entry.
const app = "archivefs"

// errNoBus: nobody is at a desktop.
var errNoBus = errors.New("there is no session bus")

// Bus is the notification service on the session bus. It connects for the first message, and again
// when the connection was lost.
type Bus struct {
	dial   func(...dbus.ConnOption) (*dbus.Conn, error)
	chosen func(token string)
	closed chan struct{}

	// calling is held during Notify: what becomes of the message may be heard before its id.
	calling sync.Mutex
	mu      sync.Mutex
	// conn is the connection to the bus, nil for none.
	conn *dbus.Conn // +checklocks:mu
	// shown is the message on the screen.
	shown shown // +checklocks:mu
}

// shown is a message on the screen.
type shown struct {
	id    uint32 // 0: none
	owner string // the unique name of the service that shows it; its ids mean nothing to another
	token string // lets the window that its action opens take the focus
}

// NewBus returns the notification service of the session. It connects to nothing yet. chosen is called when the person
// has chosen to see more; the token lets a new window take the focus (XDG_ACTIVATION_TOKEN), and may be empty.
func NewBus(chosen func(token string)) *Bus {
	return &Bus{dial: dialSession, chosen: chosen, closed: make(chan struct{}, 1)}
}

// dialSession connects to the session bus. It starts none.
func dialSession(options ...dbus.ConnOption) (*dbus.Conn, error) {
	address, set := os.LookupEnv("DBUS_SESSION_BUS_ADDRESS")
	if dir := os.Getenv("XDG_RUNTIME_DIR"); !set && dir != "" {
		socket := filepath.Join(dir, "bus")
		if _, err := os.Stat(socket); err == nil { //nolint:gosec // a directory of the session
			address = "unix:path=" + dbus.EscapeBusAddressValue(socket)
		}
	}
	if address == "" {
		return nil, errNoBus
	}
	return dbus.Dial(address, options...)
}

// Closed implements Desktop.
func (b *Bus) Closed() <-chan struct{} { return b.closed }

// Close implements Desktop.
func (b *Bus) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.conn == nil {
		return nil
	}
	conn := b.conn
	b.conn = nil
	return conn.Close()
}

// Show implements Desktop.
func (b *Bus) Show(ctx context.Context, m *Message) error {
	conn, err := b.connection(ctx)
	if err == nil {
		// A call that cannot be sent does not look at its context.
		hung := context.AfterFunc(ctx, func() { _ = conn.Close() })
		err = b.notify(ctx, conn, m)
		hung()
	}
	if err != nil {
		return errors.Join(err, b.Close())
	}
	return nil
}

// connection returns the connection to the bus, and connects if there is none.
func (b *Bus) connection(ctx context.Context) (*dbus.Conn, error) {
	b.mu.Lock()
	conn := b.conn
	b.mu.Unlock()
	if conn != nil && conn.Connected() {
		return conn, nil
	}
	conn, err := b.dial()
	if err != nil {
		return nil, err
	}
	signals := make(chan *dbus.Signal, 16)
	conn.Signal(signals) // before anything closes the connection, which ends listen
	go b.listen(signals)
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	err = conn.Auth(nil)
	if err == nil {
		err = conn.Hello()
	}
	if err == nil {
		err = conn.AddMatchSignalContext(ctx, dbus.WithMatchInterface(service), dbus.WithMatchObjectPath(objectPath))
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.conn = conn
	return conn, nil
}

// notify sends a message, as the service can show it.
func (b *Bus) notify(ctx context.Context, conn *dbus.Conn, m *Message) error {
	desktop := conn.Object(service, objectPath)
	var can []string
	// This call starts the service, if the bus knows how.
	if err := desktop.CallWithContext(ctx, service+".GetCapabilities", 0).Store(&can); err != nil {
		return err
	}
	var owner string
	if err := conn.BusObject().CallWithContext(ctx, "org.freedesktop.DBus.GetNameOwner", 0, service).Store(&owner); err != nil {
		return err
	}
	b.mu.Lock()
	if b.shown.owner != owner {
		b.shown = shown{owner: owner}
	}
	replaces := b.shown.id
	b.mu.Unlock()
	summary, body := texts(m, can)
	actions := []string{}
	if slices.Contains(can, "actions") {
		actions = []string{actionDefault, "Show", actionShow, "Show"}
	}
	urgency := normal
	if m.Urgent {
		urgency = critical
	}
	hints := map[string]dbus.Variant{
		"desktop-entry": dbus.MakeVariant(app),
		"category":      dbus.MakeVariant("transfer.error"),
		"urgency":       dbus.MakeVariant(urgency),
	}
	b.calling.Lock()
	defer b.calling.Unlock()
	var id uint32
	const asLongAsUsual = int32(-1)
	call := desktop.CallWithContext(ctx, service+".Notify", 0, app, replaces, app, summary, body, actions, hints, asLongAsUsual)
	if err := call.Store(&id); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.shown.id = id
	return nil
}

// markup escapes a text where the service reads markup.
var markup = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// texts returns summary and body for a service with these capabilities. Summaries never have markup.
func texts(m *Message, can []string) (summary, body string) {
	switch {
	case m.Body == "":
		return m.Summary, ""
	case !slices.Contains(can, "body"):
		return m.Summary + ": " + strings.ReplaceAll(m.Body, "\n", " "), ""
	case slices.Contains(can, "body-markup"):
		return m.Summary, markup.Replace(m.Body)
	}
	return m.Summary, m.Body
}

// listen hears what becomes of the message, until the connection ends.
func (b *Bus) listen(signals <-chan *dbus.Signal) {
	for s := range signals {
		if len(s.Body) < 2 {
			continue
		}
		id, _ := s.Body[0].(uint32)
		b.calling.Lock()
		b.mu.Lock()
		ours := id != 0 && id == b.shown.id && s.Sender == b.shown.owner
		token := b.shown.token
		if ours && s.Name == service+".ActivationToken" {
			b.shown.token, _ = s.Body[1].(string)
		}
		if ours && s.Name == service+".NotificationClosed" {
			b.shown.id, b.shown.token = 0, ""
		}
		b.mu.Unlock()
		b.calling.Unlock()
		if !ours {
			continue
		}
		switch s.Name {
		case service + ".ActionInvoked":
			b.chosen(token)
			b.seen()
		case service + ".NotificationClosed":
			b.seen()
		}
	}
}

// seen says that the person knows what was shown.
func (b *Bus) seen() {
	select {
	case b.closed <- struct{}{}:
	default: // it was said before
	}
}
