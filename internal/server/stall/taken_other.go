//go:build !linux

package stall

import "net"

// acknowledged returns nil: other systems do not report it.
func acknowledged(*net.TCPConn) func() int64 { return nil }
