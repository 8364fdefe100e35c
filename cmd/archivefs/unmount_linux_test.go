package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/archivefs/archivefs/cmd/archivefs/internal/mounted"
	"github.com/archivefs/archivefs/internal/fusectl"
	"github.com/archivefs/archivefs/internal/testing/fusetest"
)

// needMounting skips a test that mounts without the helper.
func needMounting(t *testing.T) {
	t.Helper()
	fusetest.Need(t)
	if os.Geteuid() != 0 {
		t.Skip("only root can have mount namespaces and bind mounts")
	}
}

// inNamespace starts cat in a mount namespace of its own, in which of all archives only that at dir is
// mounted: those of other packages' tests shall end. It ends with its input.
func inNamespace(t *testing.T, dir string) (*exec.Cmd, io.Closer) {
	t.Helper()
	other := exec.CommandContext(t.Context(), "sh", "-c",
		`while read -r _ at kind _; do case $kind in fuse*) [ "$at" = "$1" ] || umount -l "$at";; esac; done < /proc/mounts; exec cat`, "sh", dir)
	other.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	input, err := other.StdinPipe()
	if err == nil {
		err = other.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	heals(t, "it is in a namespace of its own", func() bool {
		own, err := os.Readlink("/proc/self/ns/mnt")
		its, err2 := os.Readlink(fmt.Sprintf("/proc/%d/ns/mnt", other.Process.Pid))
		name, err3 := os.ReadFile(fmt.Sprintf("/proc/%d/comm", other.Process.Pid))
		return errors.Join(err, err2, err3) == nil && its != own && string(name) == "cat\n"
	})
	return other, input
}

// goesOn is what unmount says of a mount that is somewhere else, too.
func goesOn(pid int, here fusectl.Mounted) string {
	return fmt.Sprintf("archivefs: it is unmounted here, and its process %d goes on, because it is mounted elsewhere, too: bound to another directory, or "+
		"in a container; as root, grep ' %s ' /proc/[0-9]*/mountinfo shows where, and kill %d ends it\n", pid, here.Device, pid)
}

// A process in another mount namespace keeps the mount, and nobody waits for it.
func TestUnmountBesideAnotherNamespace(t *testing.T) {
	needMounting(t)
	isolate(t)
	p := newPerson(t, "daemon") // who may not see where
	m := p.start("mount", p.dir)
	m.line("mounted ")
	here, ok := mounted.At(p.dir)
	if !ok {
		t.Fatal("nothing is mounted")
	}
	other, input := inNamespace(t, p.dir) // of root
	unmount := p.start("unmount", p.dir)
	unmount.wantExit(1)
	unmount.says(goesOn(m.cmd.Process.Pid, here))
	_ = input.Close()
	if err := other.Wait(); err != nil {
		t.Error(err)
	}
	m.wantExit(0)
}

// So it is with a mount that can be seen at two places.
func TestUnmountBesideABindMount(t *testing.T) {
	needMounting(t)
	isolate(t)
	dir, second := t.TempDir(), t.TempDir()
	m := startOffice(t).mount(dir, t.TempDir()+"/state")
	unmountAtEnd(t, second)
	if err := syscall.Mount(dir, second, "", syscall.MS_BIND, ""); err != nil {
		t.Fatal(err)
	}
	here, _ := mounted.At(dir)
	status, _, stderr := call(t, "unmount", dir)
	if want := goesOn(m.cmd.Process.Pid, here); status != 1 || stderr != want {
		t.Errorf("exit status %d, %q; want %q", status, stderr, want)
	}
	if err := syscall.Unmount(second, 0); err != nil {
		t.Error(err)
	}
	m.wantExit(0)
}
