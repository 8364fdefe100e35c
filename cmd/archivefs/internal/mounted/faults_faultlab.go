//go:build faultlab

package mounted

import (
	"github.com/archivefs/archivefs/internal/lab/faultlab/strike"
	"github.com/archivefs/archivefs/internal/spool"
)

// SpoolFault fails where the lab says.
func SpoolFault() func(spool.Point) error { return strike.Planned() }

// JournalSize is so small that the spool's journal takes another file again and again.
func JournalSize() int64 { return 256 << 10 }

// MachineRun names the run of the machine as the lab counts them.
func MachineRun() string { return strike.MachineRun() }
