//go:build linux

package machine

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Adopt makes this process the reaper of all that it starts: a mount that goes to the
// background becomes its child again, and is found and ended.
func Adopt() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("become the reaper of what is started: %w", err)
	}
	return nil
}

// Family are the living processes below this one, without those of apart and what is below
// them. Other processes of the machine are not looked at: that can block, where one hangs.
func Family(apart ...int) []int {
	known := map[int]bool{}
	todo := children(os.Getpid())
	for len(todo) > 0 {
		pid := todo[0]
		todo = todo[1:]
		if known[pid] || slices.Contains(apart, pid) || !alive(pid) {
			continue
		}
		known[pid] = true
		todo = append(todo, children(pid)...)
	}
	return slices.Sorted(maps.Keys(known))
}

// children are the processes that any thread of pid started.
func children(pid int) []int {
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid)) // the pattern is right
	var pids []int
	for _, file := range files {
		text, err := os.ReadFile(file) //nolint:gosec // a file of /proc
		if err != nil {
			continue // the thread has ended
		}
		for word := range strings.FieldsSeq(string(text)) {
			if child, err := strconv.Atoi(word); err == nil {
				pids = append(pids, child)
			}
		}
	}
	return pids
}

// stat returns the fields of /proc/PID/stat from the state on (proc(5), field 3).
func stat(pid int) []string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil
	}
	_, rest, _ := strings.Cut(string(text[strings.LastIndexByte(string(text), ')')+1:]), " ")
	return strings.Fields(rest)
}

func alive(pid int) bool {
	fields := stat(pid)
	return len(fields) > 0 && fields[0] != "Z" && fields[0] != "X"
}

// End waits until the processes have ended, and kills what is left after limit. What was
// adopted is reaped.
func End(pids []int, limit time.Duration) {
	for deadline := time.Now().Add(limit); time.Now().Before(deadline) && slices.ContainsFunc(pids, alive); {
		time.Sleep(10 * time.Millisecond)
	}
	for _, pid := range pids {
		if alive(pid) {
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended by now
		}
		adopted := slices.Contains(children(os.Getpid()), pid)
		if adopted && !alive(pid) {
			_, _ = syscall.Wait4(pid, nil, syscall.WNOHANG, nil)
		}
	}
}

// Usage is what processes took so far.
type Usage struct {
	Resident float64 // MiB
	Peak     float64 // MiB, the most that was resident
	CPU      float64 // seconds, of the processor in user and system mode
	Children float64 // the same, of what they started and waited for
}

// UsageOf sums up what living processes took.
func UsageOf(pids []int) Usage {
	const ticks = 100 // per second: USER_HZ, which is the same on all platforms of Linux
	var u Usage
	for _, pid := range pids {
		u.Resident += memory(pid, "VmRSS:")
		u.Peak += memory(pid, "VmHWM:")
		fields := stat(pid)
		if len(fields) < 15 {
			continue
		}
		u.CPU += (number(fields[11]) + number(fields[12])) / ticks      // utime, stime
		u.Children += (number(fields[13]) + number(fields[14])) / ticks // cutime, cstime
	}
	return u
}

// number is 0 for what is none.
func number(text string) float64 {
	n, _ := strconv.ParseFloat(text, 64)
	return n
}

// memory is a field of /proc/PID/status in MiB, 0 of a process that has ended.
func memory(pid int, field string) float64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, field); ok {
			return number(strings.TrimSuffix(strings.TrimSpace(value), " kB")) / 1024
		}
	}
	return 0
}
