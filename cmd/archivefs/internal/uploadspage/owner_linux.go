package uploadspage

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
)

// ownerOf returns the user who made a connection on loopback, -1 for nobody any more. known is false
// if the system does not tell.
func ownerOf(client, server net.Addr) (uid int, known bool) {
	from, to := inHex(client), inHex(server)
	if from == "" || to == "" {
		return 0, false
	}
	for range 3 { // a table that changes while it is read may lack a line
		for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
			text, err := os.ReadFile(table) //nolint:gosec // a constant
			if err != nil && table == "/proc/net/tcp" {
				return 0, false
			}
			for line := range bytes.Lines(text) {
				// sl local_address rem_address st tx_queue:rx_queue tr:tm->when retrnsmt uid ...
				f := strings.Fields(string(line))
				if len(f) < 8 || !strings.HasSuffix(f[1], from) || !strings.HasSuffix(f[2], to) {
					continue
				}
				if uid, err := strconv.Atoi(f[7]); err == nil {
					return uid, true
				}
			}
		}
	}
	return -1, true
}

// inHex is an IPv4 address as the tables of /proc/net have it, empty if it is another one.
func inHex(a net.Addr) string {
	tcp, ok := a.(*net.TCPAddr)
	if !ok || tcp.IP.To4() == nil {
		return ""
	}
	return fmt.Sprintf("%08X:%04X", binary.NativeEndian.Uint32(tcp.IP.To4()), tcp.Port)
}
