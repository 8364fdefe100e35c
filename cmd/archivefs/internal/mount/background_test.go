package mount

import (
	"fmt"
	"strings"
	"testing"
	"time"
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

// A mount that crashes is started again at once, and one that crashes again and again later and
// later, until it is given up.
func TestCrashesInARow(t *testing.T) {
	var c crashes
	var got []string
	for range mostCrashes {
		pause, again := c.next(time.Second)
		got = append(got, fmt.Sprint(pause, again))
	}
	want := "[0s true 1s true 2s true 4s true 8s true 16s true 32s true 1m4s false]"
	if fmt.Sprint(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if pause, again := c.next(stable); pause != 0 || !again {
		t.Errorf("after a stable mount: %s, %v", pause, again)
	}
}
