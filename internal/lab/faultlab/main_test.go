//go:build linux

package main

import (
	"errors"
	"flag"
	"testing"
)

func TestHelpIsNoMistake(t *testing.T) {
	if _, err := read([]string{"--help"}); !errors.Is(err, flag.ErrHelp) {
		t.Error(err)
	}
	for _, word := range []string{"--no-such-option", "operand", "--parallel=0"} {
		if _, err := read([]string{word}); err == nil || errors.Is(err, flag.ErrHelp) {
			t.Errorf("%s: %v", word, err)
		}
	}
}
