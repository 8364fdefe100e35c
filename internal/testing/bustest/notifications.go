package bustest

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/godbus/dbus/v5"
)

const (
	notifications     = "org.freedesktop.Notifications"
	notificationsPath = dbus.ObjectPath("/org/freedesktop/Notifications")
	// limit is for what never comes.
	limit = time.Minute
)

// Notifications is a bus with a notification service on it.
type Notifications struct {
	*Bus
	can     []string // its capabilities
	got     chan Notification
	service *dbus.Conn // nil while there is none
}

// Notification is a call of Notify, and the id that was answered.
type Notification struct {
	App, Icon, Summary, Body string
	Replaces, ID             uint32
	Actions                  []string
	Hints                    map[string]dbus.Variant
	Expires                  int32
}

// StartNotifications starts a bus whose notification service has these capabilities, until the test
// ends.
func StartNotifications(t testing.TB, capabilities ...string) *Notifications {
	t.Helper()
	n := &Notifications{Bus: Start(t), can: capabilities, got: make(chan Notification, 100)}
	n.Restart()
	return n
}

// Next waits for the next notification.
func (n *Notifications) Next() Notification {
	n.t.Helper()
	select {
	case next := <-n.got:
		return next
	case <-time.After(limit):
		n.t.Fatal("no notification was shown")
		return Notification{}
	}
}

// Waiting is how many notifications were shown that Next has not returned.
func (n *Notifications) Waiting() int { return len(n.got) }

// Invoke chooses an action of a notification. The token is for the window that it opens.
func (n *Notifications) Invoke(id uint32, action, token string) {
	if token != "" {
		n.tell("ActivationToken", id, token)
	}
	n.tell("ActionInvoked", id, action)
}

// Dismiss closes a notification as a person does.
func (n *Notifications) Dismiss(id uint32) { n.tell("NotificationClosed", id, uint32(2)) }

func (n *Notifications) tell(signal string, args ...any) {
	n.signal(n.service, notificationsPath, notifications+"."+signal, args...)
}

// Restart makes the notification service another one, which knows no notification.
func (n *Notifications) Restart() {
	n.Remove()
	n.service = n.serve(notifications, notificationsPath, notifications, &desktop{can: n.can, got: n.got})
}

// Remove takes the notification service from the bus.
func (n *Notifications) Remove() {
	if n.service != nil {
		_ = n.service.Close()
		n.service = nil
	}
}

// Disconnect is that of Bus, which the service survives.
func (n *Notifications) Disconnect() {
	n.Bus.Disconnect()
	n.Restart()
}

// desktop is the service, with the methods of the Desktop Notifications Specification.
type desktop struct {
	can []string
	got chan<- Notification
	ids atomic.Uint32
}

// GetCapabilities is the method of that name.
func (d *desktop) GetCapabilities() ([]string, *dbus.Error) { return d.can, nil }

// Notify is the method of that name.
func (d *desktop) Notify(app string, replaces uint32, icon, summary, body string, actions []string, hints map[string]dbus.Variant, expires int32) (uint32, *dbus.Error) {
	id := replaces
	if id == 0 {
		id = d.ids.Add(1)
	}
	d.got <- Notification{app, icon, summary, body, replaces, id, actions, hints, expires}
	return id, nil
}
