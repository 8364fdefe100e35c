package poppler

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// runs runs a system program in place of poppler.
func runs(t *testing.T, ctx context.Context, limit int, program string, args ...string) (string, bool, error) {
	t.Helper()
	out, whole, err := run(ctx, bytes.NewReader([]byte("content")), limit, program, args...)
	return string(out), whole, err
}

func TestRunBounds(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux bounds the address space")
	}
	out, _, err := runs(t, t.Context(), 100, "sh", "-c", "ulimit -t; ulimit -v; ulimit -c; ulimit -H -v")
	if want := maxProcessor + "\n" + maxMemory + "\n0\n" + maxMemory + "\n"; err != nil || out != want {
		t.Errorf("%q, %v; want %q", out, err, want)
	}
}

func TestRunKeepsSecrets(t *testing.T) {
	t.Setenv("ARCHIVEFS_API_KEY", "secret")
	out, _, err := runs(t, t.Context(), 1000, "env")
	if err != nil || strings.Contains(out, "secret") || !strings.Contains(out, "PATH="+os.Getenv("PATH")) {
		t.Errorf("%q, %v", out, err)
	}
}

func TestRunTakesNoMoreThanItsLimit(t *testing.T) {
	if out, whole, err := runs(t, t.Context(), 5, "yes"); err != nil || whole || out != "y\ny\ny" {
		t.Errorf("%q, whole %t, %v", out, whole, err)
	}
	if out, whole, err := runs(t, t.Context(), 7, "cat", input); err != nil || !whole || out != "content" {
		t.Errorf("%q, whole %t, %v", out, whole, err)
	}
}

// A process that waits for ever is killed when its context ends.
func TestRunIsKilled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	begun := filepath.Join(t.TempDir(), "begun")
	if err := syscall.Mkfifo(begun, 0o600); err != nil {
		t.Fatal(err)
	}
	go func() {
		_, _ = os.ReadFile(begun)
		cancel()
	}()
	if _, _, err := runs(t, ctx, 10, "sh", "-c", `echo >"$0"; exec sleep 1000`, begun); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// So is one that does not end in time.
func TestRunEndsInTime(t *testing.T) {
	_, _, err := runFor(t.Context(), time.Millisecond, bytes.NewReader(nil), 10, "sleep", "1000")
	if !errors.Is(err, ErrTooSlow) || errors.Is(err, ErrUnreadable) || errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}

func TestRunTellsFailures(t *testing.T) {
	if _, _, err := runs(t, t.Context(), 10, "false"); !errors.Is(err, ErrUnreadable) {
		t.Error(err)
	}
}
