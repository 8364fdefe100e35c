package mount

import (
	"strings"
	"testing"
)

// A service manager hears nothing of a mount in the background, which is not what it watches.
func TestBackgroundTellsTheServiceManagerNothing(t *testing.T) {
	env := strings.Join(backgroundEnvironment([]string{
		"HOME=/h", "NOTIFY_SOCKET=/n", "WATCHDOG_PID=7", "WATCHDOG_USEC=9", "TERM=x",
	}), " ")
	if want := HandoverVariable + "=1 HOME=/h TERM=x"; env != want {
		t.Errorf("got %s, want %s", env, want)
	}
}
