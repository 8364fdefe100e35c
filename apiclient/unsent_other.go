//go:build !linux

package apiclient

import "net"

// unsent cannot tell.
func unsent(net.Conn) int { return 0 }
