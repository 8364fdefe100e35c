package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/archivefs/archivefs/fs"
	"github.com/archivefs/archivefs/internal/testing/fusetest"
)

// What a process left behind that was killed is named with its cure.
func TestStatusOfAStaleMount(t *testing.T) {
	fusetest.Need(t)
	isolate(t)
	o := startOffice(t)
	dir := t.TempDir()
	m := o.mount(dir, t.TempDir()+"/state")
	if _, err := os.Stat(dir); err != nil { // which the kernel remembers
		t.Fatal(err)
	}
	if err := m.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = m.wait() // killed
	status, _, stderr := call(t, "status", dir)
	if status != 1 || !strings.Contains(stderr, "archivefs unmount "+dir) || strings.Contains(stderr, "fusermount") {
		t.Errorf("exit status %d, error %q; want 1 and archivefs unmount", status, stderr)
	}
	if status, _, stderr := call(t, "unmount", dir); status != 0 {
		t.Errorf("unmount: exit status %d, error %q", status, stderr)
	}
	wantUntouched(t, dir)
}

// A watched status goes on until it is interrupted, which is no failure, or the mount is
// gone, which is one.
func TestStatusWatch(t *testing.T) {
	fusetest.Need(t)
	isolate(t)
	o := startOffice(t)
	dir := t.TempDir()
	m := o.mount(dir, t.TempDir()+"/state")
	w := start(t, "status", "--watch", "--json", dir)
	for i := range 2 {
		var s fs.Status
		if err := json.Unmarshal([]byte(w.line("")), &s); err != nil || s.Health != fs.HealthOK || s.PID != m.cmd.Process.Pid {
			t.Errorf("line %d: %v, status %+v", i, err, s)
		}
	}
	w.stop()
	m.stop()
	if status, _, stderr := call(t, "status", "--watch", dir); status != 1 || !strings.Contains(stderr, "no archive mounted at "+dir) {
		t.Errorf("without a mount: exit status %d, error %q", status, stderr)
	}
}
