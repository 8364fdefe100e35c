// Package spooltest makes spools for tests.
package spooltest

import (
	"testing"

	"github.com/archivefs/archivefs/internal/spool"
)

// Empty opens a spool in a directory of its own, which is closed when the test ends.
func Empty(t testing.TB) *spool.Spool {
	t.Helper()
	s, err := spool.Open(spool.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}
