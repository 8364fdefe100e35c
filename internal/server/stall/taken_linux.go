package stall

import (
	"net"

	"golang.org/x/sys/unix"
)

// acknowledged returns a function for the number of bytes that the other end of a connection has acknowledged. Written
// bytes would say less: the kernel buffers megabytes of them, and makes room in large steps.
func acknowledged(conn *net.TCPConn) func() int64 {
	raw, err := conn.SyscallConn()
	if err != nil {
		return nil
	}
	return func() (total int64) {
		_ = raw.Control(func(fd uintptr) { // fails for a closed connection
			if info, err := unix.GetsockoptTCPInfo(int(fd), unix.SOL_TCP, unix.TCP_INFO); err == nil {
				total = int64(info.Bytes_acked) //nolint:gosec // nobody sends more
			}
		})
		return total
	}
}
