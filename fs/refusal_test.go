package fs

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/archivefs/archivefs/archive"
)

func TestRefusalIsItsErrno(t *testing.T) {
	err := fmt.Errorf("rename: %w", errArchived)
	if toErrno(err) != syscall.EPERM || !errors.Is(err, syscall.EPERM) || !strings.Contains(err.Error(), "do not change") {
		t.Errorf("%v is %v", err, toErrno(err))
	}
}

func TestRefusalsAreLoggedOnceAMinute(t *testing.T) {
	var out bytes.Buffer
	log := logrus.New()
	log.SetOutput(&out)
	now := time.Date(2024, 5, 6, 7, 8, 9, 0, time.UTC)
	f := New(Options{Log: log, Now: func() time.Time { return now }})
	missing := &archive.Error{Op: "document/rename", Kind: archive.KindUnsupported, Status: 404}
	for _, step := range []struct {
		path  string
		err   error
		after time.Duration
		lines int // so far
	}{
		{"a", errArchived, 0, 1},
		{"a", errArchived, sayAgain - time.Second, 1},
		{"b", errArchived, 0, 2},
		{"a", errTaken, 0, 3},
		{"a", errArchived, time.Second, 4},
		{"a", missing, 0, 5},
		{"a", missing, 0, 5},
		{"a", syscall.EPERM, 0, 5},
	} {
		now = now.Add(step.after)
		if got := f.errno("open", step.path, step.err); got != toErrno(step.err) {
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

func TestRefusalsRememberedAreBounded(t *testing.T) {
	var r refusals
	now := time.Now()
	for i := range 3 * maxSaid {
		if !r.news("open", fmt.Sprint(i), "no", now) || len(r.said) > maxSaid || len(r.last) > keptRefusals {
			t.Fatalf("the refusal %d is no news, or one of %d", i, len(r.said))
		}
	}
}
