//go:build linux

package main

import (
	"strings"
	"testing"
)

// The minute's message names the tests that work, and a package that dies fails in all that it had begun.
func TestTallyOfParallelTests(t *testing.T) {
	tally := tally{packages: 2, running: map[string]*underTest{}}
	for _, e := range []event{
		{Action: "run", Test: "TestA"},
		{Action: "pause", Test: "TestA"},
		{Action: "run", Test: "TestB"},
		{Action: "pause", Test: "TestB"},
		{Action: "run", Test: "TestC"},
		{Action: "cont", Test: "TestB"},
	} {
		e.Package = "p"
		tally.take(e)
	}
	if got := tally.now(); !strings.HasSuffix(got, ", now TestB TestC") {
		t.Error(got)
	}
	tally.take(event{Action: "fail", Package: "p"})
	if len(tally.failures) != 1 || !strings.HasSuffix(tally.failures[0], " in TestA TestB TestC") {
		t.Error(tally.failures)
	}
}
