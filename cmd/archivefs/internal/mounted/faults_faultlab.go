//go:build faultlab

package mounted

import (
	"github.com/archivefs/archivefs/internal/lab/faultlab/strike"
	"github.com/archivefs/archivefs/internal/spool"
)

// SpoolFault fails where the lab says.
func SpoolFault() func(spool.Point) error { return strike.Planned() }

// RedoSize is so small that the spool's redo log is full again and again.
func RedoSize() int64 { return 256 << 10 }

// MachineRun names the run of the machine as the lab counts them.
func MachineRun() string { return strike.MachineRun() }
