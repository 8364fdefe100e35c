package mount

import (
	"math"

	"golang.org/x/sys/unix"
)

// ownProgram is a path to the program that runs, whatever lies where it was found.
func ownProgram() (string, error) { return "/proc/self/exe", nil }

// inheritNothing lets no process that starts from now on have a file that this one was
// started with, beside the standard ones: whoever waits for its end would wait for the mount's.
func inheritNothing() {
	// An old kernel lacks this; then they stay open.
	_ = unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC)
}
