package apiclient

import (
	"context"
	"net"
	"slices"
	"sync"
	"syscall"
)

// connections are those that a transport has made. Its zero value has none.
type connections struct {
	mu sync.Mutex
	// open may also have some that were closed.
	open []net.Conn // +checklocks:mu
}

// dialing returns dial, which notes each connection.
func (c *connections) dialing(dial func(ctx context.Context, network, address string) (net.Conn, error)) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err == nil {
			c.add(conn)
		}
		return conn, err
	}
}

// add notes a connection, and forgets those that were closed.
func (c *connections) add(conn net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open = append(slices.DeleteFunc(c.open, isClosed), conn)
}

// closeLost closes the connections from addresses that the machine does not have any more: nothing
// arrives on them, and TCP notices that only after many minutes.
func (c *connections) closeLost() {
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open = slices.DeleteFunc(c.open, func(conn net.Conn) bool {
		lost := !slices.ContainsFunc(addresses, func(has net.Addr) bool { return isFrom(conn, has) })
		if lost {
			_ = conn.Close() // it may be closed already
		}
		return lost || isClosed(conn)
	})
}

// isFrom reports whether the local end of a connection is an address of the machine, or no IP address.
// A whole network on the loopback interface belongs to it.
func isFrom(conn net.Conn, has net.Addr) bool {
	local, ok := conn.LocalAddr().(*net.TCPAddr)
	ours, isNet := has.(*net.IPNet)
	return !ok || local.IP.IsLoopback() || isNet && ours.IP.Equal(local.IP)
}

// isClosed reports whether we have closed a connection.
func isClosed(conn net.Conn) bool {
	socket, ok := conn.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := socket.SyscallConn()
	return err != nil || raw.Control(func(uintptr) {}) != nil
}
