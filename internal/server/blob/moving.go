package blob

import (
	"net"
	"sync/atomic"
	"time"

	"github.com/archivefs/archivefs/internal/pace"
)

// moving is a connection that fails when it is too slow (see pace.Watch). Reads and writes use up its time,
// and a new request restores it.
type moving struct {
	net.Conn
	watch    pace.Watch
	answered atomic.Bool // a read followed the last write
}

func newMoving(conn net.Conn, within time.Duration) *moving {
	return &moving{Conn: conn, watch: pace.Watch{
		Limit: within, Expire: func() { _ = conn.SetDeadline(time.Unix(1, 0)) }, // fails for a closed connection
	}}
}

// Read implements net.Conn.
func (m *moving) Read(p []byte) (int, error) {
	m.watch.Begin()
	n, err := m.Conn.Read(p)
	m.watch.End(int64(n), pace.Least)
	if n > 0 {
		m.answered.Store(true)
	}
	return n, err
}

// Write implements net.Conn.
func (m *moving) Write(p []byte) (int, error) {
	if m.answered.Swap(false) {
		m.watch.Renew()
	}
	m.watch.Begin()
	n, err := m.Conn.Write(p)
	m.watch.End(int64(n), pace.Least)
	return n, err
}
