// Package loopback gives a test an address for what goes away and comes back: nobody else takes
// its port meanwhile.
package loopback

import (
	"math/rand/v2"
	"net"
	"runtime"
)

// Own returns one of 8 million addresses of the loopback network. A port that was free there
// stays free, although other tests listen at 127.0.0.1 all the time, each where the system finds a
// free port. Other systems than Linux have 127.0.0.1 alone.
func Own() net.IP {
	if runtime.GOOS != "linux" {
		return net.IPv4(127, 0, 0, 1)
	}
	n := rand.N(1 << 23) //nolint:gosec // it has to be another one, not a secret
	return net.IPv4(127, byte(n>>16), byte(n>>8), byte(n))
}
