// Package poppler draws pages of PDFs, extracts their text and counts their pages, with the programs of
// poppler-utils. PDFs are untrusted, so each is read by a separate process, with limits on its CPU
// time, address space and output. It inherits only PATH from the environment, and ends with the
// context. It gets the PDF as an open file, never by name.
package poppler

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

const (
	// maxText is the longest text that is extracted, in bytes.
	maxText = 16 << 20
	// maxPicture is the largest picture of a page, in bytes.
	maxPicture = 64 << 20
	// maxInfo bounds the output of pdfinfo (title, author and so on), in bytes.
	maxInfo = 1 << 20
	// leastSide is the smallest picture that is drawn, in pixels.
	leastSide = 64
	// MostSide is the longest side of a picture that is drawn: A4 at 340 dpi.
	MostSide = 4000
)

// Text returns the text of a PDF in UTF-8. Each page ends with a form feed. A text longer than 16 MiB
// is cut off.
func Text(ctx context.Context, pdf io.Reader) ([]byte, error) {
	text, _, err := run(ctx, pdf, maxText, "pdftotext", "-q", "-enc", "UTF-8", input, "-")
	if err != nil {
		return nil, fmt.Errorf("text of PDF: %w", err)
	}
	return bytes.ToValidUTF8(text, []byte("\ufffd")), nil
}

// Pages counts the pages of a PDF.
func Pages(ctx context.Context, pdf io.Reader) (int, error) {
	info, _, err := run(ctx, pdf, maxInfo, "pdfinfo", input)
	if err != nil {
		return 0, fmt.Errorf("count pages of PDF: %w", err)
	}
	for line := range strings.Lines(string(info)) {
		if number, is := strings.CutPrefix(line, "Pages:"); is {
			if pages, err := strconv.Atoi(strings.TrimSpace(number)); err == nil && pages > 0 {
				return pages, nil
			}
		}
	}
	return 0, fmt.Errorf("count pages of PDF: %w", ErrUnreadable)
}

// Page draws a page of a PDF, counted from 0, as a JPEG. Its longer side has about side pixels, from
// leastSide to MostSide.
func Page(ctx context.Context, pdf io.Reader, page, side int) ([]byte, error) {
	number := strconv.Itoa(page + 1)
	picture, whole, err := run(ctx, pdf, maxPicture, "pdftoppm", "-q", "-cropbox", "-jpeg", "-jpegopt", "quality=90",
		"-f", number, "-l", number, "-scale-to", strconv.Itoa(min(max(side, leastSide), MostSide)), input)
	if err == nil && (!whole || len(picture) == 0) {
		err = ErrUnreadable
	}
	if err != nil {
		return nil, fmt.Errorf("draw page %s of PDF: %w", number, err)
	}
	return picture, nil
}

var (
	// ErrMissing says that the programs are not installed.
	ErrMissing = errors.New("poppler-utils is not installed")
	// ErrUnreadable says that a PDF cannot be read: it is damaged, encrypted, or exceeds a limit.
	ErrUnreadable = errors.New("the PDF cannot be read")
	// ErrTooSlow says that a program did not end in time. On a less busy machine it may.
	ErrTooSlow = errors.New("the PDF takes too long")
)

// The limits of a process. It shares the processor, so wall-clock time is longer than CPU time.
const (
	maxProcessor = "20"      // seconds
	maxMemory    = "1048576" // KiB of address space
	maxTime      = 60 * time.Second
	// grace is how long to wait for the end of a killed process.
	grace = 5 * time.Second
)

// bounded is a shell command that sets the limits and then becomes the program. A system that cannot
// limit the address space does without that limit.
const bounded = `ulimit -c 0; ulimit -v "$1" 2>/dev/null; ulimit -t "$2" || exit; shift 2; exec "$@"`

// input is the path by which the programs open the PDF: they accept no descriptor.
const input = "/dev/stdin"

// run runs a program with a PDF. It returns at most limit bytes of its output, and whether that is all
// of it.
func run(ctx context.Context, pdf io.Reader, limit int, program string, args ...string) (out []byte, whole bool, err error) {
	return runFor(ctx, maxTime, pdf, limit, program, args...)
}

// runFor is run with another time limit.
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

// asFile returns a PDF as a file, copied to an unnamed one if necessary.
func asFile(pdf io.Reader) (_ *os.File, done func(), err error) {
	if file, is := pdf.(*os.File); is {
		return file, func() {}, nil
	}
	file, err := os.CreateTemp("", "archivefs-*.pdf")
	if err != nil {
		return nil, nil, fmt.Errorf("copy PDF: %w", err)
	}
	_, err = io.Copy(file, pdf)
	if err = errors.Join(err, os.Remove(file.Name())); err != nil {
		return nil, nil, fmt.Errorf("copy PDF: %w", errors.Join(err, file.Close()))
	}
	return file, func() { _ = file.Close() }, nil
}

// bounds is a buffer with a limit.
type bounds struct {
	kept bytes.Buffer
	left int
	full bool
}

// errFull ends a process that writes too much.
var errFull = errors.New("too much output")

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
