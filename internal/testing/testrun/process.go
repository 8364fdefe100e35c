//go:build linux

package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// process is what /proc/PID/stat says of one. No file is read that could make the reader wait
// for a process that hangs.
type process struct {
	pid, parent int
	name        string
	state       string
}

// readProcess reads a file stat of a process, or of a thread.
func readProcess(file string) (p process, ok bool) {
	text, err := os.ReadFile(file) //nolint:gosec // below /proc
	if err != nil {
		return p, false
	}
	open, end := bytes.IndexByte(text, '('), bytes.LastIndexByte(text, ')') // the name may hold both
	if open < 0 || end < open {
		return p, false
	}
	p.name = string(text[open+1 : end])
	rest := strings.Fields(string(text[end+1:]))
	if len(rest) < 2 {
		return p, false
	}
	p.state = rest[0]
	p.pid, _ = strconv.Atoi(strings.TrimSpace(string(text[:open])))
	p.parent, _ = strconv.Atoi(rest[1])
	return p, true
}

// descendants returns the processes below one, parents first, without those that have ended.
func descendants(of int) []process {
	files, _ := filepath.Glob("/proc/[0-9]*/stat")
	children := map[int][]process{}
	for _, file := range files {
		if p, ok := readProcess(file); ok {
			children[p.parent] = append(children[p.parent], p)
		}
	}
	var all []process
	for next := []int{of}; len(next) > 0; next = next[1:] {
		for _, p := range children[next[0]] {
			next = append(next, p.pid)
			if !p.ended() {
				all = append(all, p)
			}
		}
	}
	return all
}

// ended reports whether nothing but the status is left; the first thread may have ended before others.
func (p process) ended() bool {
	return (p.state == "Z" || p.state == "X") && len(p.threads()) < 2
}

func (p process) threads() []string {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/[0-9]*", p.pid))
	return threads
}

func (p process) String() string {
	line := words(p.file("cmdline"), "\x00")
	if line == "" {
		line = p.name
	}
	return fmt.Sprintf("process %d: %s", p.pid, line)
}

// standing says where a process is in the kernel, with the stack of each thread that cannot be
// interrupted, or waits for a FUSE file system.
func (p process) standing() string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s (%s %s)\n", p, p.state, words(p.file("wchan"), "\n"))
	for _, dir := range p.threads() {
		thread, ok := readProcess(filepath.Join(dir, "stat"))
		place, _ := os.ReadFile(filepath.Join(dir, "wchan")) //nolint:gosec // below /proc
		if !ok || thread.state != "D" && !waitsForFUSE(string(place)) {
			continue
		}
		fmt.Fprintf(&text, "  thread %d (%s %s):\n", thread.pid, thread.state, place)
		stack, _ := os.ReadFile(filepath.Join(dir, "stack")) //nolint:gosec // below /proc; for root
		for line := range strings.Lines(strings.TrimSpace(string(stack)) + "\n") {
			fmt.Fprintf(&text, "    %s", line)
		}
	}
	return text.String()
}

func waitsForFUSE(place string) bool {
	return place == "request_wait_answer" || strings.HasPrefix(place, "fuse_") && place != "fuse_dev_do_read"
}

func (p process) file(name string) string {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/%s", p.pid, name))
	return string(text)
}

func words(text, separator string) string {
	line := strings.Join(strings.Fields(strings.ReplaceAll(text, separator, " ")), " ")
	return line[:min(len(line), 300)]
}
