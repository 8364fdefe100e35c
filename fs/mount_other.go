//go:build !darwin

package fs

import (
	"math"
	"time"
)

// kernelTrust is no bound: earlier changes are invalidated (node.Kernel.ForgetNames).
const kernelTrust = time.Duration(math.MaxInt64)

func platformOptions(*Options) []string { return nil }
