//go:build !linux

package apiclient

import "net"

// unsent is unknown on other systems.
func unsent(net.Conn) int { return 0 }
