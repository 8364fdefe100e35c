package server_test

import (
	"os"
	"path/filepath"
	"testing"
)

// wantStaged checks the number of staged contents, when all requests of the harness have been
// answered.
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

// kept counts the stored contents.
func (h *service) kept() (n int) {
	h.t.Helper()
	if err := h.EachContent(h.t.Context(), func(string) error { n++; return nil }); err != nil {
		h.t.Fatal(err)
	}
	return n
}
