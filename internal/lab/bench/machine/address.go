//go:build linux

package machine

import (
	"context"
	"net"
)

// FreeAddress is an address of this machine that nobody listens at.
func FreeAddress(ctx context.Context) (string, error) {
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return ln.Addr().String(), ln.Close()
}
