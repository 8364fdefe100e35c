package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/archivefs/archivefs/cmd/archivefs/internal/mounted"
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
		_, status, err := mounted.Status(b.dir)
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

// Where standard error is the journal's, the log has no times, and priorities.
func TestLogOnTheStreamOfTheJournal(t *testing.T) {
	isolate(t)
	path := filepath.Join(t.TempDir(), "stream")
	stream, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = stream.Close() })
	var info syscall.Stat_t
	if err := syscall.Fstat(int(stream.Fd()), &info); err != nil {
		t.Fatal(err)
	}
	t.Setenv("JOURNAL_STREAM", fmt.Sprintf("%d:%d", info.Dev, info.Ino))
	p := startWith(t, func(cmd *exec.Cmd) { cmd.Stderr = stream }, "serve", "--sample", "--data", t.TempDir(), "--listen", "127.0.0.1:0")
	p.line("serving ")
	p.stop()
	startWith(t, func(cmd *exec.Cmd) { cmd.Stderr = stream }, "serve", "operand").wantExit(2)
	text, err := os.ReadFile(path)
	if err != nil || !strings.HasPrefix(string(text), "<6>made the sample archive: ") || !strings.Contains(string(text), "\n<3>archivefs: serve takes no operands") {
		t.Errorf("the journal reads %q, %v", text, err)
	}
}
