//go:build linux

package suite

import (
	"errors"
	"os"
	"os/exec"
	"slices"

	"github.com/archivefs/archivefs/internal/lab/bench/result"
)

// choose returns the systems to be measured. What is not installed is named and left out.
func (b *Bench) choose() ([]system, error) {
	var chosen []system
	for _, s := range systems() {
		if !slices.Contains(b.Systems, s.name) {
			continue
		}
		if why := missing(s); why != "" {
			b.say("%s is not run: %s", s.name, why)
			b.results.Entry(result.About, result.NotRun+s.name).Note = why
			continue
		}
		b.results.Forget(result.About, result.NotRun+s.name)
		chosen = append(chosen, s)
	}
	if len(chosen) == 0 {
		return nil, errors.New("none of the systems can be run here")
	}
	return chosen, nil
}

// missing says why a system cannot be run here, "" when it can.
func missing(s system) string {
	if s.root && os.Getuid() != 0 {
		return "it needs root"
	}
	for _, program := range s.needs {
		if _, err := exec.LookPath(program); err != nil {
			return program + " is not installed"
		}
	}
	return ""
}
