package server_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// wantStaged checks how many contents are on their way; the harness's requests have all
// been answered.
func wantStaged(t *testing.T, h *service, want int) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(h.options.Data, "contents", "incoming"))
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != want {
		t.Errorf("%d staged contents, want %d", len(entries), want)
	}
}

// kept counts the contents in a data directory, staged ones included.
func kept(t *testing.T, data string) int {
	t.Helper()
	n := 0
	err := filepath.WalkDir(filepath.Join(data, "contents"), func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			n++
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}
