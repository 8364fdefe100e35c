package server

import (
	"context"
	"crypto/tls"
	"net"
)

type takenKey struct{}

// withTaken remembers of a connection what tells how many bytes its client has taken, where the
// system does.
func withTaken(ctx context.Context, conn net.Conn) context.Context {
	if encrypted, ok := conn.(*tls.Conn); ok {
		conn = encrypted.NetConn()
	}
	if plain, ok := conn.(*net.TCPConn); ok {
		if taken := acknowledged(plain); taken != nil {
			return context.WithValue(ctx, takenKey{}, taken)
		}
	}
	return ctx
}

// takenOf returns it for the connection of a request, nil when there is none.
func takenOf(ctx context.Context) func() int64 {
	taken, _ := ctx.Value(takenKey{}).(func() int64)
	return taken
}
