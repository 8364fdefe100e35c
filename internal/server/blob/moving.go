package blob

import (
	"net"
	"sync"
	"time"
)

// pace is the slowest pace, in bytes a second, at which a connection is never cut.
const pace = 1 << 10

// moving is a connection that fails when it is too slow. Reads and writes use up a time budget. Each
// byte gives back the time that it takes at the pace, and a new request restores the whole budget.
// An occasional byte does not keep the connection alive.
type moving struct {
	net.Conn
	within time.Duration

	mu sync.Mutex
	// left is the time that was left at since.
	left  time.Duration // +checklocks:mu
	since time.Time     // +checklocks:mu
	// pending counts the running reads and writes.
	pending int // +checklocks:mu
	// answered says that a read followed the last write.
	answered bool // +checklocks:mu
}

func newMoving(conn net.Conn, within time.Duration) *moving {
	return &moving{Conn: conn, within: within, left: within}
}

// Read implements net.Conn.
func (m *moving) Read(p []byte) (int, error) {
	if err := m.begin(false); err != nil {
		return 0, err
	}
	n, err := m.Conn.Read(p)
	m.end(n, true)
	return n, err
}

// Write implements net.Conn.
func (m *moving) Write(p []byte) (int, error) {
	if err := m.begin(true); err != nil {
		return 0, err
	}
	n, err := m.Conn.Write(p)
	m.end(n, false)
	return n, err
}

func (m *moving) begin(write bool) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.countLocked()
	if write && m.answered {
		m.left, m.answered = m.within, false
	}
	m.pending++
	return m.SetDeadline(m.since.Add(m.left))
}

func (m *moving) end(n int, read bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.countLocked()
	m.left = min(m.left+time.Duration(n)*time.Second/pace, m.within)
	m.answered = m.answered || read && n > 0
	if m.pending--; m.pending > 0 {
		_ = m.SetDeadline(m.since.Add(m.left)) // the read or write returns the error of the connection
	}
}

// countLocked subtracts the passed time from what is left.
// +checklocks:m.mu
func (m *moving) countLocked() {
	now := time.Now()
	if m.pending > 0 {
		m.left -= now.Sub(m.since)
	}
	m.since = now
}
