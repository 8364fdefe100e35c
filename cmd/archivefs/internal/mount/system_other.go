//go:build !linux

package mount

import "os"

// ownProgram is a path to the program that runs.
func ownProgram() (string, error) { return os.Executable() }

// inheritNothing does nothing here: there is no call for it.
func inheritNothing() {}
