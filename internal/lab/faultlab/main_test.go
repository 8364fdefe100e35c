//go:build linux

package main

import (
	"io"
	"strings"
	"testing"
)

func TestHelpIsNoMistake(t *testing.T) {
	for word, want := range map[string]int{"--help": 0, "--no-such-option": 2} {
		var stderr strings.Builder
		if status := run(t.Context(), []string{word}, io.Discard, &stderr); status != want || !strings.Contains(stderr.String(), "-runs") {
			t.Errorf("%s: exit status %d, want %d; standard error: %q", word, status, want, &stderr)
		}
	}
}
