package closing

import (
	"fmt"
	"strconv"
	"sync"

	"github.com/archivefs/archivefs/internal/fusectl"
)

// Mounts knows the device number of a file system and its mount ids, in every mount namespace that
// it is met in (proc_pid_mountinfo(5)). The zero value takes every device and every id for its own.
type Mounts struct {
	mu sync.Mutex
	// dev is major:minor.
	dev   string              // +checklocks:mu
	known map[string]struct{} // +checklocks:mu
	// proc says that /proc has the processes of another PID namespace.
	proc bool // +checklocks:mu
}

// Learn finds the device number of the mount at mountpoint.
func (m *Mounts) Learn(mountpoint string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.proc = otherProc()
	for _, at := range fusectl.Mounts("self") {
		if at.Dir == mountpoint {
			m.dev = at.Device // the last one is on top
			m.known = map[string]struct{}{at.ID: {}}
		}
	}
}

// foreign reports whether /proc tells nothing of the processes whose ids we get.
func (m *Mounts) foreign() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.proc
}

// ours reports whether the mount id that the process pid uses is one of ours.
func (m *Mounts) ours(pid int, id string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.dev == "" {
		return true // not known: the descriptor may be one of ours
	}
	if _, ok := m.known[id]; ok {
		return true
	}
	for _, at := range fusectl.Mounts(strconv.Itoa(pid)) {
		if at.ID == id && at.Device == m.dev {
			m.known[id] = struct{}{}
			return true
		}
	}
	return false
}

// device reports whether a device number, hexadecimal as proc_pid_maps(5) shows it, is ours.
func (m *Mounts) device(hex string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.dev == "" {
		return true // not known: it may be ours
	}
	var major, minor uint32
	if _, err := fmt.Sscanf(m.dev, "%d:%d", &major, &minor); err != nil {
		return true
	}
	return hex == fmt.Sprintf("%02x:%02x", major, minor)
}
