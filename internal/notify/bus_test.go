package notify

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/archivefs/archivefs/internal/testing/bustest"
)

// limit is for what never comes.
const limit = time.Minute

// all are the capabilities of a usual desktop.
var all = []string{"body", "body-markup", "actions", "persistence"}

// session starts a bus with a desktop of these capabilities, and is told in the channel what is chosen.
func session(t *testing.T, can ...string) (*bustest.Notifications, *Bus, <-chan string) {
	t.Helper()
	desk := bustest.StartNotifications(t, can...)
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", desk.Address)
	chosen := make(chan string, 1)
	b := NewBus(func(token string) { chosen <- token })
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return desk, b, chosen
}

func show(t *testing.T, b *Bus, m Message) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	return b.Show(ctx, &m)
}

func wantShow(t *testing.T, b *Bus, m Message) {
	t.Helper()
	if err := show(t, b, m); err != nil {
		t.Fatal(err)
	}
}

// wantClosed waits until the person has closed the message.
func wantClosed(t *testing.T, b *Bus) {
	t.Helper()
	select {
	case <-b.Closed():
	case <-time.After(limit):
		t.Fatal("nobody has closed the message")
	}
}

func TestNotification(t *testing.T) {
	desk, b, chosen := session(t, all...)
	wantShow(t, b, Message{Summary: "<b>a & b.pdf", Body: "In <A>: \"x\" & y."})
	n := desk.Next()
	if n.App != "archivefs" || n.Icon != "archivefs" || n.Replaces != 0 || n.Summary != "<b>a & b.pdf" || n.Body != "In &lt;A&gt;: \"x\" &amp; y." {
		t.Errorf("%+v", n)
	}
	if !slices.Equal(n.Actions, []string{"default", "Show", "show", "Show"}) || n.Expires != -1 {
		t.Errorf("%+v", n)
	}
	for hint, want := range map[string]any{"desktop-entry": "archivefs", "category": "transfer.error", "urgency": byte(1)} {
		if got := n.Hints[hint].Value(); got != want {
			t.Errorf("%s: %v, want %v", hint, got, want)
		}
	}
	wantShow(t, b, Message{Summary: "two", Urgent: true})
	next := desk.Next()
	if next.Replaces != n.ID || next.Hints["urgency"].Value() != byte(2) || next.Body != "" {
		t.Errorf("%+v, want it in the place of %d", next, n.ID)
	}
	desk.Invoke(next.ID+1, "show", "") // somebody else's
	desk.Invoke(next.ID, "show", "token-1")
	select {
	case token := <-chosen:
		if token != "token-1" {
			t.Errorf("the token is %q", token)
		}
	case <-time.After(limit):
		t.Fatal("nothing was chosen")
	}
	wantClosed(t, b)
	desk.Dismiss(next.ID)
	wantClosed(t, b)
	wantShow(t, b, Message{Summary: "three"})
	if n := desk.Next(); n.Replaces != 0 {
		t.Errorf("%+v, want a new one", n)
	}
}

func TestDesktopThatCanDoLittle(t *testing.T) {
	desk, b, _ := session(t, "body")
	wantShow(t, b, Message{Summary: "a.pdf", Body: "In <A>: x & y.\nAnd 2 more."})
	if n := desk.Next(); n.Body != "In <A>: x & y.\nAnd 2 more." || len(n.Actions) != 0 {
		t.Errorf("%+v", n)
	}
	desk, b, _ = session(t)
	wantShow(t, b, Message{Summary: "a.pdf", Body: "In <A>: x & y.\nAnd 2 more."})
	if n := desk.Next(); n.Summary != "a.pdf: In <A>: x & y. And 2 more." || n.Body != "" {
		t.Errorf("%+v", n)
	}
}

func TestDesktopThatStartsAgain(t *testing.T) {
	desk, b, _ := session(t, all...)
	wantShow(t, b, Message{Summary: "one"})
	first := desk.Next()
	desk.Restart()
	wantShow(t, b, Message{Summary: "two"})
	if n := desk.Next(); n.Replaces != 0 {
		t.Errorf("%+v replaces %d of another service", n, first.ID)
	}
	desk.Disconnect()
	// The first message after that may find the end of the connection only.
	if show(t, b, Message{Summary: "three"}) != nil {
		wantShow(t, b, Message{Summary: "three"})
	}
	if n := desk.Next(); n.Summary != "three" {
		t.Errorf("%+v", n)
	}
	desk.Remove()
	if err := show(t, b, Message{Summary: "four"}); err == nil {
		t.Error("shown by nobody")
	}
}

func TestDesktopThatHangs(t *testing.T) {
	for _, when := range []string{"before the first message", "after it"} {
		t.Run(when, func(t *testing.T) {
			desk, b, _ := session(t, all...)
			if when == "after it" {
				wantShow(t, b, Message{Summary: "one"})
				desk.Next()
			}
			desk.Hang(true)
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- b.Show(ctx, &Message{Summary: "two"}) }()
			cancel()
			select {
			case err := <-ended:
				if err == nil {
					t.Error("shown by nobody")
				}
			case <-time.After(limit):
				t.Fatal("it waits for the desktop")
			}
			desk.Hang(false)
			wantShow(t, b, Message{Summary: "three"})
			n := desk.Next()
			if n.Summary == "two" { // which the bus had already
				n = desk.Next()
			}
			if n.Summary != "three" {
				t.Errorf("%+v", n)
			}
		})
	}
}

func TestNoSessionBus(t *testing.T) {
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", "")
	if err := show(t, NewBus(nil), Message{Summary: "one"}); !errors.Is(err, errNoBus) {
		t.Errorf("%v, want %v", err, errNoBus)
	}
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nowhere/bus")
	if err := show(t, NewBus(nil), Message{Summary: "one"}); err == nil {
		t.Error("shown by nobody")
	}
}

// A desktop may say what was chosen before the mount has read which id the message got.
func TestChosenAtOnce(t *testing.T) {
	desk, b, chosen := session(t, all...)
	for i := range 100 {
		shown := make(chan error, 1)
		go func() { shown <- b.Show(t.Context(), &Message{Summary: "one"}) }()
		desk.Invoke(desk.Next().ID, "show", "")
		select {
		case <-chosen:
		case <-time.After(limit):
			t.Fatalf("nothing was chosen the %dth time", i)
		}
		if err := <-shown; err != nil {
			t.Fatal(err)
		}
	}
}
