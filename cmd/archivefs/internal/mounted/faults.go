//go:build !faultlab

package mounted

import (
	"github.com/archivefs/archivefs/internal/spool"
)

// SpoolFault is nil: only the program that internal/lab/faultlab builds fails at its points.
func SpoolFault() func(spool.Point) error { return nil }

// JournalSize is 0: the spool chooses.
func JournalSize() int64 { return 0 }

// MachineRun is empty: the spool asks the system.
func MachineRun() string { return "" }
