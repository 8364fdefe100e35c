//go:build linux

package machine

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestRunTellsHowItEnded(t *testing.T) {
	r, err := Run(t.Context(), `echo "$WORD"; echo no >&2`, []string{"WORD=yes"}, time.Minute)
	if err != nil || r.Output != "yes" {
		t.Errorf("%q, %v", r.Output, err)
	}
	if _, err := Run(t.Context(), "{ echo no file >&2; exit 3; } | cat", nil, time.Minute); err == nil || !strings.HasSuffix(err.Error(), "exit status 3: no file") {
		t.Errorf("a pipe that fails: %v", err)
	}
	if _, err := Run(t.Context(), "sleep 60 & wait", nil, time.Millisecond); !errors.Is(err, ErrTimeout) {
		t.Errorf("a command that stays: %v", err)
	}
}

// A process that goes to the background is found, measured and ended.
func TestWhatGoesToTheBackground(t *testing.T) {
	if err := Adopt(); err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(t.TempDir(), "log")
	server, err := Start(t.Context(), "exec sleep 60", nil, log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Stop)
	p, err := Start(t.Context(), "(sleep 60 >/dev/null & echo $!)", nil, log)
	if err != nil {
		t.Fatal(err)
	}
	<-p.Ended()
	family := Family(server.PID())
	if len(family) != 1 || p.Failed() {
		t.Fatalf("%v beside the server, failed %t", family, p.Failed())
	}
	if u := UsageOf(family); u.Resident <= 0 || u.CPU < 0 {
		t.Errorf("%+v", u)
	}
	End(family, 0)
	End(family, time.Minute)
	if left := Family(server.PID()); len(left) > 0 {
		t.Errorf("%v is left", left)
	}
	if !slices.Contains(Family(), server.PID()) {
		t.Error("the server is gone")
	}
	server.Stop()
	if left := Family(); len(left) > 0 || !server.Failed() {
		t.Errorf("%v is left after the server, failed %t", left, server.Failed())
	}
	if text, err := os.ReadFile(log); err != nil || strings.TrimSpace(string(text)) == "" {
		t.Errorf("log %q, %v", text, err)
	}
}

func TestMounted(t *testing.T) {
	if Mounted("/proc") == "" || Mounted("/proc/self") != "" {
		t.Errorf("/proc: %q, /proc/self: %q", Mounted("/proc"), Mounted("/proc/self"))
	}
}
