package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// What still goes on when the time for uploads is over has the log until the process has ended.
func TestLogIsOpenToTheEnd(t *testing.T) {
	b := newBusy(t, nil, "a.txt", "b.txt", "c.txt", "d.txt")
	<-b.gate.arrived
	b.program.signal(syscall.SIGKILL)
	_ = b.program.wait() // it was killed
	wantCall(t, 0, "", "unmount", b.dir)
	log := filepath.Join(t.TempDir(), "log")
	b.mount(nil, "--log-file", log, "--timeout", "1h", "--drain", "10ms") // so long they may still arrive
	heals(t, "they are looked for", func() bool {
		_, status, err := readStatus(b.dir)
		return err == nil && status.Uploads.Sending == 4
	})
	b.program.stop()
	text, err := os.ReadFile(log)
	if err != nil {
		t.Error(err)
	}
	if said := b.program.said() + string(text); strings.Contains(said, "Failed to write") {
		t.Errorf("said %s", said)
	}
}
