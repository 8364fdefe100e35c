package kdirnotify_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/archivefs/archivefs/internal/kdirnotify"
	"github.com/archivefs/archivefs/internal/testing/bustest"
)

// limit is for what never comes.
const limit = time.Minute

func TestTell(t *testing.T) {
	bus := bustest.Start(t)
	signals := bus.Signals("org.kde.KDirNotify")
	if err := kdirnotify.Tell(t.Context(), bus.Address, "/mnt/a b", true, []string{"ä.pdf", "c#.pdf"}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"org.kde.KDirNotify.FilesAdded [file:///mnt/a%20b]",
		"org.kde.KDirNotify.FilesRemoved [[file:///mnt/a%20b/%C3%A4.pdf file:///mnt/a%20b/c%23.pdf]]",
	} {
		select {
		case m := <-signals:
			if got := fmt.Sprint(m.Name, " ", m.Body); got != want {
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
			address, greeted := readUntilHello(t, bus.Address)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			ended := make(chan error, 1)
			go func() { ended <- kdirnotify.Tell(ctx, address, "/mnt", true, tooMany) }()
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

// readUntilHello is a bus that reads nothing any more after the first call, which is answered: what a client writes
// from then on fills its connection. greeted is closed then.
func readUntilHello(t *testing.T, bus string) (address string, greeted <-chan struct{}) {
	t.Helper()
	dir, err := os.MkdirTemp("", "bus") //nolint:usetesting // the path of a socket is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	l, err := net.Listen("unix", filepath.Join(dir, "bus")) //nolint:noctx // it ends with the test
	if err != nil {
		t.Fatal(err)
	}
	said := make(chan struct{})
	go func() {
		client, err := l.Accept()
		if err != nil {
			return
		}
		t.Cleanup(func() { _ = client.Close() })
		server, err := net.Dial("unix", strings.TrimPrefix(bus, "unix:path="))
		if err != nil {
			t.Error(err)
			return
		}
		t.Cleanup(func() { _ = server.Close() })
		go func() { _, _ = io.Copy(client, server) }()
		piece := make([]byte, 4096)
		for hello := false; !hello; hello = bytes.Contains(piece, []byte("Hello")) {
			n, err := client.Read(piece)
			if err != nil {
				return
			}
			_, _ = server.Write(piece[:n])
		}
		close(said)
	}()
	t.Cleanup(func() { _ = l.Close() })
	return "unix:path=" + filepath.Join(dir, "bus"), said
}
