//go:build !linux

package mounted

import "errors"

// forceUnmount does nothing: what unmounts by force is a command (unmounter).
func forceUnmount(string) error { return errors.ErrUnsupported }
