package engine

import (
	"bytes"
	"context"
	"errors"
	"image"
	"image/draw"
	"image/png"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/math/fixed"
)

// runs runs a system program in place of an engine.
func runs(t *testing.T, ctx context.Context, limit int, program string, args ...string) (string, bool, error) {
	t.Helper()
	within := Usual
	within.Output = limit
	out, whole, err := Run(ctx, within, bytes.NewReader([]byte("content")), program, args...)
	return string(out), whole, err
}

func TestRunBounds(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux bounds the address space")
	}
	out, _, err := runs(t, t.Context(), 100, "sh", "-c", "ulimit -t; ulimit -v; ulimit -c; ulimit -H -v; ulimit -f; test $(nice) -ge 10 && echo nice")
	if want := "20\n1048576\n0\n1048576\n1048576\nnice\n"; err != nil || out != want {
		t.Errorf("%q, %v; want %q", out, err, want)
	}
}

func TestRunKeepsSecrets(t *testing.T) {
	t.Setenv("ARCHIVEFS_API_KEY", "secret")
	out, _, err := runs(t, t.Context(), 1000, "env")
	if err != nil || strings.Contains(out, "secret") || !strings.Contains(out, "PATH="+os.Getenv("PATH")) {
		t.Errorf("%q, %v", out, err)
	}
}

func TestRunTakesNoMoreThanItsLimit(t *testing.T) {
	if out, whole, err := runs(t, t.Context(), 5, "yes"); err != nil || whole || out != "y\ny\ny" {
		t.Errorf("%q, whole %t, %v", out, whole, err)
	}
	if out, whole, err := runs(t, t.Context(), 7, "cat", Input); err != nil || !whole || out != "content" {
		t.Errorf("%q, whole %t, %v", out, whole, err)
	}
}

// A process that waits for ever is killed when its context ends.
func TestRunIsKilled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	begun := filepath.Join(t.TempDir(), "begun")
	if err := syscall.Mkfifo(begun, 0o600); err != nil {
		t.Fatal(err)
	}
	go func() {
		_, _ = os.ReadFile(begun)
		cancel()
	}()
	if _, _, err := runs(t, ctx, 10, "sh", "-c", `echo >"$0"; exec sleep 1000`, begun); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// So is one that does not end in time.
func TestRunEndsInTime(t *testing.T) {
	within := Usual
	within.Time = time.Millisecond
	_, _, err := Run(t.Context(), within, bytes.NewReader(nil), "sleep", "1000")
	if !errors.Is(err, ErrTooSlow) || errors.Is(err, ErrUnreadable) || errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}

// A run without hurry gets only what nobody else wants of the processors, unless it takes long so.
func TestRunWithoutHurry(t *testing.T) {
	if slices.Equal(idle(), modest()) {
		t.Skip("this system has no such class")
	}
	within := Usual
	within.Output, within.Processor = 1000, 8*time.Second
	const script = "cat && case $(chrt -p $$) in *SCHED_IDLE*) echo idle; $0;; *) echo hurried;; esac"
	for end, want := range map[string]string{"true": "content\nidle\n", "sleep 1000": "content\nhurried\n"} {
		idle := toSpare()
		out, _, err := Run(Unhurried(t.Context()), within, strings.NewReader("content\n"), "sh", "-c", script, end)
		if idle = idle && toSpare(); !idle && string(out) == "content\nhurried\n" {
			continue // the machine was busy
		}
		if string(out) != want || err != nil {
			t.Errorf("%s: %q, %v; want %q", end, out, err, want)
		}
	}
}

// A program that works for too long is ended by the system, though its wall-clock time is not over.
func TestRunBoundsTheProcessor(t *testing.T) {
	within := Usual
	within.Processor = time.Second
	if _, _, err := Run(t.Context(), within, bytes.NewReader(nil), "sh", "-c", "while :; do :; done"); !errors.Is(err, ErrUnreadable) {
		t.Error(err)
	}
}

// What a program leaves behind ends with it: a reader of the pipe that it holds open sees the end.
func TestRunEndsTheWholeGroup(t *testing.T) {
	held := filepath.Join(t.TempDir(), "held")
	if err := syscall.Mkfifo(held, 0o600); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error)
	go func() {
		_, err := os.ReadFile(held)
		ended <- err
	}()
	if _, _, err := runs(t, t.Context(), 10, "sh", "-c", `exec 3>"$0"; sleep 1000 >&3 2>&3 &`, held); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// Each run has a directory of its own, which is gone afterwards.
