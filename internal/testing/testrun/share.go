//go:build linux

package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// shares says how many processes run the tests of a package, each of them a share. Most tests of such a package cannot
// run beside others in their process, because they change its environment or its directory, and wait more than
// they work.
var shares = map[string]int{
	"cmd/archivefs": 4,
	"internal/testing/testrun/testdata/shared": 2,
}

// sharesHere is how many processes run the tests of the package in whose directory this one is.
func sharesHere() int {
	here, _ := os.Getwd()
	for dir, n := range shares {
		if strings.HasSuffix(here, "/"+dir) {
			return n
		}
	}
	return 1
}

// tests are the parts that run the tests of a package.
type tests struct {
	pids  []int
	ended chan int // gets the largest exit status when all have ended
	said  *joint   // nil: the only one writes to standard output itself
}

// startParts starts the parts of a package, each with a directory of its own for temporary files, and a mount
// namespace: one in which a test makes another namespace would hold the mounts of all in there.
func (f *family) startParts(args []string, dir string) (*tests, error) {
	lines := [][]string{args}
	t := &tests{ended: make(chan int, 1)}
	if n := sharesHere(); n > 1 {
		list, err := f.list(args[0], dir)
		if err != nil {
			return nil, err
		}
		lines, t.said = share(args, list, n), &joint{to: os.Stdout}
	}
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	var all []<-chan syscall.WaitStatus
	for i, line := range lines {
		own, err := publicDir(filepath.Join(dir, strconv.Itoa(i)))
		if err != nil {
			return nil, err
		}
		out := os.Stdout
		if t.said != nil {
			if out, err = t.said.pipe(); err != nil {
				return nil, err
			}
		}
		pid, ended, err := f.start(command{
			args: append([]string{program, asPart, own}, line...), env: append(os.Environ(), "TMPDIR="+own, "GOMAXPROCS="+strconv.Itoa(sideBySide)),
			out: out, err: os.Stderr, signal: syscall.SIGTERM, apart: os.Geteuid() == 0,
		})
		if t.said != nil {
			_ = out.Close()
		}
		if err != nil {
			return nil, err
		}
		t.pids, all = append(t.pids, pid), append(all, ended)
	}
	go func() {
		worst := 0
		for _, ended := range all {
			worst = max(worst, code(<-ended))
		}
		t.ended <- worst
	}()
	return t, nil
}

// listed matches a line of a list of tests.
var listed = regexp.MustCompile(`(?m)^(?:Test|Fuzz|Example)\w*$`)

// list returns the names of the tests of a test binary.
func (f *family) list(binary, dir string) ([]string, error) {
	out, err := os.CreateTemp(dir, "list")
	if err != nil {
		return nil, err
	}
	defer func() { _ = out.Close() }()
	env := append(os.Environ(), "TMPDIR="+dir)
	_, ended, err := f.start(command{args: []string{binary, "-test.list=."}, env: env, out: out, err: os.Stderr, signal: syscall.SIGKILL})
	if err != nil {
		return nil, err
	}
	if code := code(<-ended); code != 0 {
		return nil, fmt.Errorf("the list of the tests: exit status %d", code)
	}
	text, err := os.ReadFile(out.Name())
	if err != nil {
		return nil, err
	}
	return listed.FindAllString(string(text), -1), nil
}

// share returns the command lines of at most n parts that together run these tests, each once.
func share(args, tests []string, n int) (lines [][]string) {
	for i := range max(1, min(n, len(tests))) {
		var own []string
		for at := i; at < len(tests); at += n {
			own = append(own, tests[at])
		}
		lines = append(lines, append(args[:len(args):len(args)], "-test.run=^("+strings.Join(own, "|")+")$"))
	}
	return lines
}

// joint makes one output, for test2json, of those of several test binaries.
type joint struct {
	to      io.Writer
	readers sync.WaitGroup
	mu      sync.Mutex
	// who wrote last
	// +checklocks:mu
	last int
	// by who writes, the test that does
	// +checklocks:mu
	tests []string
}

// pipe returns the standard output of one of them.
func (j *joint) pipe() (*os.File, error) {
	from, out, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	who := len(j.tests)
	j.tests = append(j.tests, "")
	j.readers.Go(func() {
		defer func() { _ = from.Close() }()
		for in := bufio.NewReader(from); ; {
			line, err := in.ReadString('\n')
			j.write(who, line)
			if err != nil {
				return
			}
		}
	})
	return out, nil
}

// named is the test that the following output is of, as the package testing writes it.
var named = regexp.MustCompile("^\x16=== [A-Z]+ +(\\S+)")

// write writes a line of one of them. Its verdict is left out: there is one for all in the end.
func (j *joint) write(who int, line string) {
	switch line {
	case "", "\x16PASS\n", "\x16FAIL\n", "PASS\n", "FAIL\n":
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if name := named.FindStringSubmatch(line); name != nil {
		j.tests[who] = name[1]
	} else if j.last != who {
		line = "\x16=== NAME  " + j.tests[who] + "\n" + line
	}
	j.last = who
	_, _ = io.WriteString(j.to, line)
}

// end writes the verdict, once all have been read; a process that cannot be killed may keep a pipe open.
func (j *joint) end(code int) {
	read := make(chan bool)
	go func() {
		j.readers.Wait()
		close(read)
	}()
	select {
	case <-read:
	case <-time.After(stopWithin):
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	verdict := "PASS"
	if code != 0 {
		verdict = "FAIL"
	}
	_, _ = fmt.Fprintf(j.to, "\x16%s\n", verdict)
}
