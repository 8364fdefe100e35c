package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/archivefs/archivefs/fs"
	"github.com/archivefs/archivefs/internal/testing/fusetest"
)

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

// The second status says what happened since the first.
func TestStatusWatchTellsThePace(t *testing.T) {
	w := &watch{}
	var s fs.Status
	if err := json.Unmarshal([]byte(`{"requests": [{"operation": "inboxes", "requests": 2, "sent": 0, "received": 1024}]}`), &s); err != nil {
		t.Fatal(err)
	}
	start := s.Mounted
	if got := w.pace(start.AddDate(0, 0, 1), &s); got != "Ctrl-C ends this" {
		t.Errorf("the first says %q", got)
	}
	s.Requests[0].Requests, s.Requests[0].Received = 12, 5120
	if got, want := w.pace(start.AddDate(0, 0, 1).Add(2e9), &s), "5 requests, 0 B sent, 2.0 KiB received a second"; got != want {
		t.Errorf("the second says %q, want %q", got, want)
	}
	var out bytes.Buffer
	if isTerminal(&out) {
		t.Error("a buffer is taken for a terminal")
	}
}
