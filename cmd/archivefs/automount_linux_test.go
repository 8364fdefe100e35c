package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// automount makes dir a place where who looks into it waits for a mount (autofs(5), "direct"),
// as systemd does. Processes of this group do not wait. When others asked for the mount,
// asked is closed, and nobody mounts.
func automount(t *testing.T, dir string) (asked chan struct{}) {
	t.Helper()
	requests, forKernel, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer forKernel.Close() //nolint:errcheck // the kernel has its own
	options := fmt.Sprintf("fd=%d,pgrp=%d,minproto=5,maxproto=5,direct", forKernel.Fd(), unix.Getpgrp())
	if err := unix.Mount("test", dir, "autofs", 0, options); err != nil {
		t.Skipf("no automount can be made here: %v", err)
	}
	asked, heard := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(heard)
		if n, _ := requests.Read(make([]byte, 1024)); n > 0 {
			close(asked)
		}
	}()
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
		<-heard // the kernel closed its end
		_ = requests.Close()
	})
	return asked
}

// inAGroup has a program started in a process group of its own, as systemd does.
func inAGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// What is mounted because somebody looks into a directory must not look into it before: it
// would wait for its own end.
func TestAMountIsNotWaitedForByItself(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can make an automount")
	}
	home := isolate(t)
	dir := filepath.Join(home, "mnt")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	asked := automount(t, dir)
	for _, args := range [][]string{{dir}, {"--default-mountpoint", dir, "office"}} {
		config := filepath.Join(home, "config.toml")
		if err := os.WriteFile(config, []byte("[profile.office]\nembedded = true\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		p := startWith(t, inAGroup, append([]string{"mount", "--config", config, "--embedded"}, args...)...)
		select {
		case <-asked:
			t.Fatal("the mount point was looked into before it was mounted")
		case _, open := <-p.lines:
			if !open {
				t.Fatalf("not mounted, but %v: %s", p.wait(), p.said())
			}
		}
		p.stop()
	}
	looking := exec.CommandContext(t.Context(), "ls", dir) // that is noticed
	inAGroup(looking)
	if err := looking.Start(); err != nil {
		t.Fatal(err)
	}
	<-asked
	_ = looking.Process.Kill()
	_ = looking.Wait()
}
