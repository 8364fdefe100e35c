//go:build !linux

package main

import "errors"

// forceUnmount does nothing: what unmounts by force is a command (unmounter).
func forceUnmount(string) error { return errors.ErrUnsupported }
