//go:build linux

package main

import (
	"errors"
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

// What two processes write at once is attributed to the tests that write it.
func TestJointOutput(t *testing.T) {
	var out strings.Builder
	j := &joint{to: &out}
	a, errA := j.pipe()
	b, errB := j.pipe()
	if err := errors.Join(errA, errB, a.Close(), b.Close()); err != nil {
		t.Fatal(err)
	}
	for _, l := range []struct {
		who  int
		line string
	}{
		{0, "\x16=== RUN   TestA\n"},
		{0, "a\n"},
		{1, "\x16=== RUN   TestB/one\n"},
		{1, "b\n"},
		{0, "a\n"},
		{1, "\x16--- PASS: TestB/one (0.00s)\n"},
		{1, "\x16PASS\n"},
		{0, "\x16--- FAIL: TestA (0.00s)\n"},
		{0, "\x16FAIL\n"},
	} {
		j.write(l.who, l.line)
	}
	j.end(1)
	want := strings.ReplaceAll("^=== RUN   TestA\na\n^=== RUN   TestB/one\nb\n^=== NAME  TestA\na\n^=== NAME  TestB/one\n^--- PASS: TestB/one (0.00s)\n^=== NAME  TestA\n^--- FAIL: TestA (0.00s)\n^FAIL\n", "^", "\x16")
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}
