package bustest

import (
	"fmt"
	"testing"
	"time"

	"github.com/godbus/dbus/v5"
)

const (
	notifications = "org.freedesktop.Notifications"
	// limit is for what never comes.
	limit = time.Minute
)

// Notifications is a bus with a notification service on it.
type Notifications struct {
	*Bus
	can []string // its capabilities
	got chan Notification
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
	n.signal(notifications, "/org/freedesktop/Notifications", notifications, signal, args...)
}

// Restart makes the notification service another one, which knows no notification.
func (n *Notifications) Restart() { n.run(&desktop{can: n.can, got: n.got}) }

// Remove takes the notification service from the bus.
func (n *Notifications) Remove() { n.remove(notifications) }

// desktop is the service.
type desktop struct {
	can []string
	got chan<- Notification
	ids uint32
}

func (*desktop) name() string { return notifications }

func (d *desktop) call(method string, args []any) ([]any, error) {
	switch method {
	case "GetCapabilities":
		return []any{d.can}, nil
	case "Notify":
		var n Notification
		if err := dbus.Store(args, &n.App, &n.Replaces, &n.Icon, &n.Summary, &n.Body, &n.Actions, &n.Hints, &n.Expires); err != nil {
			return nil, err
		}
		if n.ID = n.Replaces; n.ID == 0 {
			d.ids++
			n.ID = d.ids
		}
		d.got <- n
		return []any{n.ID}, nil
	}
	return nil, fmt.Errorf("the desktop has no method %s", method)
}
