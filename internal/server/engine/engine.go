// Package engine runs the programs of others. Documents are untrusted, so each run is a process group of its
// own with limits on processor time, wall-clock time, address space, files and output, a low priority, a
// directory of its own, and no network where the system permits that. It inherits only PATH from the
// environment, gets the document as an open file, never by name, and ends with the context.
package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Package is a package of Debian whose programs are used.
type Package struct {
	Name string
	// For says what it is needed for.
	For      string
	programs []string
}

// tesseract has the German language, and needs the program.
const tesseract = "tesseract-ocr-deu"

// all are the packages that are known.
func all() []Package {
	return []Package{
		{"poppler-utils", "previews and texts of PDFs", []string{"pdftotext", "pdftoppm", "pdfinfo"}},
		{"libtiff-tools", "facsimiles and other rare TIFFs", []string{"tiff2pdf"}},
		{"libheif-examples", "pictures of phones (HEIC)", []string{"heif-convert"}},
		{"libreoffice-nogui", "pages and previews of office files", []string{"soffice"}},
		{"catdoc", "texts of .doc, .xls and .ppt", []string{"catdoc", "xls2csv", "catppt"}},
		{tesseract, "texts of scans", []string{"tesseract"}},
	}
}

// Missing returns the packages that lack a program.
func Missing() []Package {
	return slices.DeleteFunc(all(), func(p Package) bool { return !slices.ContainsFunc(p.programs, lacks) })
}

// Installed returns the names of the packages that lack nothing.
func Installed() (names []string) {
	missing := Missing()
	for _, p := range all() {
		if !slices.ContainsFunc(missing, func(m Package) bool { return m.Name == p.Name }) {
			names = append(names, p.Name)
		}
	}
	return names
}

func lacks(program string) bool {
	_, err := exec.LookPath(program)
	return err != nil
}

var (
	// ErrMissing says that a program is not installed; it is wrapped by a MissingError.
	ErrMissing = errors.New("not installed")
	// ErrUnreadable says that a document cannot be read: it is damaged, encrypted, or exceeds a limit.
	ErrUnreadable = errors.New("the document cannot be read")
	// ErrTooSlow says that a program did not end in time. On a less busy machine it may.
	ErrTooSlow = errors.New("the document takes too long")
)

// MissingError names the package that is not installed.
type MissingError struct{ Package string }

// Error implements error.
func (e *MissingError) Error() string { return e.Package + " is not installed" }

// Unwrap returns ErrMissing.
func (e *MissingError) Unwrap() error { return ErrMissing }

// Need returns a MissingError unless a program is installed.
func Need(program string) error {
	if !lacks(program) {
		return nil
	}
	for _, p := range all() {
		if slices.Contains(p.programs, program) {
			return &MissingError{p.Name}
		}
	}
	return &MissingError{program}
}

// Bounds are the limits of a run. It shares the processor, so wall-clock time is longer than processor time.
type Bounds struct {
	Processor, Time time.Duration
	Memory          int64 // address space, in bytes
	Output          int   // in bytes
}

// Usual are the limits of most programs; Output is to be set.
var Usual = Bounds{Processor: 20 * time.Second, Time: time.Minute, Memory: 1 << 30}

const (
	// maxFile is the largest file that a program may write, in blocks of 512 bytes: 512 MiB.
	maxFile = 1 << 20
	// grace is how long to wait for the end of a killed process.
	grace = 5 * time.Second
)

// bounded is a shell command that sets the limits and then becomes the program. A system that cannot
// limit the address space, or take away the network, does without.
const bounded = `ulimit -c 0; ulimit -v "$1" 2>/dev/null; ulimit -f "$2"; ulimit -t "$3" || exit; shift 3; exec "$@"`

// modest and idle are the beginnings of commands that have no network and a low priority, or only what nobody
// else wants of the processors, as far as that is permitted.
var (
	modest = sync.OnceValue(func() []string { return permitted([]string{"unshare", "-rn"}, []string{"nice", "-n", "10"}) })
	idle   = sync.OnceValue(func() []string {
		if class := permitted([]string{"chrt", "-i", "0"}); class != nil {
			return append(class, permitted([]string{"unshare", "-rn"})...)
		}
		return modest()
	})
)

// permitted joins the beginnings of commands that work here.
func permitted(beginnings ...[]string) (words []string) {
	for _, part := range beginnings {
		path, err := exec.LookPath(part[0])
		if err == nil && exec.Command(path, append(part[1:], "/bin/sh", "-c", ":")...).Run() == nil { //nolint:gosec,noctx // ours, and brief
			words = append(append(words, path), part[1:]...)
		}
	}
	return words
}

