package kdirnotify_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/godbus/dbus/v5"

	"github.com/archivefs/archivefs/internal/kdirnotify"
	"github.com/archivefs/archivefs/internal/testing/bustest"
)

// limit is for what never comes.
const limit = time.Minute

func TestTell(t *testing.T) {
	bus := bustest.Start(t)
	if err := kdirnotify.Tell(t.Context(), bus.Address, "/mnt/a b", true, []string{"ä.pdf", "c#.pdf"}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"FilesAdded [file:///mnt/a%20b]",
		"FilesRemoved [[file:///mnt/a%20b/%C3%A4.pdf file:///mnt/a%20b/c%23.pdf]]",
	} {
		select {
		case m := <-bus.Signals:
			if got := fmt.Sprint(m.Headers[dbus.FieldMember].Value(), " ", m.Body); got != want {
				t.Errorf("told %s, want %s", got, want)
			}
		case <-time.After(limit):
			t.Fatalf("%s was not told", want)
		}
	}
}

func TestTellABusThatHangs(t *testing.T) {
	tooMany := slices.Repeat([]string{strings.Repeat("x", 255)}, 10_000) // for the buffer of the connection
	for _, when := range []string{"at the beginning", "later"} {
		t.Run(when, func(t *testing.T) {
			bus := bustest.Start(t)
			bus.Hang(when == "at the beginning")
			greeted := bus.ReadUntil("Hello")
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			ended := make(chan error, 1)
			go func() { ended <- kdirnotify.Tell(ctx, bus.Address, "/mnt", true, tooMany) }()
			if when == "later" {
				<-greeted
			}
			cancel()
			select {
			case err := <-ended:
				if err == nil {
					t.Error("nobody was told")
				}
			case <-time.After(limit):
				t.Fatal("it waits for the bus")
			}
		})
	}
}
