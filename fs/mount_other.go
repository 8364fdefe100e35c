//go:build !darwin

package fs

import (
	"math"
	"time"
)

// kernelTrust is no bound: the kernel is told what changes earlier, where it can be.
const kernelTrust = time.Duration(math.MaxInt64)

func platformOptions(*Options) []string { return nil }
