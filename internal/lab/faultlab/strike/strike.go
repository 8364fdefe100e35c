// Package strike has the program that is built with the tag faultlab fail where its environment says.
package strike

import (
	"errors"
	"fmt"
	"os"
	"runtime/coverage"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"

	"github.com/archivefs/archivefs/internal/spool"
)

// MachineRun names the run of the machine as the lab counts them, empty outside of it.
func MachineRun() string { return os.Getenv("ARCHIVEFS_FAULT_BOOT") }

// Planned fails as the environment says; it is nil outside of the lab:
//
//	ARCHIVEFS_FAULT      POINT:NTH:DEED; at the nth passing of the point the program is
//	                     killed (DEED "kill") or the disk fails (EIO, ENOSPC)
//	ARCHIVEFS_FAULT_LOG  a file that gets a line for each passing of a point, with the
//	                     deed behind it when it struck
func Planned() func(spool.Point) error {
	log, err := os.OpenFile(os.Getenv("ARCHIVEFS_FAULT_LOG"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600) //nolint:gosec // the laboratory names the file
	if err != nil {
		return nil // not started by the lab
	}
	plan := strings.SplitN(os.Getenv("ARCHIVEFS_FAULT")+"::", ":", 3)
	point, deed := spool.Point(plan[0]), strings.TrimRight(plan[2], ":")
	nth, _ := strconv.ParseInt(plan[1], 10, 64)
	var passed atomic.Int64
	return func(p spool.Point) error {
		if p != point || passed.Add(1) != nth {
			_, err := fmt.Fprintln(log, p)
			return err
		}
		_, err := fmt.Fprintln(log, p, deed)
		return errors.Join(err, strike(deed))
	}
}

// strike does what the plan says.
func strike(deed string) error {
	switch deed {
	case "EIO":
		return syscall.EIO
	case "ENOSPC":
		return syscall.ENOSPC
	}
	if dir := os.Getenv("GOCOVERDIR"); dir != "" { // a program that is killed does not say what it has reached
		if err := errors.Join(coverage.WriteMetaDir(dir), coverage.WriteCountersDir(dir)); err != nil {
			return err
		}
	}
	if err := syscall.Kill(os.Getpid(), syscall.SIGKILL); err != nil {
		return err
	}
	select {} // the signal ends this
}
