//go:build linux

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/archivefs/archivefs/internal/testing/fusetest"
)

// asProgram in the environment makes the program of a test binary.
const asProgram = "TESTRUN_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}
	os.Exit(m.Run())
}

// hangs is how long a run may take before the test takes it for one that hangs.
const hangs = 10 * time.Minute

// started is a run of the tests of a package below testdata.
type started struct {
	*testing.T
	cmd   *exec.Cmd
	work  string
	ready *os.File // has a byte when the package is where it wants to be
	said  io.ReadCloser
}

func start(t *testing.T, name string) *started {
	t.Helper()
	if _, err := exec.LookPath("gcc"); err != nil && os.Getenv("ARCHIVEFS_REQUIRE_FUSE") != "1" {
		t.Skip("the race detector needs gcc")
	}
	dir := t.TempDir()
	s := &started{T: t, work: filepath.Join(dir, "work")}
	fifo := filepath.Join(dir, "ready")
	var err error
	for _, err := range []error{os.Mkdir(s.work, 0o700), unix.Mkfifo(fifo, 0o600)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if s.ready, err = os.OpenFile(fifo, os.O_RDWR, 0); err != nil {
		t.Fatal(err)
	}
	s.cmd = exec.CommandContext(t.Context(), os.Args[0], s.work, "./testdata/"+name)
	s.cmd.Env = append(os.Environ(), asProgram+"=1", "TESTRUN_READY="+fifo)
	s.cmd.Stderr = os.Stderr
	if s.said, err = s.cmd.StdoutPipe(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		connections := connectionsBelow(os.Getpid(), s.work)
		abort(connections) // frees what hangs where testrun has not
		release(connections)
		_ = s.ready.Close()
	})
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return s
}

// await waits until the package is where it wants to be.
func (s *started) await() {
	s.Helper()
	if err := s.ready.SetReadDeadline(time.Now().Add(hangs)); err != nil {
		s.Fatal(err)
	}
	if _, err := s.ready.Read(make([]byte, 1)); err != nil {
		s.Fatal(err)
	}
}

// ended waits for the end of all that hold the pipe, and returns what was said.
func (s *started) ended() string {
	s.Helper()
	if err := s.said.(*os.File).SetReadDeadline(time.Now().Add(hangs)); err != nil {
		s.Fatal(err)
	}
	said, err := io.ReadAll(s.said)
	if err != nil {
		s.Fatalf("%v after %s", err, said)
	}
	var exit *exec.ExitError
	if err := s.cmd.Wait(); err != nil && !errors.As(err, &exit) {
		s.Fatal(err)
	}
	return string(said)
}

// wantNothing fails the test when anything of the run is left.
func (s *started) wantNothing() {
	s.Helper()
	if _, err := os.Lstat(s.work); err == nil {
		s.Error("its directory is left")
	}
	if mounts := mountsBelow(s.work); len(mounts) > 0 {
		s.Errorf("mounts are left: %v", mounts)
	}
	files, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		s.Fatal(err)
	}
	for _, file := range files {
		if text, err := os.ReadFile(file); err == nil && bytes.Contains(text, []byte("TMPDIR="+s.work)) {
			p, _ := readProcess(filepath.Join(filepath.Dir(file), "stat"))
			s.Errorf("left: %s", p)
		}
	}
}

var verdict = regexp.MustCompile(`(?m)^\d+ passed, \d+ failed\n\z`)

