package errno

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/archivefs/archivefs/archive"
)

// newLog makes a Log that writes to out, with now as its clock.
func newLog(out io.Writer, now func() time.Time) *Log {
	log := logrus.New()
	log.SetOutput(out)
	log.SetLevel(logrus.DebugLevel)
	return NewLog(log, now)
}

func TestLogHasWhatIsNotAnEverydayAnswer(t *testing.T) {
	tests := []struct {
		err    error
		logged bool
	}{
		{nil, false},
		{syscall.ENOENT, false},
		{&archive.Error{Op: "document/list", Kind: archive.KindNotFound}, false},
		{syscall.EPERM, false},
		{syscall.ENODATA, false},
		{syscall.ENOTSUP, false},
		{context.Canceled, false},
		{syscall.EIO, true},
		{syscall.ENOSPC, true},
		{&archive.Error{Op: "document/list", Kind: archive.KindForbidden}, true},
		{errors.New("something"), true},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprint(tt.err), func(t *testing.T) {
			var out bytes.Buffer
			if got := newLog(&out, time.Now).Of("open", "Akten/a\n\u202eb.pdf", tt.err); got != Of(tt.err) {
				t.Errorf("got %v, want %v", got, Of(tt.err))
			}
			lines := strings.Count(out.String(), "\n")
			if tt.logged && (lines != 1 || !strings.Contains(out.String(), tt.err.Error())) || !tt.logged && lines != 0 {
				t.Errorf("logged %q", out.String())
			}
			if strings.ContainsRune(out.String(), '\u202e') {
				t.Errorf("the path is not escaped in %q", out.String())
			}
		})
	}
}

func TestRefusalIsItsErrno(t *testing.T) {
	err := fmt.Errorf("rename: %w", ErrArchived)
	if Of(err) != syscall.EPERM || !errors.Is(err, syscall.EPERM) || !strings.Contains(err.Error(), "do not change") {
		t.Errorf("%v is %v", err, Of(err))
	}
}

func TestRefusalsAreLoggedOnceAMinute(t *testing.T) {
	var out bytes.Buffer
	now := time.Date(2024, 5, 6, 7, 8, 9, 0, time.UTC)
	l := newLog(&out, func() time.Time { return now })
	missing := &archive.Error{Op: "document/rename", Kind: archive.KindUnsupported, Status: 404}
	for _, step := range []struct {
		path  string
		err   error
		after time.Duration
		lines int // so far
	}{
		{"a", ErrArchived, 0, 1},
		{"a", ErrArchived, repeatAfter - time.Second, 1},
		{"b", ErrArchived, 0, 2},
		{"a", ErrTaken, 0, 3},
		{"a", ErrArchived, time.Second, 4},
		{"a", missing, 0, 5},
		{"a", missing, 0, 5},
		{"a", syscall.EPERM, 0, 5},
	} {
		now = now.Add(step.after)
		if got := l.Of("open", step.path, step.err); got != Of(step.err) {
			t.Errorf("%v becomes %v", step.err, got)
		}
		if n := strings.Count(out.String(), "\n"); n != step.lines {
			t.Fatalf("%v of %s: %d lines, want %d:\n%s", step.err, step.path, n, step.lines, out.String())
		}
	}
	if !strings.Contains(out.String(), "level=info") || strings.Contains(out.String(), "level=warn") {
		t.Errorf("logged\n%s", out.String())
	}
}

// A program that is refused every document of a folder is told of once, by the path of one.
func TestARefusalOfManyPathsIsLoggedOnce(t *testing.T) {
	var out bytes.Buffer
	l := newLog(&out, time.Now)
	for _, path := range []string{"Briefe/a.pdf", "Briefe/b.pdf"} {
		_ = l.OfMany("open", path, ErrArchived)
	}
	if text := out.String(); strings.Count(text, "\n") != 1 || !strings.Contains(text, "path=Briefe/a.pdf") {
		t.Errorf("logged\n%s", text)
	}
	if last := l.Refusals(); len(last) != 1 || last[0].Path != "/Briefe/b.pdf" {
		t.Errorf("the refusals are %+v", last)
	}
}

func TestRefusalsRememberedAreBounded(t *testing.T) {
	l := newLog(io.Discard, time.Now)
	for i := range 3 * maxLogged {
		news := l.isNews("open", fmt.Sprint(i), false, "no")
		l.mu.Lock()
		logged, last := len(l.logged), len(l.last)
		l.mu.Unlock()
		if !news || logged > maxLogged || last > keptRefusals {
			t.Fatalf("the refusal %d is no news, or one of %d", i, logged)
		}
	}
}
