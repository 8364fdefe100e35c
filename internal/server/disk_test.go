package server_test

import (
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

// kept counts the contents.
func (h *service) kept() (n int) {
	h.t.Helper()
	if err := h.EachContent(h.t.Context(), func(string) error { n++; return nil }); err != nil {
		h.t.Fatal(err)
	}
	return n
}
