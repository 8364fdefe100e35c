package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/sirupsen/logrus"
	"golang.org/x/sys/unix"
)

// detach leaves the session, the directory and the standard error of the caller, who may go
// away once the mount is usable. Not before: where the mount is an automount, all processes but
// those of the caller's group wait for it (autofs(5)), and this one would wait for itself. What a crash says goes to the file of the log, if there is one; sentences
// go to the log.
func (s *session) detach() error {
	if _, err := unix.Setsid(); err != nil {
		return fmt.Errorf("--daemon: leave the session: %w", err)
	}
	if err := os.Chdir("/"); err != nil {
		return fmt.Errorf("--daemon: %w", err)
	}
	if s.log.Out == io.Discard && len(s.log.Hooks) == 0 {
		say(s.stderr, "there is neither a journal nor syslog on this machine, so nothing is logged; name a file with --log-file")
	}
	out, isFile := s.log.Out.(*os.File)
	if !isFile || out == os.Stderr {
		null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
		if err != nil {
			return fmt.Errorf("--daemon: %w", err)
		}
		defer null.Close() //nolint:errcheck // nothing is written to it
		out = null
	}
	if err := unix.Dup2(int(out.Fd()), int(os.Stderr.Fd())); err != nil {
		return fmt.Errorf("--daemon: leave standard error: %w", err)
	}
	s.stderr, s.detached = sentences{s.log}, true
	return nil
}

// announce says that the mount is usable, to whoever called.
func (s *session) announce(out io.Writer, dir string) error {
	if s.background {
		if err := s.detach(); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(out, "mounted %s at %s\n", s.client.BaseURL(), dir)
	if pipe, ok := out.(io.Closer); ok && s.background {
		err = errors.Join(err, pipe.Close())
	}
	if err != nil {
		s.log.Warnf("print the ready line: %v", err)
	}
	return nil
}

// outcome is what the program ends with. Nobody reads standard error of a process in the
// background, so the log has it.
func (s *session) outcome(err error) error {
	if err == nil || !s.detached {
		return err
	}
	s.log.Error(strings.ReplaceAll(err.Error(), "\n", "; "))
	return exitStatus(1)
}

// sentences is a standard error that is a log.
type sentences struct{ log *logrus.Logger }

// Write logs what say writes.
func (w sentences) Write(p []byte) (int, error) {
	w.log.Warn(strings.TrimSpace(strings.TrimPrefix(string(p), "archivefs: ")))
	return len(p), nil
}
