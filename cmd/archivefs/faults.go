//go:build !faultlab

package main

import "github.com/archivefs/archivefs/internal/spool"

// spoolFault is nil: only the program that internal/lab/faultlab builds fails at its points.
func spoolFault() func(spool.Point) error { return nil }

// machineRun is empty: the spool asks the system.
func machineRun() string { return "" }
