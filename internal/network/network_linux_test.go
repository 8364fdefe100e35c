package network

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// The kernel's own list can be followed, and the end comes at once.
func TestWatchEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- Watch(ctx, func() {}) }()
	cancel()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Fatal("it does not end")
	}
}

// up brings the loopback interface up in a network of its own, and returns a source there.
func up() (s *source, err error) {
	runtime.LockOSThread() // the thread stays in that network, and ends with its goroutine
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		return nil, err
	}
	if s, err = open(); err != nil {
		return nil, err
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return s, err
	}
	defer unix.Close(fd) //nolint:errcheck // nothing was written
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		return s, err
	}
	lo.SetUint16(unix.IFF_UP)
	return s, unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, lo)
}

// An interface that comes up is an event.
func TestEvents(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can make a network")
	}
	var s *source
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		s, err = up()
	}()
	<-done
	if s != nil {
		defer s.close()
	}
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-s.events:
	case <-time.After(time.Minute):
		t.Error("no event")
	}
}

func TestDefaults(t *testing.T) {
	dir := t.TempDir()
	const route = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n" +
		"eth0\t00000000\t0101A8C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n" +
		"eth0\t0001A8C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n"
	const nowhere = "00000000000000000000000000000000"
	const ipv6Route = nowhere + " 00 " + nowhere + " 00 fe800000000000000000000000000001 00000064 00000001 00000000 00450003     eth0\n" +
		"fe800000000000000000000000000000 40 " + nowhere + " 00 " + nowhere + " 00000100 00000001 00000000 00000001     eth0\n" +
		nowhere + " 00 " + nowhere + " 00 " + nowhere + " ffffffff 00000001 00000000 00200200       lo\n"
	for _, tt := range []struct{ name, text, anywhere, want string }{
		{"route", route, "00000000", "eth0 0101A8C0"},
		{"ipv6_route", ipv6Route, nowhere, "eth0 fe800000000000000000000000000001"},
		{"empty", "", "00000000", ""},
	} {
		path := filepath.Join(dir, tt.name)
		if err := os.WriteFile(path, []byte(tt.text), 0o600); err != nil {
			t.Fatal(err)
		}
		want := []string{tt.want}
		if tt.want == "" {
			want = nil
		}
		if got := defaults(path, tt.anywhere); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", tt.name, got, want)
		}
	}
	if got := defaults(filepath.Join(dir, "missing"), "00000000"); got != nil {
		t.Errorf("a missing table: %q", got)
	}
}
