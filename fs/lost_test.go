package fs_test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"syscall"
	"testing"
)

// TestALostContentIsRequestedOnce: a lost content does not come back within seconds, so the read
// fails at once.
func TestALostContentIsRequestedOnce(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	const text = "%PDF-1.4 one %%EOF"
	o.put(t, o.bills, "Rechnung 1.pdf", text)
	must(t, os.Remove(o.ContentFile(fmt.Sprintf("%x", sha256.Sum256([]byte(text))), false)))
	m := o.mount(t, nil)
	wantNames(t, m.path("Muster GmbH", "Rechnungen"), "Rechnung 1.pdf")
	_, err := os.ReadFile(m.path("Muster GmbH", "Rechnungen", "Rechnung 1.pdf"))
	wantErrno(t, "read", err, syscall.EIO)
	// HEAD is how the mount finds out whether the service has originals.
	if asked := o.asked("GET", "/pdf"); len(asked) != 1 || asked[0].Status != 500 || len(o.asked("HEAD", "/pdf")) > 1 {
		t.Errorf("asked %+v", o.asked("", "/pdf"))
	}
}