// unhurried is the key of a context.
type unhurried struct{}

// Unhurried returns a context whose programs first get only what nobody else wants of the processors (SCHED_IDLE,
// sched(7)), so that no request is slower for them.
func Unhurried(ctx context.Context) context.Context { return context.WithValue(ctx, unhurried{}, true) }

// starved is which part of its processor time a program may first take without a share of the processors.
const starved = 4

// toSpare reports whether processors were idle in the last minute.
func toSpare() bool {
	var load float64
	text, _ := os.ReadFile("/proc/loadavg") // of Linux alone
	_, err := fmt.Sscan(string(text), &load)
	return err == nil && load < float64(runtime.NumCPU())
}

// Input is the path by which programs open the document: most accept no descriptor.
const Input = "/dev/stdin"

// Run runs a program with a document. It returns at most b.Output bytes of its output, and whether that is all of it.
func Run(ctx context.Context, b Bounds, document io.Reader, program string, args ...string) (out []byte, whole bool, err error) {
	if err := Need(program); err != nil {
		return nil, false, err
	}
	file, done, err := File(document)
	if err != nil {
		return nil, false, err
	}
	defer done()
	if ctx.Value(unhurried{}) != nil && toSpare() {
		first := Bounds{b.Processor, b.Processor / starved, b.Memory, b.Output}
		out, whole, err = run(ctx, first, idle(), file, program, args...)
		if !errors.Is(err, ErrTooSlow) {
			return out, whole, err
		}
		if _, err := file.Seek(0, io.SeekStart); err != nil {
			return nil, false, fmt.Errorf("read document: %w", err)
		}
	}
	return run(ctx, b, modest(), file, program, args...)
}

// run is Run behind the beginning of a command.
func run(ctx context.Context, b Bounds, beginning []string, file *os.File, program string, args ...string) (out []byte, whole bool, err error) {
	dir, err := os.MkdirTemp("", "archivefs-*")
	if err != nil {
		return nil, false, fmt.Errorf("run %s: %w", program, err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	limited, cancel := context.WithTimeout(ctx, b.Time)
	defer cancel()
	answer := &bounds{left: b.Output}
	words := slices.Concat(beginning, []string{
		"/bin/sh", "-c", bounded, program, strconv.FormatInt(b.Memory>>10, 10), strconv.Itoa(maxFile), strconv.Itoa(int(b.Processor.Seconds())), program,
	}, args)
	command := exec.CommandContext(limited, words[0], words[1:]...) //nolint:gosec // the program and its arguments are ours
	command.Stdin, command.Stdout = file, answer
	command.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + dir, "LC_ALL=C.UTF-8", "OMP_THREAD_LIMIT=1"}
	command.Dir = dir
	command.WaitDelay = grace
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGKILL) }
	err = command.Run()
	if command.Process != nil {
		_ = command.Cancel() // what the program left behind
	}
	_, failed := errors.AsType[*exec.ExitError](err)
	switch {
	case answer.full:
		return answer.kept.Bytes(), false, nil
	case err == nil:
		return answer.kept.Bytes(), true, nil
	case ctx.Err() != nil:
		return nil, false, ctx.Err()
	case limited.Err() != nil:
		return nil, false, fmt.Errorf("%w: %s took longer than %s", ErrTooSlow, program, b.Time)
	case failed:
		return nil, false, fmt.Errorf("%w: %s ended with %s", ErrUnreadable, program, command.ProcessState)
	}
	return nil, false, fmt.Errorf("run %s: %w", program, err)
}

