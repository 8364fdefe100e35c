package fs_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/archivefs/archivefs/internal/server"
)

// TestALostContentIsRequestedOnce: a lost content does not come back within seconds, so the read
// fails at once.
func TestALostContentIsRequestedOnce(t *testing.T) {
	t.Parallel()
	var data string
	o := newOffice(t, func(options *server.Options) { data = options.Data })
	o.put(t, o.bills, "Rechnung 1.pdf", "%PDF-1.4 one %%EOF")
	kept := get(filepath.Glob(filepath.Join(data, "contents", "??", "*")))(t)
	for _, content := range kept {
		must(t, os.Remove(content))
	}
	m := o.mount(t, nil)
	wantNames(t, m.path("Muster GmbH", "Rechnungen"), "Rechnung 1.pdf")
	_, err := os.ReadFile(m.path("Muster GmbH", "Rechnungen", "Rechnung 1.pdf"))
	wantErrno(t, "read", err, syscall.EIO)
	// HEAD is how the mount finds out whether the service has originals.
	if asked := o.asked("GET", "/pdf"); len(kept) != 1 || len(asked) != 1 || asked[0].Status != 500 || len(o.asked("HEAD", "/pdf")) > 1 {
		t.Errorf("%d contents, asked %+v", len(kept), o.asked("", "/pdf"))
	}
}
