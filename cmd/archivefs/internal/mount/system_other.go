//go:build !linux

package mount

import "os"

// ownProgram is a path to the program that runs.
func ownProgram() (string, error) { return os.Executable() }

// inheritNothing does nothing: there is no such call.
func inheritNothing() {}
