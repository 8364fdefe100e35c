package poppler

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"
)

var (
	// ErrMissing says that the programs are not installed.
	ErrMissing = errors.New("poppler-utils is not installed")
	// ErrUnreadable says that nothing can be made of a PDF: it is damaged, encrypted, or
	// takes more than its bounds.
	ErrUnreadable = errors.New("the PDF cannot be read")
	// ErrTooSlow says that a program did not end in time. It may on a machine that is less busy.
	ErrTooSlow = errors.New("the PDF takes too long")
)

// What a process may take. Its time on the clock is longer than that on the processor,
// which it shares.
const (
	maxProcessor = "20"      // seconds
	maxMemory    = "1048576" // KiB of address space
	maxTime      = 60 * time.Second
	// grace is how long the end of a killed process is waited for.
	grace = 5 * time.Second
)

// bounded sets the bounds and becomes the program. The shell sets them in the process itself
// before the program begins; a system that cannot bound the address space does without.
const bounded = `ulimit -c 0; ulimit -v "$1" 2>/dev/null; ulimit -t "$2" || exit; shift 2; exec "$@"`

// input is the open file as the programs find it: they take no descriptor.
const input = "/dev/stdin"

// run runs a program with a PDF and returns at most limit bytes of what it writes, and whether
// that is all.
func run(ctx context.Context, pdf io.Reader, limit int, program string, args ...string) (out []byte, whole bool, err error) {
	return runFor(ctx, maxTime, pdf, limit, program, args...)
}

// runFor is run with another limit of time.
func runFor(ctx context.Context, most time.Duration, pdf io.Reader, limit int, program string, args ...string) (out []byte, whole bool, err error) {
	path, err := exec.LookPath(program)
	if err != nil {
		return nil, false, fmt.Errorf("%w: there is no %s", ErrMissing, program)
	}
	file, done, err := asFile(pdf)
	if err != nil {
		return nil, false, err
	}
	defer done()
	limited, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	answer := &bounds{left: limit}
	command := exec.CommandContext(limited, "/bin/sh", //nolint:gosec // the program and its arguments are ours
		append([]string{"-c", bounded, program, maxMemory, maxProcessor, path}, args...)...)
	command.Stdin, command.Stdout = file, answer
	command.Env = []string{"PATH=" + os.Getenv("PATH")}
	command.Dir = "/"
	command.WaitDelay = grace
	err = command.Run()
	switch failed := new(exec.ExitError); {
	case answer.full:
		return answer.kept.Bytes(), false, nil
	case err == nil:
		return answer.kept.Bytes(), true, nil
	case ctx.Err() != nil:
		return nil, false, ctx.Err()
	case limited.Err() != nil:
		return nil, false, fmt.Errorf("%w: %s took longer than %s", ErrTooSlow, program, most)
	case errors.As(err, &failed):
		return nil, false, fmt.Errorf("%w: %s ended with %s", ErrUnreadable, program, failed.ProcessState)
	}
	return nil, false, fmt.Errorf("run %s: %w", program, err)
}

// asFile returns a PDF as a file. What is none becomes one without a name.
func asFile(pdf io.Reader) (_ *os.File, done func(), err error) {
	if file, is := pdf.(*os.File); is {
		return file, func() {}, nil
	}
	file, err := os.CreateTemp("", "archivefs-*.pdf")
	if err != nil {
		return nil, nil, fmt.Errorf("keep PDF: %w", err)
	}
	_, err = io.Copy(file, pdf)
	if err = errors.Join(err, os.Remove(file.Name())); err != nil {
		return nil, nil, fmt.Errorf("keep PDF: %w", errors.Join(err, file.Close()))
	}
	return file, func() { _ = file.Close() }, nil
}

// bounds keeps what is written until there is no room left.
type bounds struct {
	kept bytes.Buffer
	left int
	full bool
}

// errFull ends a process that writes too much.
var errFull = errors.New("it answers too much")

// Write implements io.Writer.
func (b *bounds) Write(p []byte) (int, error) {
	if len(p) > b.left {
		b.full = true
		n, _ := b.kept.Write(p[:b.left])
		b.left = 0
		return n, errFull
	}
	b.left -= len(p)
	return b.kept.Write(p)
}
