// Package fusetest says what becomes of a test that mounts where nothing can be mounted.
package fusetest

import (
	"os"
	"testing"
)

// Need skips the test where the machine has no /dev/fuse. With ARCHIVEFS_REQUIRE_FUSE=1,
// which scripts/test sets, the test fails instead: a skipped test has shown nothing.
func Need(t testing.TB) {
	t.Helper()
	_, err := os.Stat("/dev/fuse")
	switch {
	case err == nil:
	case os.Getenv("ARCHIVEFS_REQUIRE_FUSE") == "1":
		t.Fatalf("no FUSE here: %v", err)
	default:
		t.Skipf("no FUSE here: %v", err)
	}
}
