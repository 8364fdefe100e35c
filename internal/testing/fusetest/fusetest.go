// Package fusetest says what becomes of a test that mounts where nothing can be mounted.
package fusetest

import (
	"os"
	"testing"
)

// Need ends the test, as Lacking does, where the machine has no /dev/fuse.
func Need(t testing.TB) {
	t.Helper()
	if _, err := os.Stat("/dev/fuse"); err != nil {
		Lacking(t, err)
	}
}

// Lacking skips a test that cannot mount here, because of err. With ARCHIVEFS_REQUIRE_FUSE=1,
// which scripts/test sets, the test fails instead: a skipped test has shown nothing.
func Lacking(t testing.TB, err error) {
	t.Helper()
	if os.Getenv("ARCHIVEFS_REQUIRE_FUSE") == "1" {
		t.Fatalf("nothing can be mounted here: %v", err)
	}
	t.Skipf("nothing can be mounted here: %v", err)
}
