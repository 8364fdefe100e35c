package mounted

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/archivefs/archivefs/internal/fusectl"
	"github.com/archivefs/archivefs/internal/testing/fusetest"
)

// What a program writes between two mounts is found below the second one.
func TestHidden(t *testing.T) {
	fusetest.Need(t)
	dir := t.TempDir()
	mount := func() {
		t.Helper()
		fd, err := fusectl.Mount(dir, &fusectl.Options{Source: "dead", Subtype: "archivefs", MaxRead: 1 << 20})
		if err == nil {
			err = unix.Close(fd) // as the end of its process
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	mount()
	below, err := Uncover(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer below.Close() //nolint:errcheck // it was only read
	for _, name := range []string{"letter.pdf", ".directory"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	mount()
	if hidden, err := Hidden(below); err != nil || !slices.Equal(hidden, []string{"letter.pdf"}) {
		t.Errorf("%q is hidden, %v", hidden, err)
	}
	if err := fusectl.Detach(dir); err != nil {
		t.Error(err)
	}
}
