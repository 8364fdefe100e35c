//go:build linux

package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"
)

// How long a run and a package may take. Who watches over the run gives it 90 minutes.
const (
	runTimeout     = time.Hour
	packageTimeout = 25 * time.Minute
)

// limitEnv names another limit than runTimeout.
const limitEnv = "ARCHIVEFS_TEST_LIMIT"

// runner is a run of all checks.
type runner struct {
	*family
	work  string
	out   io.Writer
	began time.Time
	over  <-chan time.Time // the time of the run
	stop  <-chan os.Signal // SIGALRM is as if the time were over
	tally tally
}

// run does the checks, or of these only the tests of some packages, and says what became of them.
func run(work string, packages []string) int {
	limit := runTimeout
	if text := os.Getenv(limitEnv); text != "" {
		var err error
		if limit, err = time.ParseDuration(text); err != nil {
			return failed(fmt.Errorf("%s: %w", limitEnv, err))
		}
	}
	f, err := newFamily()
	if err != nil {
		return failed(err)
	}
	r := &runner{
		family: f, work: work, out: os.Stdout, began: time.Now(), over: time.After(limit), stop: signals(syscall.SIGALRM),
		tally: tally{running: map[string]*underTest{}},
	}
	if len(packages) > 0 {
		r.tests(packages, nil)
	} else if r.checks() {
		r.tests(append(slices.Clone(longest), "./..."), r.beside(builds()))
	}
	r.clear(work, r.out)
	r.tally.verdict(r.out, time.Since(r.began))
	return min(len(r.tally.failures), 1)
}

// longest are the packages whose tests take the longest: they begin first.
var longest = []string{"./fs", "./cmd/archivefs", "./internal/server", "./internal/spool", "./internal/server/store"}

func (r *runner) sayf(format string, args ...any) { _, _ = fmt.Fprintf(r.out, format+"\n", args...) }

// brief is a duration such as 4m05s.
func brief(d time.Duration) string {
	d = d.Round(time.Second)
	return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
}

// overtime is why a run ends before its tests.
const overtime = "the time is over"

// reason is why a run ends before its tests.
func reason(s os.Signal) string {
	if s == syscall.SIGALRM {
		return overtime
	}
	return "stopped: " + s.String()
}

// elapsed is the time since the run began.
func (r *runner) elapsed() string { return brief(time.Since(r.began)) }

// check is lines of a shell that say nothing when all is well.
type check struct {
	name   string
	script string
	args   []string
}

// checks are those that end soon. While one fails nothing else is worth the time.
func checks() []check {
	return []check{
		{name: "format", script: `wrong=$(find . -xdev -name '*.go' -exec gofmt -l {} +); [ -z "$wrong" ] || { printf 'run gofmt -w on:\n%s\n' "$wrong"; exit 1; }`},
		{name: "scripts", script: `shellcheck -x scripts/* packaging/reload-systemd .ci/run`},
		// Without a network nobody knows, and that is not the fault of go.mod.
		{name: "go mod tidy", script: `wrong=$(go mod tidy -diff) || [ -z "$wrong" ] || { printf 'run go mod tidy:\n%s\n' "$wrong"; exit 1; }`},
	}
}

// builds are the checks that compile, with what the tests leave of the processors, which may depend on time.
func builds() []check {
	return []check{
		{name: "vet", script: `chrt -i 0 go vet ./...`},
		{name: "figures, imports and locks", script: `chrt -i 0 scripts/lint --quick`},
		{name: "types and vet for other platforms", script: `chrt -i 0 go run ./internal/testing/platforms darwin/arm64 linux/arm64`},
	}
}

// checks does those that end soon until one fails.
func (r *runner) checks() bool {
	for _, c := range checks() {
		r.sayf("== %s (%s)", c.name, r.elapsed())
		if said, why := r.check(c); why != "" {
			r.failed(c, said, why)
			return false
		}
	}
	return true
}

func (r *runner) failed(c check, said, why string) {
	r.sayf("%s\n%s: %s", strings.TrimRight(said, "\n"), c.name, why)
	r.tally.fail(c.name)
}

// beside does checks beside the tests, which wait most of the time, one after the other until one
// fails. Each comes when it has ended; then the channel is closed.
func (r *runner) beside(list []check) <-chan ended {
	all := make(chan ended, len(list))
	go func() {
		defer close(all)
		for _, c := range list {
			said, why := r.await(c, nil, nil)
			all <- ended{c, said, why}
			if why != "" {
				return
			}
		}
	}()
	return all
}

// ended is a check with what it said, and why it failed.
type ended struct {
	check
	said, why string
}

// check runs one and returns what it said, and why it failed.
func (r *runner) check(c check) (said, why string) { return r.await(c, r.over, r.stop) }

// await is check that ends early for who gives it reasons.
func (r *runner) await(c check, over <-chan time.Time, stop <-chan os.Signal) (said, why string) {
	out, err := os.CreateTemp(r.work, "check")
	if err != nil {
		return "", err.Error()
	}
	defer func() { _ = out.Close() }()
	_, ended, err := r.start(command{args: append([]string{"/bin/sh", "-c", c.script, "sh"}, c.args...), env: os.Environ(), out: out, err: out})
	if err != nil {
		return "", err.Error()
	}
	select {
	case status := <-ended:
		if code := code(status); code != 0 {
			why = fmt.Sprintf("exit status %d", code)
		}
	case <-over:
		why = overtime
	case s := <-stop:
		why = reason(s)
	}
	text, err := os.ReadFile(out.Name())
	if err != nil {
		why = err.Error()
	}
	return string(text), why
}
