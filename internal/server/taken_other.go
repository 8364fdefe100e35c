//go:build !linux

package server

import "net"

// acknowledged returns nil: other systems do not tell.
func acknowledged(*net.TCPConn) func() int64 { return nil }