func TestNothingOutlivesARun(t *testing.T) {
	guard := func(s *started) int { return s.cmd.Process.Pid }
	run := func(s *started) int {
		for _, p := range descendants(s.cmd.Process.Pid) {
			if p.parent == s.cmd.Process.Pid {
				return p.pid
			}
		}
		return 0
	}
	tests := []struct {
		name, pkg string
		whom      func(*started) int
		signal    syscall.Signal
		want      string
		verdict   bool
	}{
		{"interrupted", "waits", guard, syscall.SIGINT, "TestWaits (stopped: interrupt)", true},
		{"terminated", "waits", guard, syscall.SIGTERM, "TestWaits (stopped: terminated)", true},
		{"out of time", "waits", guard, syscall.SIGALRM, "TestWaits (the time is over)", true},
		{"killed", "waits", guard, syscall.SIGKILL, "", true}, // by its run
		{"killed below", "waits", run, syscall.SIGKILL, "", false},
		{"hangs, out of time", "hangs", guard, syscall.SIGALRM, "TestHangs (the time is over)", true},
		{"hangs, killed", "hangs", guard, syscall.SIGKILL, "", true},
		{"hangs, killed below", "hangs", run, syscall.SIGKILL, "", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if tt.pkg == "hangs" {
				fusetest.Need(t)
			}
			s := start(t, tt.pkg)
			s.await()
			if err := syscall.Kill(tt.whom(s), tt.signal); err != nil {
				t.Error(err)
			}
			said := s.ended()
			if !strings.Contains(said, tt.want) || verdict.MatchString(said) != tt.verdict || s.cmd.ProcessState.Success() {
				t.Errorf("%v, it says:\n%s", s.cmd.ProcessState, said)
			}
			s.wantNothing()
		})
	}
}

func TestWhatIsLeftFails(t *testing.T) {
	t.Parallel()
	s := start(t, "leaves")
	said := s.ended()
	passed := 2
	if os.Geteuid() == 0 {
		passed++
		if !regexp.MustCompile(`left mounted: ` + regexp.QuoteMeta(s.work) + `/\d+/0/left\d+\n`).MatchString(said) {
			t.Errorf("it names no mount:\n%s", said)
		}
	}
	if !regexp.MustCompile(`left behind: process \d+: sleep 1000`).MatchString(said) || !strings.HasSuffix(said, fmt.Sprintf("\n%d passed, 1 failed\n", passed)) || s.cmd.ProcessState.ExitCode() != 1 {
		t.Errorf("%v, it says:\n%s", s.cmd.ProcessState, said)
	}
	s.wantNothing()
}

// A test that makes a mount namespace holds no mounts of the tests of other packages.
func TestPackagesHaveMountNamespaces(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can make mount namespaces")
	}
	t.Parallel()
	namespace := func(pid int) string {
		name, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/mnt", pid))
		if err != nil {
			t.Error(err)
		}
		return name
	}
	s := start(t, "waits")
	s.await()
	tests := slices.DeleteFunc(descendants(s.cmd.Process.Pid), func(p process) bool { return p.name != "waits.test" })
	if len(tests) != 1 || namespace(tests[0].pid) == namespace(os.Getpid()) {
		t.Errorf("the tests run in the namespace of all: %v", tests)
	}
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	_ = s.ended()
	s.wantNothing()
}

func TestResults(t *testing.T) {
	t.Parallel()
	s := start(t, "mixed")
	said := regexp.MustCompile(`\d+m\d\ds( for \d+ s in programs, \d+ s in the kernel)?`).ReplaceAllString(s.ended(), "TIME")
	const pkg = "github.com/archivefs/archivefs/internal/testing/testrun/testdata/mixed"
	want := []string{
		"    mixed_test.go:9: a \"word\" <of> it\n", "skip  " + pkg + " TestSkips\n", "FAIL  " + pkg + " (TIME, 1 of 1)\n",
		"== failed\n" + pkg + " TestFails/two\n" + pkg + " TestFails\n== ended after TIME\n2 passed, 2 failed\n",
	}
	for _, text := range want {
		if !strings.Contains(said, text) {
			t.Errorf("it does not say:\n%s", text)
		}
	}
	if s.cmd.ProcessState.ExitCode() != 1 || t.Failed() {
		t.Errorf("%v, it says:\n%s", s.cmd.ProcessState, said)
	}
	s.wantNothing()
}

// A package that wants several processes has its tests in them at the same time, each once, and one verdict.
func TestShares(t *testing.T) {
	t.Parallel()
	s := start(t, "shared")
	said := s.ended()
	const pkg = "github.com/archivefs/archivefs/internal/testing/testrun/testdata/shared"
	if !strings.Contains(said, "    shared_test.go:34: the third\n") || !strings.HasSuffix(said, "\n2 passed, 2 failed\n") || !strings.Contains(said, "== failed\n"+pkg+" TestThree/fails\n"+pkg+" TestThree\n== ended") {
		t.Errorf("%v, it says:\n%s", s.cmd.ProcessState, said)
	}
	s.wantNothing()
}
