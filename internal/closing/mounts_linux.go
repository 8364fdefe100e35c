package closing

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
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
	for _, at := range mountsOf("self") {
		if at.point == mountpoint {
			m.dev = at.dev // the last one is on top
			m.known = map[string]struct{}{at.id: {}}
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
	for _, at := range mountsOf(strconv.Itoa(pid)) {
		if at.id == id && at.dev == m.dev {
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

// mount is a line of mountinfo.
type mount struct{ id, dev, point, options string }

// mountsOf returns the mounts that a process sees, none when it is gone.
func mountsOf(pid string) []mount {
	text, err := os.ReadFile("/proc/" + pid + "/mountinfo") //nolint:gosec // below /proc
	if err != nil {
		return nil
	}
	var all []mount
	for line := range strings.Lines(string(text)) { // as long as the options of an overlay make it
		if fields := strings.Fields(line); len(fields) > 4 {
			all = append(all, mount{fields[0], fields[2], unescapeMount(fields[4]), fields[len(fields)-1]})
		}
	}
	return all
}

// unescapeMount turns the octal escapes of mountinfo back (\040 is a blank).
func unescapeMount(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			if c, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(c))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
