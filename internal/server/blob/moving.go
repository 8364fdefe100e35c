package blob

import (
	"net"
	"sync"
	"time"
)

// pace is how many bytes a second go over a connection at least that is never cut.
const pace = 1 << 10

// moving is a connection that fails when too little goes over it. The service has a time, which
// passes while something is read or written. Each byte gives it the time back that the byte takes
// at the pace, and a new request all of it: a byte now and then does not help.
type moving struct {
	net.Conn
	within time.Duration

	mu sync.Mutex
	// left is what there was at since.
	left  time.Duration // +checklocks:mu
	since time.Time     // +checklocks:mu
	// pending counts the reads and writes under way.
	pending int // +checklocks:mu
	// answered says that something was read since the last write.
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
		_ = m.SetDeadline(m.since.Add(m.left)) // what is wrong with the connection the other one says
	}
}

// countLocked takes the time that has passed from what is left.
// +checklocks:m.mu
func (m *moving) countLocked() {
	now := time.Now()
	if m.pending > 0 {
		m.left -= now.Sub(m.since)
	}
	m.since = now
}
