package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/archivefs/archivefs/fs"
)

// An upload whose answer was lost at a service that answers is waited for, and archived.
func TestUnmountWaitsForAnUploadInDoubt(t *testing.T) {
	b := newBusy(t, nil, "a.txt")
	<-b.gate.arrived
	b.program.signal(syscall.SIGKILL)
	_ = b.program.wait() // it was killed
	wantCall(t, 0, "", "unmount", b.dir)
	b.mount(nil, "--timeout", "6s", "--retry-for", "200ms") // so long what was cut off may still arrive
	const why = "it did not arrive so far, but may still in the next "
	heals(t, "the upload is in doubt", func() bool {
		_, status, err := readStatus(b.dir)
		if err != nil {
			t.Fatal(err)
		}
		return len(status.Uploads.List) == 1 && strings.Contains(status.Uploads.List[0].Error, why)
	})
	if h := health(t, b.dir); h != fs.HealthOK {
		t.Errorf("health is %q of a service that answers", h)
	}
	if status, stdout, stderr := call(t, "uploads", "retry", b.dir); status != 0 || !strings.Contains(stdout, "  My Archive/a.txt  pending: "+why) {
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

// When the time is over the reason is told.
func TestUnmountTellsOfAnUploadInDoubt(t *testing.T) {
	dir := t.TempDir() // looks like a mount
	status := fs.Status{Health: fs.HealthOK, StateDir: "/state", Uploads: fs.UploadStatus{List: []fs.UploadInfo{
		{ID: "1", State: "pending", Size: 9, Waits: true, InDoubt: true}, {ID: "2", State: "pending", Size: 1, Waits: true},
	}}}
	text, err := json.Marshal(status)
	if err == nil {
		err = os.Mkdir(filepath.Join(dir, ".archivefs"), 0o700)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, ".archivefs", "status.json"), text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	rest, err := waitForUploads(t.Context(), dir, 10*time.Millisecond, &said)
	const want = "archivefs: not everything was archived within 10ms: 1 upload was sent without an answer and may still arrive; " +
		"kept in /state for the next mount: 2 uploads, 10 B\n"
	if err != nil || !rest || !strings.HasSuffix(said.String(), want) {
		t.Errorf("%v, %v, said %q; want %q", rest, err, said.String(), want)
	}
}
