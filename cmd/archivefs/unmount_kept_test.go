package main

import (
	"errors"
	"os"
	"syscall"
	"testing"
)

// Who unmounts a mount that cannot be asked is told what it leaves, and where.
func TestUnmountTellsWhatIsKept(t *testing.T) {
	b := newBusy(t, nil, "a.txt", "b.txt")
	if err := os.WriteFile(b.path("half.pdf"), []byte("%PDF-1.7 and no end"), 0o600); !errors.Is(err, syscall.EIO) {
		t.Errorf("half a PDF: %v, want %v", err, syscall.EIO)
	}
	if err := os.WriteFile(b.path("c.part"), []byte("c"), 0o600); err != nil {
		t.Fatal(err)
	}
	stays := "; 1 upload failed and stays in " + b.state + "; archivefs uploads list " + b.state + " shows why; " +
		"1 file stays on this machine, in " + b.state + ", and is not archived; archivefs uploads list " + b.state + " says why\n"
	b.program.signal(syscall.SIGKILL)
	_ = b.program.wait() // it was killed
	killed := "archivefs: kept in " + b.state + " for the next mount: 2 uploads, 18 B" + stays
	if status, _, stderr := call(t, "unmount", b.dir); status != 0 || stderr != killed {
		t.Errorf("killed: exit status %d, said %q; want %q", status, stderr, killed)
	}
	b.mount(nil, "--timeout", "1h") // so long it may still arrive
	forced := "archivefs: its process goes on with 2 uploads, 18 B; what it does not archive is kept in " + b.state + " for the next mount" + stays
	if status, _, stderr := call(t, "unmount", "--force", b.dir); status != 0 || stderr != forced {
		t.Errorf("by force: exit status %d, said %q; want %q", status, stderr, forced)
	}
	b.program.signal(syscall.SIGKILL) // an interrupt may be the first that it hears of an end, and wait for uploads
	_ = b.program.wait()
}
