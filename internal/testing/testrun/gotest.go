//go:build linux

package main

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// atOnce is how many packages are compiled and tested at once: the tests of the longest wait more
// than they work, and what they wait for comes late where too many do.
const atOnce = 4

// plain leaves the race detector out of packages that compute a lot and share nothing: SQLite, which is C that
// was translated to Go, and what draws and packs. Watching them takes a quarter of the time that the tests of the service
// compute, and half of that of the sample archive. Those that call them are watched as all else. Nor are the pointers
// of SQLite checked, which are numbers: that takes as long.
var plain = unwatched(
	"modernc.org/sqlite/lib", "modernc.org/libc/...", "modernc.org/memory",
	"compress/...", "image/...", "golang.org/x/image/...", "codeberg.org/go-pdf/fpdf/...",
)

// unwatched are the flags that leave the race detector out of packages.
func unwatched(patterns ...string) []string {
	var flags []string
	for _, p := range patterns {
		flags = append(flags, "-gcflags="+p+"=-race=false -d=checkptr=0")
	}
	return flags
}

// tests runs the tests of packages, beside checks, and ends when both have.
func (r *runner) tests(packages []string, beside <-chan ended) {
	r.sayf("== tests (%s)", r.elapsed())
	list, why := r.check(check{script: `go list -- "$@" 2>/dev/null || :`, args: packages}) // go test says what is wrong
	if why != "" {
		r.tally.fail("go list (" + why + ")")
		return
	}
	r.tally.packages = strings.Count(list, "\n")
	var flags []string
	if beside != nil {
		flags = []string{"-vet=off"} // it is one of these checks
	}
	events, tested, err := r.goTest(append(flags, packages...))
	if err != nil {
		r.sayf("%v", err)
		r.tally.fail("go test")
		return
	}
	minute := time.NewTicker(time.Minute)
	defer minute.Stop()
	for tested != nil || beside != nil {
		select {
		case e, more := <-events:
			if !more {
				events = nil
				break
			}
			r.show(r.tally.take(e))
		case status := <-tested:
			tested = nil
			r.rest(events)
			events = nil
			if code(status) != 0 && len(r.tally.failures) == 0 {
				r.tally.fail("go test")
			}
		case c, more := <-beside:
			switch {
			case !more:
				beside = nil
			case c.why != "":
				r.failed(c.check, c.said, c.why)
			default:
				r.sayf("ok    %s (%s)", c.name, r.elapsed())
			}
		case <-minute.C:
			r.sayf("      %s: %s", r.elapsed(), r.tally.now())
		case <-r.over:
			r.giveUp(overtime, events)
			return
		case s := <-r.stop:
			r.giveUp(reason(s), events)
			return
		}
	}
	r.leftovers()
}

// goTest starts go test with these arguments after its own. Its output comes by pipes of this process, not by those of whoever
// reads what this one says: a process that is left holds none of these.
func (r *runner) goTest(args []string) (<-chan event, <-chan syscall.WaitStatus, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, nil, err
	}
	tool, err := exec.LookPath("go")
	if err != nil {
		return nil, nil, err
	}
	stdout, out, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = out.Close() }()
	stderr, complaints, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = complaints.Close() }()
	_, ended, err := r.start(command{
		args: slices.Concat([]string{tool, "test", "-json", "-race", "-p", strconv.Itoa(atOnce), "-timeout", packageTimeout.String(), "-exec", program + " " + asKeeper}, plain, args),
		env: append(os.Environ(), "ARCHIVEFS_REQUIRE_FUSE=1", "ARCHIVEFS_REQUIRE_S3=1", "ARCHIVEFS_REQUIRE_POSTGRES=1",
			"GORACE=atexit_sleep_ms=0"), // else each of thousands of processes lingers for a second
		out: out, err: complaints,
	})
	if err != nil {
		return nil, nil, err
	}
	events := make(chan event)
	var readers sync.WaitGroup
	for _, from := range []io.Reader{stdout, stderr} {
		readers.Go(func() { read(from, events) })
	}
	go func() {
		readers.Wait()
		close(events)
	}()
	return events, ended, nil
}

// read sends the event of each line.
func read(from io.Reader, to chan<- event) {
	for in := bufio.NewReader(from); ; {
		line, err := in.ReadString('\n')
		var e event
		if line != "" {
			if json.Unmarshal([]byte(line), &e) != nil {
				e = event{Action: "build-output", Output: line}
			}
			to <- e
		}
		if err != nil {
			return
		}
	}
}

// rest takes what is still to be read, but waits for nobody who has not ended.
func (r *runner) rest(events <-chan event) {
	for limit := time.After(stopWithin); events != nil; {
		select {
		case e, more := <-events:
			if !more {
				return
			}
			r.show(r.tally.take(e))
		case <-limit:
			return
		}
	}
}

func (r *runner) show(text string) { _, _ = io.WriteString(r.out, text) }

// giveUp says what the tests are at, and ends them.
func (r *runner) giveUp(why string, events <-chan event) {
	r.sayf("== %s (%s): %s", why, r.elapsed(), r.tally.now())
	below := descendants(os.Getpid())
	for _, p := range below {
		r.show(p.standing())
	}
	for _, p := range below {
		if strings.Contains(p.file("cmdline"), "\x00"+asKeeper+"\x00") {
			_ = syscall.Kill(p.pid, syscall.SIGQUIT) // its tests say where they are
		}
	}
	r.rest(events)
	for _, p := range descendants(os.Getpid()) {
		if p.parent == os.Getpid() {
			_ = syscall.Kill(p.pid, syscall.SIGKILL) // it begins no more, and its keepers stop
		}
	}
	r.gone(2 * stopWithin)
	r.show(r.tally.abandon(why))
}

// leftovers are of packages whose keeper was killed.
func (r *runner) leftovers() {
	for _, p := range r.gone(endsWithin) {
		r.sayf("left behind: %s", strings.TrimRight(p.standing(), "\n"))
		r.tally.fail(p.String())
	}
	for _, m := range mountsBelow(r.work) {
		r.sayf("left mounted: %s", m.Dir)
		r.tally.fail(m.Dir)
	}
}
