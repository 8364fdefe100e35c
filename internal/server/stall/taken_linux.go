package stall

import (
	"net"

	"golang.org/x/sys/unix"
)

// acknowledged returns what tells how many bytes the other end of a connection has
// acknowledged. Those wait nowhere here: a buffer of the kernel holds megabytes, and makes room
// in large steps.
func acknowledged(conn *net.TCPConn) func() int64 {
	raw, err := conn.SyscallConn()
	if err != nil {
		return nil
	}
	return func() (total int64) {
		_ = raw.Control(func(fd uintptr) { // of a connection that is closed nothing is taken
			if info, err := unix.GetsockoptTCPInfo(int(fd), unix.SOL_TCP, unix.TCP_INFO); err == nil {
				total = int64(info.Bytes_acked) //nolint:gosec // nobody sends more
			}
		})
		return total
	}
}
