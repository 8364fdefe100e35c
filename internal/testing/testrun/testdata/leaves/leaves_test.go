//go:build linux

// Package leaves has a process that is left behind, with the pipe of the tests, and for root a mount.
package leaves

import (
	"os"
	"os/exec"
	"syscall"
	"testing"
)

func TestPasses(*testing.T) {}

func TestLeaves(t *testing.T) {
	daemon := exec.Command("sleep", "1000") //nolint:noctx // it is to be left
	daemon.Stdout, daemon.Stderr = os.Stdout, os.Stderr
	daemon.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := daemon.Start(); err != nil {
		t.Fatal(err)
	}
}

func TestLeavesAMount(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can mount")
	}
	dir, err := os.MkdirTemp("", "left") //nolint:usetesting // it is to be left
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("none", dir, "tmpfs", 0, ""); err != nil {
		t.Fatal(err)
	}
}
