package main

import (
	"strings"
	"syscall"
	"testing"

	"github.com/archivefs/archivefs/cmd/archivefs/internal/mounted"
	"github.com/archivefs/archivefs/fs"
)

// An upload whose answer was lost at a service that answers is waited for, and archived.
func TestUnmountWaitsForAnUploadInDoubt(t *testing.T) {
	b := newBusy(t, nil, "a.txt")
	<-b.gate.arrived
	b.program.signal(syscall.SIGKILL)
	_ = b.program.wait() // it was killed
	wantCall(t, 0, "", "unmount", b.dir)
	b.mount(nil, "--timeout", "20s", "--retry-for", "200ms") // so long what was cut off may still arrive
	const why = "it did not arrive so far, but may still in the next "
	heals(t, "the upload is in doubt", func() bool {
		_, status, err := mounted.Status(b.dir)
		if err != nil {
			t.Fatal(err)
		}
		return len(status.Uploads.List) == 1 && strings.Contains(status.Uploads.List[0].Error, why)
	})
	if h := health(t, b.dir); h != fs.HealthOK {
		t.Errorf("health is %q of a service that answers", h)
	}
	if status, stdout, stderr := call(t, "uploads", "retry", b.dir); status != 1 || !strings.Contains(stdout, "  My Archive/a.txt  pending: "+why) {
		t.Errorf("retry: exit status %d, error %q, output %q", status, stderr, stdout)
	}
	unmount := start(t, "unmount", b.dir)
	unmount.says("archivefs: waiting for 1 upload, 9 B\n")
	b.gate.open()
	unmount.wantExit(0)
	if said := unmount.said(); strings.Contains(said, "kept in") {
		t.Errorf("said %q, although nothing remains", said)
	}
	b.program.wantExit(0)
	b.wantArchived("a.txt")
}
