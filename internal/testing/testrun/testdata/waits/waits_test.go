//go:build linux

// Package waits has a test that does not end, and programs of its own.
package waits

import (
	"os"
	"os/exec"
	"syscall"
	"testing"
)

func TestWaits(t *testing.T) {
	for _, session := range []bool{false, true} {
		program := exec.CommandContext(t.Context(), "sh", "-c", `trap '' INT TERM HUP; sleep 1000`)
		program.SysProcAttr = &syscall.SysProcAttr{Setsid: session}
		program.Stdout, program.Dir = os.Stdout, t.TempDir()
		if err := program.Start(); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(os.Getenv("TESTRUN_READY"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	select {}
}
