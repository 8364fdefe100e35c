//go:build linux

// Package shared has tests of which two pass only if they run in processes of their own at the same time.
package shared

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// meet opens a pipe, which waits until another process opens its other end.
func meet(t *testing.T, end int) {
	pipe := filepath.Join(filepath.Dir(os.TempDir()), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil && !errors.Is(err, syscall.EEXIST) {
		t.Fatal(err)
	}
	f, err := os.OpenFile(pipe, end, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestOne(t *testing.T) { meet(t, os.O_WRONLY) }

func TestTwo(t *testing.T) { meet(t, os.O_RDONLY) }

func TestThree(t *testing.T) {
	t.Run("fails", func(t *testing.T) { t.Error("the third") })
}
