//go:build linux

package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// How long a run and a package may take. Who watches over the run gives it 90 minutes.
const (
	runTimeout     = time.Hour
	packageTimeout = 15 * time.Minute
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
		r.tests(packages)
	} else if r.checks() {
		r.tests([]string{"./..."})
	}
	r.clear(work, r.out)
	r.tally.verdict(r.out, time.Since(r.began))
	return min(len(r.tally.failures), 1)
}

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
	env    []string
}

const vetFor = `go build ./... && go vet ./...`

func checks() []check {
	return []check{
		{name: "format", script: `wrong=$(find . -xdev -name '*.go' -exec gofmt -l {} +); [ -z "$wrong" ] || { printf 'run gofmt -w on:\n%s\n' "$wrong"; exit 1; }`},
		{name: "scripts", script: `shellcheck -x scripts/* packaging/reload-systemd .ci/run`},
		// Without a network nobody knows, and that is not the fault of go.mod.
		{name: "go mod tidy", script: `wrong=$(go mod tidy -diff) || [ -z "$wrong" ] || { printf 'run go mod tidy:\n%s\n' "$wrong"; exit 1; }`},
		{name: "vet", script: `go vet ./...`},
		{name: "figures, imports and locks", script: `scripts/lint --quick`},
		{name: "build and vet for darwin/arm64", script: vetFor, env: []string{"GOOS=darwin", "GOARCH=arm64", "CGO_ENABLED=0"}},
		{name: "build and vet for linux/arm64", script: vetFor, env: []string{"GOOS=linux", "GOARCH=arm64", "CGO_ENABLED=0"}},
	}
}

// checks does all checks but the tests until one fails.
func (r *runner) checks() bool {
	for _, c := range checks() {
		r.sayf("== %s (%s)", c.name, r.elapsed())
		if said, why := r.check(c); why != "" {
			r.sayf("%s\n%s", strings.TrimRight(said, "\n"), why)
			r.tally.fail(c.name)
			return false
		}
	}
	return true
}

// check runs one and returns what it said, and why it failed.
func (r *runner) check(c check) (said, why string) {
	file := filepath.Join(r.work, "check")
	out, err := os.Create(file) //nolint:gosec // in the run's own directory
	if err != nil {
		return "", err.Error()
	}
	defer func() { _ = out.Close() }()
	_, ended, err := r.start(command{args: append([]string{"/bin/sh", "-c", c.script, "sh"}, c.args...), env: append(os.Environ(), c.env...), out: out, err: out})
	if err != nil {
		return "", err.Error()
	}
	select {
	case status := <-ended:
		if code := code(status); code != 0 {
			why = fmt.Sprintf("exit status %d", code)
		}
	case <-r.over:
		why = overtime
	case s := <-r.stop:
		why = reason(s)
	}
	text, err := os.ReadFile(file) //nolint:gosec // see above
	if err != nil {
		why = err.Error()
	}
	return string(text), why
}
