package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/archivefs/archivefs/cmd/archivefs/internal/mounted"
	"github.com/archivefs/archivefs/internal/testing/fusetest"
)

// asHelper makes the test binary be called by the name of a helper of mount(8), and returns
// the path.
func asHelper(t *testing.T, path string) string {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(program, path); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Remove(path) })
	return path
}

// endsAfter waits until the process of the mount at dir has ended after the deed.
func endsAfter(t *testing.T, dir string, deed func()) {
	t.Helper()
	_, status, err := mounted.Status(dir)
	if err != nil {
		t.Fatal(err)
	}
	deed()
	heals(t, "the process ends", func() bool { return !isRunning(status.PID) })
}

// isRunning reports whether there is such a process. One that ends keeps its files and locks until its last thread
// has ended, which may be another one than the first.
func isRunning(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	threads, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	return err == nil && (!strings.Contains(string(stat), ") Z ") || len(threads) > 1)
}

// umount calls umount(8).
func umount(t *testing.T, dir string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), "umount", dir).CombinedOutput(); err != nil {
		t.Errorf("umount: %v: %s", err, out)
	}
}

func TestHelperMounts(t *testing.T) {
	fusetest.Need(t)
	isolate(t)
	o := startOffice(t)
	helper := asHelper(t, filepath.Join(t.TempDir(), "mount.archivefs"))
	dir, state := t.TempDir(), filepath.Join(t.TempDir(), "state")
	unmountAtEnd(t, dir)
	options := `rw,noexec,nosuid,nodev,_netdev,auto_unmount,max_read=131072,subtype=archivefs,uhelper=udisks2,context="system_u:object_r:fusefs_t:s0:c1,c2",`
	if os.Geteuid() == 0 {
		options += "nosymfollow," // fusermount3 does not know it
	}
	options += "api_key_file=" + filepath.Join(o.data, "api-key") + ",state_dir=" + state
	call := func(more ...string) *program {
		return startWith(t, func(cmd *exec.Cmd) { cmd.Path = helper; cmd.Args[0] = helper },
			append([]string{o.url, dir, "-o", options}, more...)...)
	}

	p := call("-f")
	p.wantExit(0)
	wantUntouched(t, dir)

	p = call("-v")
	p.line("mounted " + o.url + " at " + dir)
	p.wantExit(0)
	letter := filepath.Join(dir, "My Archive", "letter.sh")
	if err := os.WriteFile(letter, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil || !strings.Contains(string(mounts), o.url+" "+dir+" fuse.archivefs rw,nosuid,nodev,noexec,") {
		t.Errorf("the mount is not as it was asked for: %v\n%s", err, mounts)
	}
	if os.Geteuid() == 0 && !strings.Contains(string(mounts), ",nosymfollow") {
		t.Errorf("links are followed:\n%s", mounts)
	}
	again := call()
	again.wantExit(32)
	again.says("an archive is mounted at " + dir + " already")
	if os.Geteuid() == 0 {
		endsAfter(t, dir, func() { umount(t, dir) })
	} else {
		endsAfter(t, dir, func() { start(t, "unmount", dir).wantExit(0) })
	}
	wantUntouched(t, dir)
}

// mount(8) finds the program by the type, directly or by way of mount.fuse3(8).
func TestMountByType(t *testing.T) {
	fusetest.Need(t)
	if os.Geteuid() != 0 {
		t.Skip("only root installs a helper")
	}
	isolate(t)
	o := startOffice(t)
	t.Setenv(asProgram, "1")
	for _, tt := range []struct{ kind, helper, spec string }{
		{"archivefs", "/sbin/mount.archivefs", strings.TrimSuffix(o.url, "/api/v2")},
		{"fuse.archivefs", "/sbin/mount.fuse.archivefs", o.url},
		{"fuse", "/usr/local/bin/archivefs", "archivefs#" + o.url}, // where mount.fuse3 looks
	} {
		t.Run(tt.kind, func(t *testing.T) {
			if _, err := os.Lstat(tt.helper); err == nil {
				t.Skipf("%s is installed", tt.helper)
			}
			if err := unix.Access(filepath.Dir(tt.helper), unix.W_OK); err != nil {
				t.Skipf("no helper can be installed in %s: %v", filepath.Dir(tt.helper), err)
			}
			asHelper(t, tt.helper)
			dir := t.TempDir()
			unmountAtEnd(t, dir)
			options := "ttl=5m,x-test.mount,api_key_file=" + filepath.Join(o.data, "api-key") + ",state_dir=" + filepath.Join(t.TempDir(), "state")
			mount := exec.CommandContext(t.Context(), "mount", "-t", tt.kind, "-o", options, tt.spec, dir)
			if out, err := mount.CombinedOutput(); err != nil {
				t.Fatalf("mount: %v: %s", err, out)
			}
			wantEntries(t, dir, "My Archive inboxes")
			fstab := filepath.Join(t.TempDir(), "fstab")
			if err := os.WriteFile(fstab, fmt.Appendf(nil, "%s %s %s %s 0 0\n", tt.spec, dir, tt.kind, options), 0o600); err != nil {
				t.Fatal(err)
			}
			if tt.kind != "fuse" { // its first field is no name of what is mounted
				again := exec.CommandContext(t.Context(), "mount", "--all", "--fstab", fstab)
				if out, err := again.CombinedOutput(); err != nil {
					t.Errorf("mount -a with what is mounted: %v: %s", err, out)
				}
			}
			endsAfter(t, dir, func() { umount(t, dir) })
		})
	}
}