// File returns a document as a file at its beginning, copied to an unnamed one if necessary.
func File(document io.Reader) (_ *os.File, done func(), err error) {
	if all, is := document.(io.Seeker); is {
		if _, err := all.Seek(0, io.SeekStart); err != nil {
			return nil, nil, fmt.Errorf("read document: %w", err)
		}
	}
	if file, is := document.(*os.File); is {
		return file, func() {}, nil
	}
	file, err := os.CreateTemp("", "archivefs-*")
	if err != nil {
		return nil, nil, fmt.Errorf("copy document: %w", err)
	}
	_, err = io.Copy(file, document)
	_, failed := file.Seek(0, io.SeekStart)
	if err = errors.Join(err, failed, os.Remove(file.Name())); err != nil {
		return nil, nil, fmt.Errorf("copy document: %w", errors.Join(err, file.Close()))
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

// layOut is a shell command that writes the PDF of the office file on its standard input. The profile
// is new, so that macros do not run (macro security is high).
const layOut = `cat >document && soffice -env:UserInstallation="file://$PWD/profile" --headless --norestore --nolockcheck \
	--convert-to pdf document >/dev/null 2>&1 </dev/null && exec cat document.pdf`

// maxPDF is the largest PDF that is made, in bytes.
const maxPDF = 64 << 20

// entire is Run for an output that is of no use in part. doing is for its error.
func entire(ctx context.Context, b Bounds, document io.Reader, doing, program string, args ...string) ([]byte, error) {
	out, whole, err := Run(ctx, b, document, program, args...)
	if err == nil && !whole {
		err = ErrUnreadable
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", doing, err)
	}
	return out, nil
}

// PDF returns the PDF of an office file, laid out by LibreOffice.
func PDF(ctx context.Context, document io.Reader) ([]byte, error) {
	if err := Need("soffice"); err != nil {
		return nil, err
	}
	return entire(Unhurried(ctx), Bounds{time.Minute, 5 * time.Minute, 2 << 30, maxPDF}, document, "lay out office file", "sh", "-c", layOut)
}

// TIFF returns the PDF of a TIFF. If x is not 0, all pages count as of x and y dots per inch.
func TIFF(ctx context.Context, document io.Reader, x, y float64) ([]byte, error) {
	args := []string{"-z"} // compressed
	if x > 0 {
		args = append(args, "-u", "i", "-r", "o", "-x", fmt.Sprint(x), "-y", fmt.Sprint(y))
	}
	within := Usual
	within.Output = maxPDF
	return entire(ctx, within, document, "read TIFF", "tiff2pdf", append(args, Input)...)
}

// toJPEG is a shell command that writes the JPEG of the first picture on its standard input, which is turned upright.
const toJPEG = `cat >document && heif-convert -q 90 document page.jpg >/dev/null 2>&1 && cat page.jpg 2>/dev/null || exec cat page-1.jpg`

// HEIC returns the JPEG of a picture of libheif's formats.
func HEIC(ctx context.Context, document io.Reader) ([]byte, error) {
	if err := Need("heif-convert"); err != nil {
		return nil, err
	}
	within := Usual
	within.Output = maxPDF
	return entire(ctx, within, document, "read picture", "sh", "-c", toJPEG)
}

// maxText is the longest text that is extracted, in bytes.
const maxText = 16 << 20

// oldPrograms are the programs of catdoc by the media types that they read.
var oldPrograms = map[string]string{
	"application/msword": "catdoc", "application/vnd.ms-excel": "xls2csv", "application/vnd.ms-powerpoint": "catppt",
}

// ReadsOld reports whether catdoc reads files of that media type.
func ReadsOld(media string) bool { return oldPrograms[media] != "" }

// OldText returns the text of an office file of a media type that catdoc reads, in UTF-8.
func OldText(ctx context.Context, document io.Reader, media string) ([]byte, error) {
	within := Usual
	within.Output = maxText
	text, _, err := Run(ctx, within, document, oldPrograms[media], "-d", "utf-8", Input)
	if err != nil {
		return nil, fmt.Errorf("text of office file: %w", err)
	}
	return bytes.ToValidUTF8(text, []byte("\ufffd")), nil
}

// Resolution is that of the pictures that are recognised, in dots per inch.
const Resolution = 300

// recognition are the limits of tesseract for a page. Nobody waits for it, and on a busy machine it takes long.
var recognition = Bounds{2 * time.Minute, 20 * time.Minute, 2 << 30, 1 << 20}

// Recognise returns the text that tesseract sees on the picture of a page.
func Recognise(ctx context.Context, picture []byte) ([]byte, error) {
	list, _, err := Run(ctx, recognition, bytes.NewReader(nil), "tesseract", "--list-langs")
	if err != nil {
		return nil, fmt.Errorf("recognise text: %w", err)
	}
	installed := strings.Fields(string(list))
	languages := slices.DeleteFunc([]string{"deu", "eng"}, func(l string) bool { return !slices.Contains(installed, l) })
	if len(languages) == 0 {
		return nil, fmt.Errorf("recognise text: %w", &MissingError{tesseract})
	}
	layout := "3" // fully automatic
	if slices.Contains(installed, "osd") {
		layout = "1" // and turned pages
	}
	text, _, err := Run(ctx, recognition, bytes.NewReader(picture), "tesseract", "stdin", "stdout",
		"-l", strings.Join(languages, "+"), "--psm", layout, "--dpi", strconv.Itoa(Resolution))
	if err != nil {
		return nil, fmt.Errorf("recognise text: %w", err)
	}
	return bytes.ReplaceAll(bytes.ToValidUTF8(text, []byte("\ufffd")), []byte("\f"), nil), nil
}