func TestRunHasADirectory(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	out, _, err := runs(t, t.Context(), 1000, "sh", "-c", `echo text >"$TMPDIR/file" && cat "$HOME/file" && pwd`)
	if dir, is := strings.CutPrefix(out, "text\n"+os.Getenv("TMPDIR")); err != nil || !is || dir == "\n" {
		t.Errorf("%q, %v", out, err)
	}
	if left, err := os.ReadDir(os.Getenv("TMPDIR")); err != nil || len(left) > 0 {
		t.Errorf("%v, %v", left, err)
	}
}

// Where that is permitted, a program has no network.
func TestRunHasNoNetwork(t *testing.T) {
	if !slices.Contains(modest(), "-rn") {
		t.Skip("namespaces are not permitted here")
	}
	if out, _, err := runs(t, t.Context(), 1000, "sh", "-c", "tail -n +3 /proc/net/dev | grep -cv lo: || true"); out != "0\n" {
		t.Errorf("%q, %v", out, err)
	}
}

func TestMissing(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	for _, program := range []string{"catdoc", "xls2csv", "catppt"} {
		if err := os.WriteFile(filepath.Join(dir, program), []byte("#!/bin/sh\necho text of \"$*\"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	var missing []string
	for _, p := range Missing() {
		missing = append(missing, p.Name)
	}
	if want := []string{"poppler-utils", "libtiff-tools", "libheif-examples", "libreoffice-nogui", tesseract}; !slices.Equal(missing, want) || !slices.Equal(Installed(), []string{"catdoc"}) {
		t.Errorf("missing %v, installed %v", missing, Installed())
	}
	_, err := PDF(t.Context(), bytes.NewReader(nil))
	_, err2 := Recognise(t.Context(), nil)
	_, err3 := TIFF(t.Context(), bytes.NewReader(nil), 0, 0)
	_, err4 := HEIC(t.Context(), bytes.NewReader(nil))
	for err, want := range map[error]string{err: "libreoffice-nogui", err2: tesseract, err3: "libtiff-tools", err4: "libheif-examples"} {
		if missing, is := errors.AsType[*MissingError](err); !is || missing.Package != want || !errors.Is(err, ErrMissing) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func need(t *testing.T, program string) {
	t.Helper()
	if lacks(program) {
		t.Skip(program + " is not installed")
	}
}

// page is a picture of a page with a text, 300 dots per inch.
func page(t *testing.T, text string) []byte {
	t.Helper()
	face, err := opentype.Parse(goregular.TTF)
	if err != nil {
		t.Fatal(err)
	}
	drawn, err := opentype.NewFace(face, &opentype.FaceOptions{Size: 14, DPI: Resolution})
	if err != nil {
		t.Fatal(err)
	}
	paper := image.NewGray(image.Rect(0, 0, 1600, 400))
	draw.Draw(paper, paper.Bounds(), image.White, image.Point{}, draw.Src)
	(&font.Drawer{Dst: paper, Src: image.Black, Face: drawn, Dot: fixed.P(100, 200)}).DrawString(text)
	var b bytes.Buffer
	if err := png.Encode(&b, paper); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestRecognise(t *testing.T) {
	need(t, "tesseract")
	if text, err := Recognise(t.Context(), page(t, "Rechnung für Müller")); err != nil || strings.TrimSpace(string(text)) != "Rechnung für Müller" {
		t.Errorf("%q, %v", text, err)
	}
	if text, err := Recognise(t.Context(), []byte("no picture")); !errors.Is(err, ErrUnreadable) {
		t.Errorf("of no picture: %q, %v", text, err)
	}
}

func TestOldText(t *testing.T) {
	need(t, "catdoc")
	text, err := OldText(t.Context(), strings.NewReader(`{\rtf1\ansi Rechnung f\'fcr M\'fcller}`), "application/msword")
	if err != nil || strings.TrimSpace(string(text)) != "Rechnung für Müller" {
		t.Errorf("%q, %v", text, err)
	}
}

// LibreOffice is large: where it is not installed the test is skipped, unless ARCHIVEFS_REQUIRE_OFFICE is set.
func TestPDF(t *testing.T) {
	if os.Getenv("ARCHIVEFS_REQUIRE_OFFICE") == "" {
		need(t, "soffice")
	}
	pdf, err := PDF(t.Context(), strings.NewReader(`{\rtf1\ansi Rechnung}`))
	if err != nil || !bytes.HasPrefix(pdf, []byte("%PDF-")) {
		t.Errorf("%.20q, %v", pdf, err)
	}
}

func TestRunTellsFailures(t *testing.T) {
	if _, _, err := runs(t, t.Context(), 10, "false"); !errors.Is(err, ErrUnreadable) {
		t.Error(err)
	}
}
