//go:build !linux

package fusectl

// Abort knows no connections but those of Linux.
func Abort(uint32) error { return ErrNone }
