package network

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"
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

// An interface that comes is an event.
func TestEvents(t *testing.T) {
	s, err := open()
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	if out, err := exec.CommandContext(t.Context(), "ip", "link", "add", "afstest0", "type", "dummy").CombinedOutput(); err != nil {
		t.Skipf("no interface can be made: %v: %s", err, out)
	}
	defer exec.Command("ip", "link", "del", "afstest0").Run() //nolint:errcheck,noctx // it is there
	select {
	case <-s.events:
	case <-time.After(time.Minute):
		t.Error("no event")
	}
}

func TestDefaults(t *testing.T) {
	dir := t.TempDir()
	for _, tt := range []struct{ name, text, anywhere, want string }{
		{"route", "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n" +
			"eth0\t00000000\t0101A8C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n" +
			"eth0\t0001A8C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n", "00000000", "eth0 0101A8C0"},
		{"ipv6_route", "00000000000000000000000000000000 00 00000000000000000000000000000000 00 fe800000000000000000000000000001 00000064 00000001 00000000 00450003     eth0\n" +
			"fe800000000000000000000000000000 40 00000000000000000000000000000000 00 00000000000000000000000000000000 00000100 00000001 00000000 00000001     eth0\n" +
			"00000000000000000000000000000000 00 00000000000000000000000000000000 00 00000000000000000000000000000000 ffffffff 00000001 00000000 00200200       lo\n",
			"00000000000000000000000000000000", "eth0 fe800000000000000000000000000001"},
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
