package uploadspage

import (
	"net"
	"os"
	"testing"
)

func TestOwnerOf(t *testing.T) {
	ln, err := net.Listen("tcp4", "127.0.0.1:0") //nolint:noctx // loopback
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close() //nolint:errcheck // nothing was written
	for _, network := range []string{"tcp4", "tcp"} {
		client, err := net.Dial(network, ln.Addr().String()) //nolint:noctx // loopback
		if err != nil {
			t.Fatal(err)
		}
		if uid, known := ownerOf(client.LocalAddr(), ln.Addr()); !known || uid != os.Getuid() {
			t.Errorf("%s: %d, %v", network, uid, known)
		}
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	}
	if uid, known := ownerOf(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1}, ln.Addr()); !known || uid != -1 {
		t.Errorf("nobody: %d, %v", uid, known)
	}
	if _, known := ownerOf(&net.UnixAddr{Name: "a"}, ln.Addr()); known {
		t.Error("a socket of another kind has an owner")
	}
}
