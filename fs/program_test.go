package fs_test

import (
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"
	"testing"
)

// asProgram in the environment makes the test binary a program that changes files, because one
// process and several differ.
const asProgram = "TEST_AS_PROGRAM"

// program is a process that changes one file after the other.
type program struct {
	t    testing.TB
	cmd  *exec.Cmd
	jobs *json.Encoder
	told *json.Decoder
}

// byPath are the flags of a job that is truncate(2).
const byPath = -1

// job is one change of a file. Flags are those of open(2), or byPath.
type job struct {
	Path  string
	Flags int
	Steps []step
	// Yields is how often, at most, the program lets others run before each step.
	Yields int
	// Killed says that the program kills itself after its steps.
	Killed bool
}

// step is a write at an offset, at the end with O_APPEND; without text it sets the length.
type step struct {
	Off  int64
	Text string
}

// told is the result of a job: how many of its steps were carried out, and the first error. Close
// is the error of close.
type told struct {
	Open, Step, Close syscall.Errno
	Done              int
}

func (d told) ok() bool { return d.Open == 0 && d.Step == 0 && d.Close == 0 }

// startProgram starts a program, which ends with the test.
func startProgram(t testing.TB) *program {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), asProgram+"=1", "GORACE=atexit_sleep_ms=20")
	cmd.Stderr = os.Stderr
	in := get(cmd.StdinPipe())(t)
	out := get(cmd.StdoutPipe())(t)
	must(t, cmd.Start())
	t.Cleanup(func() {
		_ = in.Close() // the program ends
		_ = cmd.Wait() // unless it has ended before
	})
	return &program{t: t, cmd: cmd, jobs: json.NewEncoder(in), told: json.NewDecoder(out)}
}

// does runs a job and returns its result.
func (p *program) does(j job) (d told) {
	if err := errors.Join(p.jobs.Encode(j), p.told.Decode(&d)); err != nil {
		p.t.Errorf("a program ended: %v", err)
	}
	return d
}

// dies runs a job that kills the program, and returns when that has ended.
func (p *program) dies(j job) {
	j.Killed = true
	var d told
	if err := errors.Join(p.jobs.Encode(j), p.told.Decode(&d)); !errors.Is(err, io.EOF) {
		p.t.Errorf("a program that kills itself: %+v, %v", d, err)
	}
	_ = p.cmd.Wait() // it was killed
}

// serveJobs is the program. It closes the descriptors of mounts that it inherited from the test;
// otherwise these mounts would last.
func serveJobs(in io.Reader, out io.Writer) {
	for fd, what := range openFiles() {
		if n, err := strconv.Atoi(fd); err == nil && what == "/dev/fuse" {
			_ = syscall.Close(n) // whatever it says
		}
	}
	jobs, told := json.NewDecoder(in), json.NewEncoder(out)
	for {
		var j job
		if jobs.Decode(&j) != nil || told.Encode(j.run()) != nil {
			return
		}
	}
}

func (j *job) run() (d told) {
	if j.Flags == byPath {
		j.pause()
		d.Open = errnoOf(os.Truncate(j.Path, j.Steps[0].Off))
		return d
	}
	j.pause()
	f, err := os.OpenFile(j.Path, j.Flags, 0o600)
	if err != nil {
		d.Open = errnoOf(err)
		return d
	}
	for _, s := range j.Steps {
		j.pause()
		if d.Step = errnoOf(s.run(f, j.Flags&os.O_APPEND != 0)); d.Step != 0 {
			break
		}
		d.Done++
	}
	if j.Killed {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
	j.pause()
	d.Close = errnoOf(f.Close())
	return d
}

func (s *step) run(f *os.File, appends bool) (err error) {
	switch {
	case s.Text == "":
		err = f.Truncate(s.Off)
	case appends:
		_, err = f.WriteString(s.Text)
	default:
		_, err = f.WriteAt([]byte(s.Text), s.Off)
	}
	return err
}

// pause lets others run.
func (j *job) pause() { yield(j.Yields) }

func yield(most int) {
	for range rand.IntN(most + 1) {
		runtime.Gosched()
	}
}

func errnoOf(err error) (errno syscall.Errno) {
	if err != nil && !errors.As(err, &errno) {
		errno = syscall.EPROTO
	}
	return errno
}
