//go:build !linux

package main

import (
	"errors"
	"os"
)

// ownProgram is a path to the program that runs.
func ownProgram() (string, error) { return os.Executable() }

// inheritNothing does nothing here: there is no call for it.
func inheritNothing() {}

// forceUnmount does nothing: what unmounts by force is a command (unmounter).
func forceUnmount(string) error { return errors.ErrUnsupported }
